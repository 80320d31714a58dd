"""The run folder of a scorer: the same files as those of any run (see `keywright.runs`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from keywright import checkpoint, lexicon, runs
from keywright import config as configs
from keywright.data.corpus import Digest
from keywright.errors import ConfigError, DataError
from keywright.files import NOT_JSON, sha256
from keywright.lexicons.wordpieces import WordpieceVocabulary
from keywright.nn.cross_encoder import CrossEncoder
from keywright.nn.transformer import Shape
from keywright.runs import RunManifest
from keywright.scorers.config import Config


@dataclass(frozen=True)
class ScorerRun:
    """What a run folder says about a scorer, checked for being of one piece."""

    folder: Path
    config: Config
    vocabulary: WordpieceVocabulary
    manifest: RunManifest

    def load(self) -> CrossEncoder:
        """The model with its best weights (the latest where none were validated)."""
        best = self.folder / runs.BEST
        file = best if best.exists() else self.folder / runs.LAST
        saved = checkpoint.load(file, self.manifest.vocabulary)
        model = build(self.config, self.vocabulary)
        checkpoint.restore_model(model, saved.model, file)
        return model.eval()


def read(folder: Path) -> ScorerRun:
    path = folder / runs.MANIFEST
    if not path.is_file():
        raise DataError(
            f"is not the run folder of a scorer: it has no {runs.MANIFEST}; train one with: "
            "keywright train configs/fb_scorer.toml",
            folder,
        )
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=RunManifest)
    except NOT_JSON as error:
        raise DataError(f"is not the description of a run: {error}", path) from None
    if configs.SCORER not in configs.read_table(folder / runs.CONFIG):
        raise DataError(
            "is the run folder of a keyphrase model, not of a scorer; train a scorer with: "
            "keywright train configs/fb_scorer.toml",
            folder,
        )
    config = configs.load_as(Config, folder / runs.CONFIG)
    vocabulary = lexicon.load(folder / runs.VOCABULARY)
    if not isinstance(vocabulary, WordpieceVocabulary):
        raise DataError("is not a vocabulary of wordpieces", folder / runs.VOCABULARY)
    if sha256(folder / runs.VOCABULARY) != manifest.vocabulary:
        raise DataError(
            f"is not the vocabulary that {runs.MANIFEST} describes", folder / runs.VOCABULARY
        )
    return ScorerRun(folder, config, vocabulary, manifest)


def build(config: Config, vocabulary: WordpieceVocabulary) -> CrossEncoder:
    """The model, with weights that mean nothing yet."""
    sizes = config.scorer.sizes
    if sizes is None:
        raise ConfigError("scorer.sizes: is missing; the config of a run has it")
    shape = Shape(
        sizes.width,
        sizes.heads,
        sizes.inner,
        sizes.layers,
        config.scorer.dropout,
        norm="post",
        activation="gelu",
        epsilon=sizes.epsilon,
    )
    return CrossEncoder(shape, vocabulary.input_size, sizes.positions)


def write(
    folder: Path, config: Config, vocabulary: WordpieceVocabulary, train: Digest, valid: Digest
) -> RunManifest:
    """All but the weights of a new run."""
    runs.write_whole(folder / runs.CONFIG, configs.to_toml(config).encode())
    lexicon.save(vocabulary, folder / runs.VOCABULARY)
    digest = sha256(folder / runs.VOCABULARY)
    manifest = runs.describe(config.train.seed, digest, train, valid)
    text = msgspec.json.format(msgspec.json.encode(manifest)) + b"\n"
    runs.write_whole(folder / runs.MANIFEST, text)
    return manifest
