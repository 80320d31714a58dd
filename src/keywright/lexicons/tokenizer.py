"""The vocabulary of any Hugging Face tokenizer, with the tokenizer's own ids: T5's, BART's, ...

Everything that can be read can also be generated, so that nothing has to be copied: extensions are
empty. Tokens that the tokenizer lacks, such as a separator of phrases, are added after its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

import msgspec

from keywright.data import pretrained
from keywright.errors import ConfigError, DataError, MissingExtraError
from keywright.files import NOT_JSON, read_bytes
from keywright.lexicon import BLANK, MAX_BYTES, SPECIALS, UNK, EncodedSource, SpecialIds
from keywright.text.tokenise import DIGIT, model_words
from keywright.types import Document

try:
    from tokenizers import AddedToken, Tokenizer, decoders
except ModuleNotFoundError:
    raise MissingExtraError("a Hugging Face tokenizer", "tokenizers", "tokenizers") from None

TOKENIZER, *SETTINGS = pretrained.TOKENIZER_FILES
# By role: how the files of a tokenizer call the token, and its usual names.
_PAD = (("pad_token",), ("<pad>", "[PAD]"))
_START = (("bos_token", "cls_token"), ("<s>", "<bos>", "[CLS]"))
_END = (("eos_token", "sep_token"), ("</s>", "<eos>", "[SEP]", "<|endoftext|>"))
_UNKNOWN = (("unk_token",), ("<unk>", "[UNK]"))
_PLACES = re.compile(r"(.*)\{title\}(.*)\{body\}(.*)", re.DOTALL)
_SEPARATOR = "{separator}"
# The words of a text that stand for special tokens.
_MARKS = re.compile(rf"({re.escape(BLANK)}|{re.escape(SPECIALS[UNK])})")


@dataclass(frozen=True)
class Format:
    """How documents and phrases are written for a model."""

    source: str = "{title} {separator} {body}"  # how a document with a title is read
    normalise: bool = True  # read lower case and `<digit>`, as other vocabularies do
    digit: str = DIGIT  # what replaces `<digit>`
    # Between two phrases: a token, which is added if the tokenizer lacks it. With a blank before
    # it, it is text instead: the last token of " ;" as the tokenizer reads it.
    separator: str = "<sep>"
    phrase_blank: bool = True  # whether phrases begin like words inside a text, after a blank
    added: tuple[str, ...] = ()  # further tokens to add, such as `<digit>`


FORMATS = {
    "plain": Format(),
    # The calibration study: "title . <sep> abstract" in lower case, with two new tokens.
    "kpp": Format(source="{title} . {separator} {body}", added=(DIGIT,)),
    # DeepKPG writes its marks as text; only T5 has a prefix.
    "deepkpg": Format(source="{title} [sep] {body}", digit="[digit]", separator=" ;"),
    "deepkpg_t5": Format(
        source="generate keyphrases: {title} [sep] {body}", digit="[digit]", separator=" ;"
    ),
    # KeyBART: raw text in, "phrase;phrase" out.
    "keybart": Format(source="{title} {body}", normalise=False, separator=";", phrase_blank=False),
}
"""Formats of published models by name."""


@dataclass(frozen=True)
class Config:
    path: str  # a tokenizer.json, a folder that contains one, or a name on the hub
    format: Literal["plain", "kpp", "deepkpg", "deepkpg_t5", "keybart"] = "plain"
    # Settings of the format: see `Format`.
    source: str | None = None
    normalise: bool | None = None
    digit: str | None = None
    separator: str | None = None
    phrase_blank: bool | None = None
    added: tuple[str, ...] | None = None
    absent_mark: str | None = None  # between present and absent phrases
    null: str | None = None  # for the slots of a set model without a phrase
    # Special tokens of the tokenizer, if its files do not say which they are.
    pad: str | None = None
    start: str | None = None
    end: str | None = None
    unknown: str | None = None

    def __post_init__(self) -> None:
        _places(self.chosen_format().source)

    def chosen_format(self) -> Format:
        """The named format, with the settings that are given here instead of its own."""
        own = {item.name: getattr(self, item.name) for item in fields(Format)}
        return replace(
            FORMATS[self.format], **{key: value for key, value in own.items() if value is not None}
        )


class SavedIds(msgspec.Struct, forbid_unknown_fields=True):
    """`SpecialIds` without defaults."""

    pad: int
    bos: int
    eos: int
    sep: int
    unk: int | None
    peos: int | None
    null: int | None


class Content(msgspec.Struct, forbid_unknown_fields=True):
    tokenizer: msgspec.Raw  # the content of tokenizer.json
    special: SavedIds
    source: str
    normalise: bool
    digit: str = DIGIT
    phrase_blank: bool = True


def build(config: Config, documents: Iterable[Document]) -> TokenizerVocabulary:
    """The tokenizer of a config. It is not trained: the documents are ignored."""
    try:
        tokenizer, names = _read(config.path)
        special = _special(tokenizer, config, names)
        return TokenizerVocabulary(tokenizer, special, config.chosen_format())
    except (DataError, ValueError) as error:
        raise ConfigError(f"data.vocabulary: {config.path}: {error}") from None


def restore(content: Content) -> TokenizerVocabulary:
    special = SpecialIds(**msgspec.structs.asdict(content.special))
    tokenizer = _parse(bytes(content.tokenizer))
    chosen = Format(
        source=content.source,
        normalise=content.normalise,
        digit=content.digit,
        phrase_blank=content.phrase_blank,
    )
    return TokenizerVocabulary(tokenizer, special, chosen)


class TokenizerVocabulary:
    def __init__(self, tokenizer: Tokenizer, special: SpecialIds, chosen: Format):
        """`tokenizer` is changed so that it encodes whole texts."""
        self.special = special
        self._tokenizer = tokenizer
        self._format = chosen
        tokenizer.no_truncation()
        tokenizer.no_padding()
        if isinstance(tokenizer.decoder, decoders.WordPiece):
            tokenizer.decoder = decoders.WordPiece(cleanup=False)  # "a ." is two words
        self._size = 1 + max(tokenizer.get_vocab(with_added_tokens=True).values(), default=-1)
        if not all(i is None or 0 <= i < self._size for i in astuple(special)):
            raise ValueError(f"special ids must be less than {self._size}: {special}")
        self._never = {special.pad, special.bos, special.eos, special.peos, special.null}
        self._special_text = self._special_pattern()
        self._lead = self._leading_blank()
        self._before, self._between, self._after = self._around()

    @property
    def size(self) -> int:
        return self._size

    @property
    def input_size(self) -> int:
        return self._size

    @property
    def input_ids(self) -> Sequence[int]:
        return range(self._size)

    def encode_document(self, document: Document, max_source: int | None) -> EncodedSource:
        """The source as the template says, between the tokenizer's own start and end tokens.

        A source that is too long is cut at the end of the body; at least one token of it remains.
        """
        title, body = (self._encode(text) for text in self._texts(document))
        before, between, after = self._before, self._between, self._after
        if max_source is not None:
            marks = len(before) + len(after) + (len(between) if title and body else 0)
            room = max(1, max_source - marks)
            title, body = title[:room], body[: max(0, room - len(title))]
        if not title and not body:
            body = [self.special.pad if self.special.unk is None else self.special.unk]
        between = between if title and body else []
        pad = self.special.pad
        return EncodedSource(
            ids=[*before, *title, *between, *body, *after],
            extended=[
                *(pad for _ in before), *title, *(pad for _ in between), *body,
                *(pad for _ in after),
            ],
            title_length=len(before) + len(title) + len(between) if title else 0,
            extension=(),
            extension_inputs=(),
        )  # fmt: skip

    def encode_phrase(self, words: Sequence[str], extension: Sequence[str]) -> list[int]:
        return self._encode(self._joined(words), self._format.phrase_blank)

    def decode(self, ids: Iterable[int], extension: Sequence[str]) -> list[str]:
        text: str = self._tokenizer.decode(list(ids), skip_special_tokens=False)
        return text.replace(self._format.digit, DIGIT).split()

    def content(self) -> Content:
        tokenizer = msgspec.Raw(self._tokenizer.to_str().encode())
        special = SavedIds(**asdict(self.special))
        chosen = self._format
        return Content(
            tokenizer, special, chosen.source, chosen.normalise, chosen.digit, chosen.phrase_blank
        )

    def _texts(self, document: Document) -> tuple[str, str]:
        if not self._format.normalise:
            return document.title, document.body
        title, body = model_words(document)
        return self._joined(title), self._joined(body)

    def _joined(self, words: Sequence[str]) -> str:
        return " ".join(self._format.digit if word == DIGIT else word for word in words)

    def _encode(self, text: str, blank: bool = True) -> list[int]:
        """The ids of a text, in which only blanks and unknown words are special tokens.

        `blank`: the text begins like a word inside another text.
        """
        ids: list[int] = []
        for piece in _MARKS.split(text):
            if piece == BLANK:
                ids.append(self.special.pad)
            elif piece == SPECIALS[UNK] and self.special.unk is not None:
                ids.append(self.special.unk)
            elif piece.strip():
                # A blank inside keeps the text of a special token from becoming that token.
                plain = self._special_text.sub(lambda m: f"{m[0][0]} {m[0][1:]}", piece)
                lead = self._lead if blank or ids else ""
                found = self._plain(lead + plain.strip())
                ids += [i for i in found if i not in self._never]
        return ids

    def _plain(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def _special_pattern(self) -> re.Pattern[str]:
        """Matches the special tokens of the tokenizer where a text contains them."""
        added = self._tokenizer.get_added_tokens_decoder().values()
        own = (self._tokenizer.id_to_token(i) for i in self._never if i is not None)
        texts = {*(token.content for token in added if token.special), *filter(None, own)}
        longest_first = sorted(texts, key=lambda text: (-len(text), text))
        return re.compile("|".join(map(re.escape, longest_first)))

    def _leading_blank(self) -> str:
        """What a text has to begin with to be encoded as it would be after another word."""
        return "" if self._plain("a a") == 2 * self._plain("a") else " "

    def _around(self) -> tuple[list[int], list[int], list[int]]:
        """The ids before, between and after title and body."""
        encoded = self._tokenizer.encode("a", add_special_tokens=True)
        added = list(zip(encoded.ids, encoded.special_tokens_mask, strict=True))
        first = next((at for at, (_, mark) in enumerate(added) if not mark), len(added))
        start = [i for i, _ in added[:first]]
        end = [i for i, mark in added[first:] if mark]
        before, between, after = (self._literal(text) for text in _places(self._format.source))
        return [*start, *before], between, [*after, *end]

    def _literal(self, text: str) -> list[int]:
        """The ids of a piece of the template; unlike in documents, it may name special tokens."""
        ids: list[int] = []
        for number, piece in enumerate(text.split(_SEPARATOR)):
            ids += [self.special.sep] if number else []
            ids += self._plain(self._lead + piece.strip()) if piece.strip() else []
        return ids


def _places(source: str) -> tuple[str, str, str]:
    """What the template has before the title, between title and body, and after the body."""
    found = _PLACES.fullmatch(source)
    if found is None:
        raise ValueError(f"source must contain {{title}} and then {{body}}: {source!r}")
    return found[1], found[2], found[3]


def _read(name: str) -> tuple[Tokenizer, dict[str, str]]:
    """A tokenizer, and its special tokens by their names in its other files."""
    path = Path(name)
    is_file = path.is_file() or path.suffix == ".json"
    folder = path.parent if is_file else pretrained.tokenizer_folder(name)
    file = path if is_file else folder / TOKENIZER
    if not file.is_file():
        raise ValueError(
            f"there is no {file.name}; name the folder or the file of a tokenizer that has one "
            "(transformers writes it for fast tokenizers)"
        )
    names: dict[str, str] = {}
    for name in SETTINGS:
        if (folder / name).is_file():
            names |= _names(read_bytes(folder / name, MAX_BYTES))
    return _parse(read_bytes(file, MAX_BYTES)), names


def _parse(content: bytes) -> Tokenizer:
    try:
        return Tokenizer.from_str(content.decode())
    except Exception as error:  # the library raises nothing more specific
        raise ValueError(f"is not a tokenizer: {error}") from None


def _names(content: bytes) -> dict[str, str]:
    try:
        table = msgspec.json.decode(content, type=dict[str, Any])
    except NOT_JSON as error:
        raise ValueError(f"the settings of the tokenizer are not JSON: {error}") from None
    tokens = {key: value for key, value in table.items() if key.endswith("_token")}
    # A token is either a string or a table with its text and how it is matched.
    texts = {key: v.get("content") if isinstance(v, dict) else v for key, v in tokens.items()}
    return {key: text for key, text in texts.items() if isinstance(text, str)}


@dataclass(frozen=True)
class _Tokens:
    """The tokens of a tokenizer by name; `names` are those that its other files give to roles."""

    tokenizer: Tokenizer
    names: Mapping[str, str]

    def named(self, token: str) -> int:
        """The id of a token, which is added if it does not exist."""
        found: int | None = self.tokenizer.token_to_id(token)
        if found is not None:
            return found
        new = AddedToken(token, special=True, normalized=False)
        self.tokenizer.add_special_tokens([new])
        return self.named(token)

    def separator(self, text: str) -> int:
        """The id of a token, or with a blank before it the last id of a text."""
        if not text.startswith(" "):
            return self.named(text)
        *_, last = self.tokenizer.encode(text, add_special_tokens=False).ids
        if self.tokenizer.decode([last]).strip() != text.strip():
            raise ValueError(f"separator {text!r} is not one token for this tokenizer")
        return int(last)

    def role(self, chosen: str | None, role: tuple[tuple[str, ...], tuple[str, ...]]) -> int | None:
        """The id of a token of the tokenizer itself, unless the config has chosen another one."""
        if chosen is not None:
            return self.named(chosen)
        keys, usual = role
        texts = [*(self.names[key] for key in keys if key in self.names), *usual]
        ids = (self.tokenizer.token_to_id(text) for text in texts)
        return next((i for i in ids if i is not None), None)


def _special(tokenizer: Tokenizer, config: Config, names: Mapping[str, str]) -> SpecialIds:
    tokens, chosen = _Tokens(tokenizer, names), config.chosen_format()
    tokenizer.add_tokens([AddedToken(token, normalized=False) for token in chosen.added])
    pad, end = tokens.role(config.pad, _PAD), tokens.role(config.end, _END)
    if pad is None or end is None:
        missing = "pad" if pad is None else "end"
        raise ValueError(
            f"the tokenizer does not say which token is its {missing}; set `{missing}`"
        )
    start = tokens.role(config.start, _START)
    return SpecialIds(
        pad=pad,
        bos=pad if start is None else start,  # T5 has none and starts from its padding
        eos=end,
        unk=tokens.role(config.unknown, _UNKNOWN),
        sep=tokens.separator(chosen.separator),
        peos=None if config.absent_mark is None else tokens.named(config.absent_mark),
        null=None if config.null is None else tokens.named(config.null),
    )
