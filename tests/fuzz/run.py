"""Fuzzing: mutated files of the corpus must be read, or refused with an error of ours.

    python -m tests.fuzz.run --minutes 1            # all targets in turn (make fuzz)
    python -m tests.fuzz.run --inputs 2500          # at most: the same ones on every machine
    python -m tests.fuzz.run --only pdf --minutes 30
    python -m tests.fuzz.run --atheris html -- -max_total_time=600

The last form is guided by coverage and needs `pip install atheris`; options after `--` are those of
libFuzzer. An input that raises any other exception, or takes longer than `SLOW` seconds, is written
to build/fuzz; the exit code is 1. Every such input belongs into the corpus once it is mended.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
import time
from pathlib import Path

from tests.fuzz.targets import REFUSALS, TARGETS

CORPUS = Path(__file__).with_name("corpus")
FOUND = Path("build") / "fuzz"
SLOW = 10.0  # seconds of CPU
MAX_SIZE = 1 << 16
# Pieces that parsers treat specially.
TOKENS = (
    *(b"<![", b"]]>", b"<!--", b"<script>", b"&#x110000;", b"\x00", b"\xff\xfe", b"\xed\xa0\x80"),
    *(b"{", b"}", b"[" * 50, b'"', b"\\u0000", b"null", b"-1", b"1e999", b"9" * 400, b"NaN"),
    *(b"\r\n", b"\n\n", b"--b", b"--b--", b"endobj", b"stream", b"obj", b"%PDF-", b"/Kids"),
    *(b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"\t", b",", b";", b"<digit>", b"'''"),
)


def corpus(target: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted((CORPUS / target).iterdir())]


def mutated(content: bytes, others: list[bytes], rng: random.Random) -> bytes:
    """A few random changes: flipped, removed, repeated or inserted bytes, and a splice."""
    made = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 4, 8))):
        at = rng.randrange(len(made) + 1)
        end = min(len(made), at + rng.choice((1, 2, 8, 64)))
        match rng.randrange(6):
            case 0 if made:
                made[at % len(made)] ^= 1 << rng.randrange(8)
            case 1:
                del made[at:end]
            case 2:
                made[at:at] = made[at:end] * rng.choice((1, 2, 50))
            case 3:
                made[at:end] = rng.choice(TOKENS)
            case 4:
                made[at:at] = rng.randbytes(rng.choice((1, 3)))
            case _:
                other = rng.choice(others)
                made[at:] = other[rng.randrange(len(other) + 1) :]
    return bytes(made[:MAX_SIZE])


def problem(target: str, content: bytes) -> str | None:
    """What is wrong with the treatment of an input; None if it was read or refused."""
    began = time.process_time()
    try:
        TARGETS[target](content)
    except REFUSALS as refusal:
        lines = str(refusal).splitlines()
        if len(lines) > 1:
            return f"an error of {len(lines)} lines"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    took = time.process_time() - began
    return f"{took:.1f} s" if took > SLOW else None


def keep(target: str, content: bytes, what: str) -> None:
    FOUND.mkdir(parents=True, exist_ok=True)
    path = FOUND / f"{target}-{hashlib.sha256(content).hexdigest()[:12]}"
    path.write_bytes(content)
    print(f"{target}: {what[:200]}: {path}", flush=True)  # noqa: T201


def fuzz(targets: list[str], seconds: float, seed: int, most: int | None = None) -> int:
    """Give each target its share of the time, or `most` inputs; returns how many failed."""
    failed = 0
    for target in targets:
        rng = random.Random(f"{seed} {target}")
        seeds = corpus(target)
        end, count = time.monotonic() + seconds / len(targets), 0
        while time.monotonic() < end and (most is None or count < most):
            content = mutated(rng.choice(seeds), seeds, rng)
            count += 1
            what = problem(target, content)
            if what is not None:
                failed += 1
                keep(target, content, what)
        print(f"{target}: {count:,} inputs", flush=True)  # noqa: T201
    return failed


def guided(target: str, options: list[str]) -> None:
    """Fuzz one target guided by coverage, until libFuzzer stops."""
    import atheris  # type: ignore[import-not-found]

    def one(content: bytes) -> None:
        what = problem(target, content)
        if what is not None:
            keep(target, content, what)
            raise AssertionError(what)

    atheris.instrument_all()
    atheris.Setup([sys.argv[0], str(CORPUS / target), *options], one)
    atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=1.0, help="of all targets together")
    parser.add_argument("--inputs", type=int, help="of each target, at most")
    parser.add_argument("--only", choices=TARGETS, help="one target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--atheris", choices=TARGETS, help="fuzz a target guided by coverage")
    parser.add_argument("options", nargs="*", help="of libFuzzer, after --")
    chosen = parser.parse_args()
    if chosen.atheris:
        guided(chosen.atheris, chosen.options)
        return 0
    targets = [chosen.only] if chosen.only else list(TARGETS)
    return 1 if fuzz(targets, 60 * chosen.minutes, chosen.seed, chosen.inputs) else 0


if __name__ == "__main__":
    sys.exit(main())
