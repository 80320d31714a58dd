"""Write the table of measures in evaluation.md, from what the measures say about themselves.

python docs/measures.py
"""

from __future__ import annotations

from pathlib import Path

from keywright.metric import Measure, measures
from keywright.tables import Row, render

PAGE = Path(__file__).parent / "evaluation.md"
BEGIN, END = "<!-- begin measures -->\n", "<!-- end -->"


def table() -> str:
    return render([_row(measure) for measure in measures().values()], "markdown")


def updated(text: str) -> str:
    """The page with the table between its marks replaced."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n\n{END}{rest.partition(END)[2]}"


def _row(measure: Measure) -> Row:
    only = f" (listed under {', '.join(measure.protocols)})" if measure.protocols else ""
    return {
        "measure": f"{measure.name}@k" if measure.needs_cutoff else measure.name,
        "unit": measure.unit.name,
        "better": measure.better,
        "micro": "yes" if measure.has_micro else "",
        "what it is": f"{measure.description}{only}",
    }


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
