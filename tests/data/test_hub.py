"""Datasets of the Hugging Face hub are read like files; here from folders saved by the library."""

from __future__ import annotations

import sys

import pytest

from keywright.data.documents import read_documents
from keywright.errors import DataError, MissingExtraError

ROWS = [
    {
        "id": number,
        "document": ["Sparse", "graphs", "are", "sparse", "."],
        "doc_bio_tags": ["B", "I", "O", "O", "O"],
        "extractive_keyphrases": ["sparse graphs"],
        "abstractive_keyphrases": ["graph theory"],
    }
    for number in range(3)
]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    datasets = pytest.importorskip("datasets", reason="the extra `datasets` is not installed")
    folder = tmp_path_factory.mktemp("hub")
    test = datasets.Dataset.from_list(ROWS)
    datasets.DatasetDict({"train": test.select([0]), "test": test}).save_to_disk(folder / "midas")
    meng = [{"title": "A title", "abstract": "A body.", "keyphrases": ["a", "b"], "prmu": ["P"]}]
    datasets.Dataset.from_list(meng).save_to_disk(folder / "taln")
    return folder


@pytest.mark.slow
def test_the_test_split_of_a_midas_corpus(saved):
    documents = list(read_documents(f"hf:{saved}/midas", need_gold=True))
    assert [document.id for document in documents] == ["0", "1", "2"]
    assert documents[0].body == "Sparse graphs are sparse ."
    assert documents[0].keyphrases == ("sparse graphs", "graph theory")


@pytest.mark.slow
def test_another_split(saved):
    assert len(list(read_documents(f"hf:{saved}/midas?split=train"))) == 1
    with pytest.raises(DataError, match="has no split 'dev'; it has: train, test"):
        list(read_documents(f"hf:{saved}/midas?split=dev"))


@pytest.mark.slow
def test_a_hub_dataset_with_fields_of_another_format(saved):
    (document,) = read_documents(f"hf:{saved}/taln")
    assert (document.title, document.keyphrases) == ("A title", ("a", "b"))


@pytest.mark.slow
def test_a_saved_dataset_without_hf_is_an_error_with_a_hint(saved):
    with pytest.raises(DataError, match=f"read it as hf:{saved}/midas"):
        list(read_documents(saved / "midas"))


@pytest.mark.slow
def test_a_dataset_that_cannot_be_loaded_is_one_line(tmp_path, monkeypatch):
    pytest.importorskip("datasets", reason="the extra `datasets` is not installed")
    with pytest.raises(
        DataError, match=r"hf:.*: cannot be loaded with Hugging Face datasets"
    ) as it:
        read_documents(f"hf:{tmp_path}")
    assert "\n" not in str(it.value)


def test_an_unknown_option_is_named():
    with pytest.raises(DataError, match="unknown option 'spilt'; known: config, split"):
        read_documents("hf:midas/inspec?spilt=test")


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'keywright\[datasets\]'"):
        read_documents("hf:midas/inspec")
