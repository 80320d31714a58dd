"""`keywright evaluate`: score predictions under one published protocol, or all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import typer

from keywright.cli._options import listed, one_of
from keywright.errors import DataError, KeywrightError
from keywright.progress import counter

if TYPE_CHECKING:
    from keywright.evaluate import Evaluation, Sink
    from keywright.protocol import Protocol
    from keywright.tables import Row

FORMATS = ("table", "json", "tsv", "latex")


def register(app: typer.Typer) -> None:
    app.command("evaluate")(evaluate_command)


def evaluate_command(
    documents: Path = typer.Option(
        ..., help="Documents with gold keyphrases (for Chan/Ye text, the ..._src.txt file)."
    ),
    predictions: Path = typer.Option(..., help="Predicted phrases, in any supported format."),
    protocol: str = typer.Option(
        "chan19",
        help="A published protocol, optionally with parameters (chan19:unk=valid), or 'all'.",
    ),
    setting: list[str] = typer.Option(
        [], "--set", help="A parameter of the protocol, KEY=VALUE (may be repeated)."
    ),
    metrics: list[str] = typer.Option(
        [],
        help="Names such as present.F1@5 or present.micro.F1@M, 'standard' or 'all'. "
        "Default: standard for table and latex, all for json and tsv.",
    ),
    output_format: str = typer.Option("table", "--format", help=" | ".join(FORMATS)),
    output: Path | None = typer.Option(None, help="Folder for scores.json and per_document.tsv."),
    match: str = typer.Option(
        "auto", help="How documents and predictions are paired: auto | id | line."
    ),
    documents_format: str | None = typer.Option(
        None, help="Format of the documents, if it cannot be recognised from their content."
    ),
    predictions_format: str | None = typer.Option(
        None, help="Format of the predictions, if it cannot be recognised from their content."
    ),
    resamples: int = typer.Option(
        1000, min=0, help="Bootstrap resamples for the 95% intervals (0 = no intervals)."
    ),
    seed: int = typer.Option(0, min=0, help="Seed of the bootstrap."),
) -> None:
    """Score predictions against gold keyphrases, exactly as a published protocol does."""
    from keywright import protocols

    one_of("format", output_format, FORMATS)
    one_of("value of --match", match, ("auto", "id", "line"))
    names = listed(metrics) or (["standard"] if output_format in ("table", "latex") else ["all"])
    if protocol == "all":
        if setting:
            raise KeywrightError("--set cannot be used with --protocol all; name one protocol")
        judges = protocols.side_by_side()
        names = ["standard"] if not metrics else names
    else:
        judges = [protocols.load(protocol, setting)]
    results = _evaluate_all(
        documents,
        predictions,
        judges,
        names,
        output,
        {
            "seed": seed,
            "resamples": resamples,
            "match": match,
            "formats": (documents_format, predictions_format),
        },
    )
    {"table": _print_table, "json": _print_json, "tsv": _print_tsv, "latex": _print_latex}[
        output_format
    ](results)


def _evaluate_all(
    documents: Path,
    predictions: Path,
    judges: list[Protocol],
    names: list[str],
    output: Path | None,
    options: dict[str, Any],
) -> list[Evaluation]:
    """One evaluation per protocol; with `output`, files are written completely or not at all."""
    from keywright.evaluate import evaluate
    from keywright.protocols import chan19

    shared = list(chan19.Chan19.standard) if len(judges) > 1 and names == ["standard"] else names
    results = []
    with ExitStack() as files:
        if output is not None:
            files.enter_context(_folder(output))
        for judge in judges:
            sink = None
            if output is not None:
                several = len(judges) > 1
                name = f"per_document{'.' + _file_name(judge) if several else ''}.tsv"
                sink = _per_document(files, output / name)
            with counter(f"Scoring ({judge})") as watch:
                results.append(
                    evaluate(
                        documents,
                        predictions,
                        protocol=judge,
                        metrics=shared,
                        per_document=sink,
                        watch=watch,
                        **options,
                    )
                )
    if output is not None:
        _write_json(output / "scores.json", results)
    return results


def _file_name(judge: Protocol) -> str:
    return str(judge).replace(":", "-").replace(",", "-").replace("=", "-")


@contextmanager
def _folder(folder: Path) -> Iterator[None]:
    """Create a folder; if writing into it fails, a new folder is removed again."""
    is_new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"the folder cannot be created: {error.strerror}", folder) from None
    try:
        yield
    except BaseException:
        if is_new:
            with suppress(OSError):  # another program has put a file there: leave it
                folder.rmdir()
        raise


def _per_document(files: ExitStack, path: Path) -> Sink:
    """Write a row of scores per document to `path`, which appears when all of them are written."""
    from keywright.files import atomic_write

    file = cast(IO[str], files.enter_context(atomic_write(path)))
    count = 0

    def write(documents: Any, scores: dict[str, Any]) -> None:
        nonlocal count
        if not count:
            file.write("\t".join(["document", *scores]) + "\n")
        columns = [values.tolist() for values in scores.values()]
        for index, document in enumerate(documents):
            count += 1
            name = (document.id or str(count)).replace("\t", " ").replace("\n", " ")
            file.write("\t".join([name, *(repr(column[index]) for column in columns)]) + "\n")

    return write


def _as_json(results: list[Evaluation]) -> dict[str, Any]:
    if len(results) == 1:
        return _fields(results[0])
    return {"documents": results[0].documents, "protocols": list(map(_fields, results))}


def _fields(result: Evaluation) -> dict[str, Any]:
    return {
        "protocol": result.protocol,
        "documents": result.documents,
        "documents_without_gold": result.documents_without_gold,
        "signature": result.signature,
        "explanation": result.explanation,
        "scores": result.scores,
        "intervals": {
            name: interval for name, interval in result.intervals.items() if ".micro." not in name
        },
    }


def _json_bytes(results: list[Evaluation]) -> bytes:
    import msgspec

    return msgspec.json.format(msgspec.json.encode(_as_json(results)), indent=2)


def _write_json(path: Path, results: list[Evaluation]) -> None:
    from keywright.files import atomic_write

    with atomic_write(path, "wb") as file:
        cast(IO[bytes], file).write(_json_bytes(results) + b"\n")


def _print_json(results: list[Evaluation]) -> None:
    typer.echo(_json_bytes(results).decode())


def _print_tsv(results: list[Evaluation]) -> None:
    typer.echo("protocol\tmetric\tscore\tlow\thigh")
    for result in results:
        for name, score in result.scores.items():
            low, high = result.intervals.get(name, ("", ""))
            typer.echo(f"{result.protocol}\t{name}\t{score!r}\t{low!r}\t{high!r}".replace("''", ""))


def _print_table(results: list[Evaluation]) -> None:
    first = results[0]
    gold = (
        f", {first.documents_without_gold:,} of them without gold"
        if first.documents_without_gold
        else ""
    )
    typer.echo(f"{first.documents:,} documents{gold}. Scores are times 100, counts as they are.\n")
    typer.echo(_one_protocol(first) if len(results) == 1 else _side_by_side(results))


def _one_protocol(result: Evaluation) -> str:
    from keywright.metric import Metric
    from keywright.tables import titled

    rows: list[Row] = []
    for name, score in result.scores.items():
        metric = Metric.parse(name)
        row = {"metric": name, "score": metric.show(score)}
        if result.intervals:
            low, high = map(metric.show, result.intervals[name])
            row["95% interval"] = f"{low} – {high}" if metric.average == "macro" else ""
        rows.append(row)
    table = titled([(f"Protocol {result.protocol}", rows)], "table")
    return f"{table}\n\n{result.explanation}\n{result.signature}"


def _side_by_side(results: list[Evaluation]) -> str:
    """One table per part with a row per protocol, whose names can be long; then the reasons."""
    from keywright.metric import Metric
    from keywright.tables import titled

    tables: list[tuple[str, list[Row]]] = []
    for part, names in _by_part(results[0].scores).items():
        rows: list[Row] = [
            {
                "protocol": f"[{number}] {result.protocol.partition(':')[0]}",
                **{
                    name.partition(".")[2]: Metric.parse(name).show(result.scores[name])
                    for name in names
                },
            }
            for number, result in enumerate(results, 1)
        ]
        tables.append((f"{part} keyphrases", rows))
    reasons = [
        f"[{number}] {result.protocol}: {result.explanation}"
        for number, result in enumerate(results, 1)
    ]
    return "\n".join([titled(tables, "table"), "", "Why the numbers differ", *reasons])


def _by_part(names: Iterable[str]) -> dict[str, list[str]]:
    parts: dict[str, list[str]] = {}
    for name in names:
        parts.setdefault(name.partition(".")[0], []).append(name)
    return parts


def _print_latex(results: list[Evaluation]) -> None:
    from keywright.metric import Metric
    from keywright.tables import remark, render

    rows: list[Row] = [
        {
            "metric": name,
            **{result.protocol: Metric.parse(name).show(result.scores[name]) for result in results},
        }
        for name in results[0].scores
    ]
    typer.echo(render(rows, "latex"))
    for result in results:
        typer.echo(remark(result.signature, "latex"))
