"""What happens if UniKP predicts without the relation layers that it was trained with.

    python -m bench.unikp_relation RUN DOCUMENTS [--limit N]

RUN is the folder of a trained `unikp` run. Prints a row for predictions with its relation layers,
one for the release's way of using them, and one for predictions without them: precision, recall and
F1 of all present and all absent phrases (micro averages of the protocol unikp with stems, times
100) and the number of phrases per document.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

import torch

from keywright import runs, tables
from keywright.config import Part
from keywright.data.batch import make_batch
from keywright.data.documents import read_documents
from keywright.decoding.decoder import Decoder
from keywright.evaluate import evaluate
from keywright.runs import Run
from keywright.types import Document, Prediction

PROTOCOL = "unikp:compare=stems,divide=stems"
PERCENT = [
    f"{part}.micro.{measure}@M" for part in ("present", "absent") for measure in ("P", "R", "F1")
]
COUNTS = ["present.Predicted", "absent.Predicted"]
BATCH = 16


@torch.inference_mode()
def predictions(run: Run, documents: Sequence[Document], relation: str) -> list[Prediction]:
    """The predictions of a run whose `decoding_relation` is replaced."""
    chosen = Part(
        run.config.model.name, {**run.config.model.settings, "decoding_relation": relation}
    )
    model = runs.build_model(replace(run.config, model=chosen), run.vocabulary).eval()
    model.load_state_dict(run.model.state_dict())
    decoder = Decoder(run.config.decode, run.vocabulary, model.paradigm)
    predict = model.predictor(run.vocabulary, partial(decoder, model))
    length = runs.source_length(run.config)
    found: list[Prediction] = []
    for start in range(0, len(documents), BATCH):
        found += predict(make_batch(documents[start : start + BATCH], run.vocabulary, length))
    return found


def row(run: Run, documents: Sequence[Document], relation: str) -> dict[str, str]:
    made = predictions(run, documents, relation)
    scores = evaluate(documents, made, protocol=PROTOCOL, metrics=[*PERCENT, *COUNTS], match="line")
    return {
        "decoding_relation": relation,
        **{metric: f"{100 * scores[metric]:.1f}" for metric in PERCENT},
        **{metric: f"{scores[metric]:.2f}" for metric in COUNTS},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", help="the folder of a trained unikp run")
    parser.add_argument("documents", help="documents with gold keyphrases")
    parser.add_argument("--limit", type=int, help="use only the first documents")
    options = parser.parse_args()
    run = runs.load(options.run)
    documents = list(islice(read_documents(options.documents, need_gold=True), options.limit))
    rows = [row(run, documents, relation) for relation in ("full", "newest", "off")]
    print(tables.render(rows, "markdown"))


if __name__ == "__main__":
    main()
