"""Documents with many special cases, for property tests."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st

from tests.protocols.scoring import Case

quick = settings(deadline=None, max_examples=60)
thorough = settings(deadline=None, max_examples=1000)  # for tests marked slow

# Words with equal stems, marks, separators and tokens that are special in some protocol.
WORDS = (
    "a", "b", "c", "net", "network", "networks", "Network", "universe", "univers", "é", "İx",
    "<unk>", "<peos>", "<digit>", "unk", "unks", ",", ".", "(", "a_b", "a/b", "c-d", "a|b",
)  # fmt: skip
# Tokens of one release only; elsewhere they are words like any other.
SPECIAL = ("<eos>", "<eokp>", "<blank>", "<p_start>", "<a_end>", "<absent_end>")

words = st.sampled_from(WORDS)
rare_words = st.sampled_from(WORDS + SPECIAL)


def joined(word: st.SearchStrategy[str], most: int, blanks: tuple[str, ...]) -> st.SearchStrategy:
    """Words separated by blanks, mostly by single ones."""

    def join(parts: list[tuple[str, str]]) -> str:
        return "".join(blank + word for blank, word in parts)

    blank = st.sampled_from((" ", " ", " ", *blanks))
    return st.lists(st.tuples(blank, word), max_size=most).map(join)


sources = st.tuples(
    joined(words, 5, (" ",)).map(str.strip), joined(words, 12, ("  ",)).map(str.strip)
).map(" <eos> ".join)
lines = st.lists(joined(rare_words, 3, ("  ",)), max_size=6).map(";".join)
cases: st.SearchStrategy[Case] = st.tuples(sources, lines, lines)
corpora = st.lists(cases, min_size=1, max_size=5)

# Any text except for what would begin a new line or a new phrase.
free_text = st.text(
    st.characters(blacklist_categories=("Cs",), blacklist_characters="\n\r\x00;"), max_size=25
)
free_lines = st.lists(free_text, max_size=6).map(";".join)
free_sources = st.tuples(free_text, free_text).map(" <eos> ".join)
free_cases: st.SearchStrategy[Case] = st.tuples(free_sources, free_lines, free_lines)
free_corpora = st.lists(free_cases, min_size=1, max_size=4)
