"""`keywright evaluate`: score predictions under one published protocol, or all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import typer
from rich.markup import escape

from keywright.cli._options import counter, listed, one_of
from keywright.errors import DataError, KeywrightError

if TYPE_CHECKING:
    from keywright.evaluate import Evaluation, Sink
    from keywright.protocols._base import Protocol

FORMATS = ("table", "json", "tsv", "latex")
# Printed as they are; all other measures lie in [0, 1] and are printed times 100, as in papers.
COUNTS = ("MAE", "Unique", "Predicted", "Gold")


def register(app: typer.Typer) -> None:
    app.command("evaluate")(evaluate_command)


def evaluate_command(
    documents: Path = typer.Option(
        ..., help="Documents with gold keyphrases; for Chan/Ye text the ..._src.txt file."
    ),
    predictions: Path = typer.Option(..., help="Predicted phrases, in any format we read."),
    protocol: str = typer.Option(
        "chan19",
        help="A published protocol, with parameters if wanted (chan19:unk=valid), or 'all'.",
    ),
    setting: list[str] = typer.Option(
        [], "--set", help="A parameter of the protocol: KEY=VALUE. May be repeated."
    ),
    metrics: list[str] = typer.Option(
        [],
        help="Names such as present.F1@5 or present.micro.F1@M, 'standard' or 'all'. "
        "Default: standard for table and latex, all for json and tsv.",
    ),
    output_format: str = typer.Option("table", "--format", help=" | ".join(FORMATS)),
    output: Path | None = typer.Option(None, help="A folder for scores.json and per_document.tsv."),
    match: str = typer.Option("auto", help="Pair documents and predictions: auto | id | line."),
    documents_format: str | None = typer.Option(
        None, help="The documents' format, where it cannot be told from their content."
    ),
    predictions_format: str | None = typer.Option(
        None, help="The predictions' format, where it cannot be told from their content."
    ),
    resamples: int = typer.Option(
        1000, min=0, help="Bootstrap resamples for the 95% intervals; 0 for none."
    ),
    seed: int = typer.Option(0, min=0, help="Seed of the bootstrap."),
) -> None:
    """Score predictions against gold keyphrases, exactly as a published protocol does."""
    from keywright import protocols

    one_of("format", output_format, FORMATS)
    one_of("way to match", match, ("auto", "id", "line"))
    names = listed(metrics) or (["standard"] if output_format in ("table", "latex") else ["all"])
    if protocol == "all":
        if setting:
            raise KeywrightError("--set goes with one protocol, not with --protocol all")
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
    """One evaluation per protocol; with `output`, files that appear whole or not at all."""
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
    """Make a folder; if what was to fill it fails, a new one does not stay behind empty."""
    is_new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"cannot be made into a folder: {error.strerror}", folder) from None
    try:
        yield
    except BaseException:
        if is_new:
            with suppress(OSError):  # something else put a file there meanwhile: leave it
                folder.rmdir()
        raise


def _per_document(files: ExitStack, path: Path) -> Sink:
    """Write a row of scores per document to `path`, which appears when all of them are in."""
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


def _as_json(results: list[Evaluation]) -> Any:
    def one(result: Evaluation) -> dict[str, Any]:
        return {
            "protocol": result.protocol,
            "documents": result.documents,
            "documents_without_gold": result.documents_without_gold,
            "signature": result.signature,
            "explanation": result.explanation,
            "scores": result.scores,
            "intervals": {
                name: interval
                for name, interval in result.intervals.items()
                if ".micro." not in name
            },
        }

    if len(results) == 1:
        return one(results[0])
    return {"documents": results[0].documents, "protocols": [one(result) for result in results]}


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


def shown(name: str, value: float) -> str:
    """A score as papers print it."""
    measure = name.rpartition(".")[2].partition("@")[0]
    return f"{value:.3f}" if measure in COUNTS else f"{100 * value:.2f}"


def _print_table(results: list[Evaluation]) -> None:
    from rich.console import Console

    console = Console()
    first = results[0]
    gold = (
        f", {first.documents_without_gold:,} of them without gold"
        if first.documents_without_gold
        else ""
    )
    console.print(f"[bold]{first.documents:,} documents[/]{gold}. Scores times 100; counts as is.")
    if len(results) == 1:
        _print_one(console, first)
    else:
        _print_side_by_side(console, results)


def _print_one(console: Any, result: Evaluation) -> None:
    from rich.table import Table

    table = Table(title=f"Protocol {result.protocol}", title_justify="left")
    table.add_column("metric")
    table.add_column("score", justify="right")
    if result.intervals:
        table.add_column("95% interval", justify="right")
    for name, score in result.scores.items():
        row = [name, shown(name, score)]
        if result.intervals:
            low, high = result.intervals[name]
            row.append(f"{shown(name, low)} – {shown(name, high)}" if ".micro." not in name else "")
        table.add_row(*row)
    console.print(table)
    console.print(
        f"{escape(result.explanation)}\n[dim]{escape(result.signature)}[/]", soft_wrap=True
    )


def _print_side_by_side(console: Any, results: list[Evaluation]) -> None:
    """A table per part with a row per protocol (parameters make long names), then the reasons."""
    from rich.table import Table

    for part, names in _by_part(results[0].scores).items():
        table = Table(title=f"{part} keyphrases", title_justify="left")
        table.add_column("protocol")
        for name in names:
            table.add_column(name.partition(".")[2], justify="right")
        for number, result in enumerate(results, 1):
            label = f"\\[{number}] {result.protocol.partition(':')[0]}"
            table.add_row(label, *(shown(name, result.scores[name]) for name in names))
        console.print(table)
    console.print("[bold]Why the numbers differ[/]")
    for number, result in enumerate(results, 1):
        console.print(f"\\[{number}] [bold]{result.protocol}[/]: {escape(result.explanation)}")


def _by_part(names: Iterable[str]) -> dict[str, list[str]]:
    parts: dict[str, list[str]] = {}
    for name in names:
        parts.setdefault(name.partition(".")[0], []).append(name)
    return parts


def _print_latex(results: list[Evaluation]) -> None:
    names = list(results[0].scores)
    lines = [
        r"\begin{tabular}{l" + "r" * len(results) + "}",
        r"\toprule",
        " & ".join(["metric", *(_latex(result.protocol) for result in results)]) + r" \\",
        r"\midrule",
    ]
    for name in names:
        cells = [shown(name, result.scores[name]) for result in results]
        lines.append(" & ".join([_latex(name), *cells]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [f"% {result.signature}" for result in results]
    typer.echo("\n".join(lines))


def _latex(text: str) -> str:
    return text.replace("_", r"\_").replace("%", r"\%").replace("&", r"\&")
