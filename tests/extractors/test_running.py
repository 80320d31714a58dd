"""What libraries that split text themselves are given, and what becomes of their phrases."""

import pytest

from keywright.extractors._running import prediction, running_text
from keywright.types import Document


@pytest.mark.parametrize(
    ("title", "body", "text"),
    [
        ("Sparse graphs", "We count edges.", "Sparse graphs.\nWe count edges."),
        ("Why graphs?", "We count edges.", "Why graphs?\nWe count edges."),
        ("", "We count edges.", "We count edges."),
        ("Sparse graphs", "", "Sparse graphs."),
        ("", "", ""),
    ],
)
def test_no_phrase_crosses_from_the_title_to_the_body(title, body, text):
    assert running_text(Document(title=title, body=body)) == text


def test_placeholders_of_prepared_texts_are_not_words():
    document = Document(title="<digit> d graphs .", body="an <unk> edge", tokenised=True)
    assert running_text(document) == "0 d graphs. an, edge"
    written = Document(title="", body="the tag <unk> in HTML")
    assert running_text(written) == "the tag <unk> in HTML"


def test_phrases_of_prepared_texts_are_normalised_like_their_gold():
    prepared = Document(id="d", title="", body="", tokenised=True)
    made = prediction(prepared, [("0 d graphs", 0.5), ("edge", 0.25)])
    assert made.document_id == "d"
    assert made.texts == ("<digit> d graphs", "edge")
    assert [(phrase.words, phrase.score) for phrase in made.phrases] == [(3, 0.5), (1, 0.25)]


def test_phrases_of_other_texts_keep_their_spelling():
    assert prediction(Document(title="", body=""), [("IL-6 Levels", 1)]).texts == ("IL-6 Levels",)
