"""Fit, select, report: rows to fit on, rows to choose by, rows to publish figures of. No row is two of these."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats
from fairprobe.domain.domain import Domain
from fairprobe.errors import DataError, SettingError
from fairprobe.frames import as_values

if TYPE_CHECKING:
    import pandas as pd

SELECT: Final = 0.15
REPORT: Final = 0.15
"""Of the rows given, where none are held out by the caller."""

_FEWEST: Final = 10
_MOST_CLASSES: Final = 20


@dataclass(frozen=True)
class LabelledRows:
    """Rows and their labels."""

    frame: pd.DataFrame
    labels: NDArray[Any]
    weights: Floats | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, places: Codes) -> LabelledRows:
        """Some of them."""
        weights = None if self.weights is None else self.weights[places]
        return LabelledRows(self.frame.iloc[places].reset_index(drop=True), self.labels[places], weights)


@dataclass(frozen=True)
class Parts:
    """The three parts."""

    fit: LabelledRows
    select: LabelledRows
    report: LabelledRows

    @property
    def sizes(self) -> dict[str, int]:
        """The rows of each."""
        return {"fit": len(self.fit), "select": len(self.select), "report": len(self.report)}


def checked_rows(domain: Domain, X: Any, y: Any, weights: Any = None, *, what: str = "X, y") -> LabelledRows:
    """Rows and labels that fit together."""
    import pandas as pd

    frame = domain.as_frame(X)
    absent = [name for name in domain.names if name not in frame.columns]
    if absent:
        raise DataError(f"{what} must have a column for every parameter, got none for {', '.join(absent)}")
    labels = np.asarray(as_values(y))
    if labels.ndim != 1 or len(labels) != len(frame):
        raise DataError(
            f"{what} must have one label a row, got {len(frame):,} rows and labels of the shape {labels.shape}"
        )
    unknown = int(np.sum(pd.isna(labels)))
    if unknown:
        raise DataError(f"{what} must have a known label for every row, got {unknown:,} unknown: leave these rows out")
    if weights is not None:
        weights = np.asarray(as_values(weights), dtype=np.float64)
        if weights.shape != labels.shape or not (np.isfinite(weights) & (weights >= 0)).all():
            raise DataError.about(
                "sample_weight", f"must be one finite weight of at least 0 a row, got the shape {weights.shape}"
            )
    return LabelledRows(domain.typed(frame).reset_index(drop=True), labels, weights)


def checked_held_out(domain: Domain, held_out: Any, classes: list[Any]) -> LabelledRows:
    """Rows and labels that the model has not seen."""
    if not isinstance(held_out, (tuple, list)) or len(held_out) != 2:
        raise SettingError.about("held_out", f"must be a pair (X, y), got {type(held_out).__name__}")
    rows = checked_rows(domain, *held_out, what="held_out")
    wrong = unknown_label(sorted(set(rows.labels.tolist()), key=str), classes)
    if wrong:
        raise DataError.about("held_out", f"must have the labels of y, {wrong}")
    return rows


def classes_of(rows: LabelledRows) -> NDArray[Any]:
    """The labels' names; two at least."""
    try:
        classes = np.unique(rows.labels)
    except TypeError:
        raise DataError("labels must be all numbers or all strings, got a mixture") from None
    if len(classes) < 2:
        raise DataError(f"the labels must be of two classes at least, got one: {classes.tolist()}")
    if rows.labels.dtype.kind in "fiu" and len(classes) > max(_MOST_CLASSES, len(rows) // 20):
        raise DataError(
            f"the labels must be classes, got {len(classes):,} different numbers: a regressor can't be retrained here"
        )
    return classes


def unknown_label(labels: Iterable[Any], known: Iterable[Any]) -> str:
    """How a message ends about labels that must all be known: the known ones, and the first that is not; else nothing.

    >>> unknown_label(["yes", "maybe"], ["no", "yes"]), unknown_label(["yes"], ["no", "yes"])
    ("'no', 'yes'; got 'maybe'", '')
    """
    names = list(known)
    unknown = [label for label in labels if label not in names]
    return f"{', '.join(map(repr, names))}; got {unknown[0]!r}" if unknown else ""


def split(domain: Domain, given: LabelledRows, held_out: LabelledRows | None, rng: np.random.Generator) -> Parts:
    """Split what the caller held out into select and report; or, with nothing held out, the rows themselves.

    At random, but every label with every combination of sensitive values in proportion.
    """
    rows, sizes = (given, (1 - SELECT - REPORT, SELECT, REPORT)) if held_out is None else (held_out, (0.5, 0.5))
    strata = np.unique(rows.labels, return_inverse=True)[1].astype(np.int64)
    for name in domain.sensitive:
        strata = strata * (domain[name].levels + 1) + domain[name].encode(rows.frame[name])
    order = rng.permutation(len(rows))
    order = order[np.argsort(strata[order], kind="stable")]
    # Low-discrepancy marks along the sorted order deal each stratum out in proportion.
    marks = (np.arange(len(rows)) * 0.6180339887498949 + rng.random()) % 1.0
    ends = np.cumsum(sizes)
    part = np.minimum(np.searchsorted(ends, marks, side="right"), len(sizes) - 1)
    parts = [rows.take(np.sort(order[part == i])) for i in range(len(sizes))]
    if min(map(len, parts)) < _FEWEST:
        raise DataError(f"the rows must be enough to be split, got {len(rows):,}: each part needs {_FEWEST} at least")
    fit = parts[0] if held_out is None else given
    return Parts(fit, parts[-2], parts[-1])
