"""Published figures, in the papers' own words and numbers: to read beside ours, never as ours.

The models were trained on the 510,000 documents of KP20k; its test set there is the whole one
(20,000 documents), of which `kp20k-1k` is the first 1,000. Test texts and protocols differ from
paper to paper, as the last column says. Only what stands in the papers' tables is here; an empty
cell was not published there.
"""

from __future__ import annotations

from typing import NamedTuple

FINE_GRAINED = "Luo et al. 2021, table 1"
CALIBRATION = "Deep Seq2Seq KPG: Calibration and Uncertainty, table 1"
STUDY = "Thomas and Vajjala 2024, tables 3 and 4, greedy"
ONE_SIZE = "Yuan et al. 2020, tables 2 and 6, yuan20"


class Row(NamedTuple):
    system: str
    source: str
    scores: dict[str, float]  # points, by metric


def _present(f1_m: float, f1_5: float) -> dict[str, float]:
    return {"present.F1@M": f1_m, "present.F1@5": f1_5}


def _both(f1_m: float, f1_5: float, absent_m: float, absent_5: float) -> dict[str, float]:
    return {**_present(f1_m, f1_5), "absent.F1@M": absent_m, "absent.F1@5": absent_5}


def _at_m(present: float, absent: float) -> dict[str, float]:
    return {"present.F1@M": present, "absent.F1@M": absent}


def _yuan(f1_5: float, recall: float | None = None) -> dict[str, float]:
    return {"present.F1@5": f1_5, **({} if recall is None else {"absent.R@10": recall})}


PUBLISHED: dict[str, tuple[Row, ...]] = {
    "kp20k-1k": (
        Row("catSeq", FINE_GRAINED, _present(36.7, 29.1)),
        Row("catSeqTG", FINE_GRAINED, _present(36.6, 29.2)),
        Row("catSeqTG+RL(F1)", FINE_GRAINED, _present(38.6, 32.1)),
        Row("ExHiRD", CALIBRATION, _both(37.4, 31.1, 3.2, 1.6)),
        Row("Transformer", CALIBRATION, _both(39.2, 33.2, 4.6, 2.3)),
        Row("Trans2Set", CALIBRATION, _both(39.2, 35.8, 5.8, 3.6)),
        Row("BART", CALIBRATION, _both(38.8, 32.2, 4.2, 2.2)),
        Row("T5", CALIBRATION, _both(38.7, 33.5, 3.6, 1.8)),
        Row("SetTrans", STUDY, _at_m(37.16, 4.23)),
        Row("KPDrop", STUDY, _at_m(38.43, 5.58)),
        Row("CatSeq", ONE_SIZE, _yuan(31.4)),
        Row("TextRank", ONE_SIZE, _yuan(18.1)),
        Row("TfIdf", ONE_SIZE, _yuan(7.2)),
    ),
    "inspec": (
        Row("catSeq", FINE_GRAINED, _present(26.2, 22.5)),
        Row("catSeqTG", FINE_GRAINED, _present(27.0, 22.9)),
        Row("catSeqTG+RL(F1)", FINE_GRAINED, _present(30.1, 25.3)),
        Row("ExHiRD", CALIBRATION, _both(29.1, 25.3, 2.2, 1.1)),
        Row("Transformer", CALIBRATION, _both(32.5, 28.1, 1.9, 1.0)),
        Row("Trans2Set", CALIBRATION, _both(32.4, 28.5, 3.4, 2.1)),
        Row("BART", CALIBRATION, _both(32.3, 27.0, 1.7, 1.0)),
        Row("T5", CALIBRATION, _both(34.0, 28.7, 2.5, 1.4)),
        Row("SetTrans", STUDY, _at_m(31.97, 2.01)),
        Row("KPDrop", STUDY, _at_m(30.06, 2.12)),
        Row("CatSeq", ONE_SIZE, _yuan(29.0, 2.8)),
        Row("TextRank", ONE_SIZE, _yuan(28.6)),
        Row("TfIdf", ONE_SIZE, _yuan(16.0)),
    ),
    "krapivin": (
        Row("catSeq", FINE_GRAINED, _present(35.4, 26.9)),
        Row("catSeqTG", FINE_GRAINED, _present(36.6, 28.2)),
        Row("catSeqTG+RL(F1)", FINE_GRAINED, _present(36.9, 30.0)),
        Row("ExHiRD", CALIBRATION, _both(34.7, 28.6, 4.3, 2.2)),
        Row(
            "Transformer (F1@M and F1@5 probably swapped)", CALIBRATION, _both(31.5, 36.5, 6.0, 3.2)
        ),
        Row("Trans2Set", CALIBRATION, _both(36.4, 32.6, 7.3, 4.7)),
        Row("BART", CALIBRATION, _both(33.6, 27.0, 4.9, 2.8)),
        Row("T5", CALIBRATION, _both(32.8, 27.1, 5.3, 2.8)),
        Row("SetTrans", STUDY, _at_m(36.2, 5.16)),
        Row("KPDrop", STUDY, _at_m(35.26, 6.96)),
        Row("CatSeq", ONE_SIZE, _yuan(30.7, 7.0)),
        Row("TextRank", ONE_SIZE, _yuan(18.5)),
        Row("TfIdf", ONE_SIZE, _yuan(6.7)),
    ),
    "nus": (
        Row("SetTrans", STUDY, _at_m(42.2, 4.11)),
        Row("KPDrop", STUDY, _at_m(42.41, 5.54)),
        Row("CatSeq", ONE_SIZE, _yuan(35.9, 3.7)),
        Row("TextRank", ONE_SIZE, _yuan(23.0)),
        Row("TfIdf", ONE_SIZE, _yuan(11.2)),
    ),
    "semeval": (
        Row("ExHiRD", CALIBRATION, _both(33.5, 28.4, 2.5, 1.7)),
        Row(
            "Transformer (F1@M and F1@5 probably swapped)", CALIBRATION, _both(28.7, 32.5, 2.3, 2.0)
        ),
        Row("Trans2Set", CALIBRATION, _both(35.7, 33.1, 3.4, 2.6)),
        Row("BART", CALIBRATION, _both(32.1, 27.1, 2.1, 1.6)),
        Row("T5", CALIBRATION, _both(30.6, 27.5, 2.3, 1.6)),
        Row("SetTrans", STUDY, _at_m(34.31, 2.86)),
        Row("KPDrop", STUDY, _at_m(31.01, 4.06)),
        Row("CatSeq", ONE_SIZE, _yuan(30.2, 2.5)),
        Row("TextRank", ONE_SIZE, _yuan(21.7)),
        Row("TfIdf", ONE_SIZE, _yuan(8.8)),
    ),
}
