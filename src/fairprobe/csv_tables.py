"""Writes CSV files in which no spreadsheet program takes a text for a formula, and restores the original texts."""

from __future__ import annotations

import csv
import re
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

_STARTS = "[-=+@\uff0d\uff1d\uff0b\uff20]"
"""Characters with which a spreadsheet formula may begin, including their full-width forms."""

_BLANK = r"[^\S\t\r\n]*"

_FORMULA = rf"(?:\A(?='*{_BLANK}(?:[\t\r\n]|{_STARTS}))|(?<=[\t\r\n])(?='*{_BLANK}{_STARTS}))"
"""Pattern of the places in a text where a spreadsheet program might begin a formula."""

_BARE, _MARKED = re.compile(_FORMULA), re.compile(_FORMULA.replace("(?='", "'(?='"))


def write_csv(frame: pd.DataFrame, target: Path | IO[str], *, header: bool = True) -> None:
    """Write a frame as CSV, with an apostrophe before each text that a spreadsheet program might run as a formula.

    Numbers stay unchanged.
    """
    told = _replaced(frame, _BARE, "'")
    # Python quotes no bare carriage return, which ends a line to those who read it.
    has_returns = any("\r" in text for name, column in told.items() for text in (str(name), *_texts(column)))
    quoting = csv.QUOTE_NONNUMERIC if has_returns else csv.QUOTE_MINIMAL
    told.to_csv(target, index=False, header=header, quoting=quoting, lineterminator="\n")


def restored(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame read from a file of `write_csv` without the apostrophes that `write_csv` added."""
    return _replaced(frame, _MARKED, "")


def _replaced(frame: pd.DataFrame, pattern: re.Pattern[str], mark: str) -> pd.DataFrame:
    def changed(value: Any) -> Any:
        return pattern.sub(mark, value) if isinstance(value, str) else value

    told = frame.rename(columns=changed)
    for place, (_, column) in enumerate(frame.items()):  # by place, as two columns may have one name
        if any(map(pattern.search, _texts(column))):
            told.isetitem(place, column.astype(object).map(changed))
    return told


def _texts(column: pd.Series[Any]) -> set[str]:
    if getattr(column.dtype, "kind", "O") in "iufb":
        return set()
    return {value for value in column.astype(object) if isinstance(value, str)}
