"""What a search found, in plain lines for people and as data for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.cli.words import counted, in_flags
from fairprobe.search import Found

if TYPE_CHECKING:
    import pandas as pd

N_SHOWN = 3


def summary_lines(found: Found, written: str | None) -> list[str]:
    """The figures of a search."""
    return [
        f"{counted(found.n_cases, 'case')} found in {counted(found.n_inputs, 'distinct input')}",
        "",
        f"  judged    {counted(found.n_judged, 'input')}, repeats included",
        f"  queries   {found.n_queries:,}",
        f"  time      {found.seconds:.2f} s",
        f"  yield     {found.yield_:.2%} (a measure of this search, not of how common cases are)",
        f"  stopped   {in_flags(found.stop_reason.sentence)}",
        *([f"  written   {written}"] if written else []),
    ]


def case_lines(found: Found) -> list[str]:
    """A few cases, from the first to the last found."""
    if not found.n_cases:
        return []
    rows = np.unique(np.linspace(0, found.n_cases - 1, N_SHOWN).astype(int))
    cases, twins, outputs = (frame.iloc[rows] for frame in (found.cases, found.twins, found.outputs))
    what = {"label": "answers", "value": "predicts"}.get(found.output, "gives")
    lines = ["", "Some of them:" if len(rows) < found.n_cases else "All of them:" if len(rows) > 1 else "It is:"]
    for row in range(len(rows)):
        case, twin = cases.iloc[row], twins.iloc[row]
        shared = [f"{name}={case[name]}" for name in found.domain.names if name not in found.domain.sensitive]
        lines += [
            f"  {rows[row] + 1:,}. {', '.join(shared) or 'any input'}",
            f"     {_sensitive(found, case)}: the model {what} {_output(outputs['case'].iloc[row])}",
            f"     {_sensitive(found, twin)}: the model {what} {_output(outputs['twin'].iloc[row])}",
        ]
    return lines


def _sensitive(found: Found, row: pd.Series[Any]) -> str:
    return ", ".join(f"{name}={row[name]}" for name in found.domain.sensitive)


def _output(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def as_json(found: Found, written: str | None, error: str | None) -> str:
    """One object: the figures, the first cases, where all of them are, and what went wrong."""
    first = found.to_frame().head(N_SHOWN)
    content = {
        **found.summary(),
        "cases": [] if first.empty else json.loads(first.to_json(orient="records")),
        "out": written,
        "error": error,
    }
    return json.dumps(content)
