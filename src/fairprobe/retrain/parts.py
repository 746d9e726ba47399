"""Fit, select, report: rows to fit on, rows to choose by, rows to publish figures of. No row is two of these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.domain.domain import Domain
from fairprobe.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

SELECT: Final = 0.15
REPORT: Final = 0.15
"""Of the rows given, where none are held out by the caller."""

_FEWEST: Final = 10
_MOST_CLASSES: Final = 20


@dataclass(frozen=True)
class Rows:
    """Rows and their labels."""

    frame: pd.DataFrame
    labels: NDArray[Any]
    weights: Floats | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, places: Codes) -> Rows:
        """Some of them."""
        weights = None if self.weights is None else self.weights[places]
        return Rows(self.frame.iloc[places].reset_index(drop=True), self.labels[places], weights)


@dataclass(frozen=True)
class Parts:
    """The three parts."""

    fit: Rows
    select: Rows
    report: Rows
    unseen: bool
    """Whether the model given has seen none of select and report, so that it can be compared as it is."""


def checked_rows(domain: Domain, X: Any, y: Any, weights: Any = None, *, what: str = "X, y") -> Rows:
    """Rows and labels that fit together."""
    frame = domain.as_frame(X)
    absent = [name for name in domain.names if name not in frame.columns]
    if absent:
        raise DataError(f"{what} must have a column for every parameter, got none for {', '.join(absent)}")
    labels = np.asarray(y)
    if labels.ndim != 1 or len(labels) != len(frame):
        raise DataError(
            f"{what} must have one label a row, got {len(frame):,} rows and labels of the shape {labels.shape}"
        )
    unknown = int(_isna(labels).sum())
    if unknown:
        raise DataError(f"{what} must have a known label for every row, got {unknown:,} unknown: leave these rows out")
    frame = domain.typed(frame).reset_index(drop=True)
    return Rows(frame, labels, None if weights is None else _checked_weights(weights, len(frame)))


def classes_of(rows: Rows) -> NDArray[Any]:
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


def check_known(rows: Rows, classes: NDArray[Any]) -> None:
    """Refuse held-out rows whose labels are none of the training rows'."""
    unknown = sorted(set(rows.labels.tolist()) - set(classes.tolist()), key=str)
    if unknown:
        names = ", ".join(map(repr, classes.tolist()))
        raise DataError.about("held_out", f"must have the labels of y, {names}; got {unknown[0]!r}")


def split(domain: Domain, given: Rows, held_out: Rows | None, rng: np.random.Generator) -> Parts:
    """Split what the caller held out into select and report; or, with nothing held out, the rows themselves."""
    if held_out is not None:
        select, report = _split(domain, held_out, (0.5, 0.5), rng)
        return Parts(given, select, report, unseen=True)
    fit, select, report = _split(domain, given, (1 - SELECT - REPORT, SELECT, REPORT), rng)
    return Parts(fit, select, report, unseen=False)


def _split(domain: Domain, rows: Rows, sizes: tuple[float, ...], rng: np.random.Generator) -> list[Rows]:
    """At random, but every label with every combination of sensitive values in proportion."""
    strata = _strata(domain, rows)
    order = rng.permutation(len(rows))
    order = order[np.argsort(strata[order], kind="stable")]
    # Low-discrepancy marks along the sorted order deal each stratum out in proportion.
    marks = (np.arange(len(rows)) * 0.6180339887498949 + rng.random()) % 1.0
    ends = np.cumsum(sizes)
    part = np.minimum(np.searchsorted(ends, marks, side="right"), len(sizes) - 1)
    parts = [rows.take(np.sort(order[part == i])) for i in range(len(sizes))]
    if min(map(len, parts)) < _FEWEST:
        raise DataError(f"the rows must be enough to be split, got {len(rows):,}: each part needs {_FEWEST} at least")
    return parts


def _strata(domain: Domain, rows: Rows) -> Codes:
    strata = np.unique(rows.labels, return_inverse=True)[1].astype(np.int64)
    for name in domain.sensitive:
        strata = strata * (domain[name].levels + 1) + domain[name].encode(rows.frame[name])
    return strata


def _isna(labels: NDArray[Any]) -> Mask:
    import pandas as pd

    return np.asarray(pd.isna(labels))


def _checked_weights(weights: Any, n: int) -> Floats:
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (n,) or not (np.isfinite(array) & (array >= 0)).all():
        raise DataError.about(
            "sample_weight", f"must be one finite weight of at least 0 a row, got the shape {array.shape}"
        )
    return array
