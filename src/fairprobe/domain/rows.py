"""The only entry for real rows: rows, labels, weights and groups from a caller are checked and coded here, once.

Rows may hold anything: values off the grid or outside the domain, unknown sensitive values, other columns, columns in
another order, repeated labels in their index. This module refuses only rows that no later step could use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.checks import nearest
from fairprobe.errors import DataError
from fairprobe.frames import as_pandas, as_values

if TYPE_CHECKING:
    import pandas as pd

    from fairprobe.domain.domain import Domain


@dataclass(frozen=True, eq=False)
class Rows:
    """Real rows of a domain, with the labels, weights and groups that belong to them."""

    domain: Domain
    frame: pd.DataFrame
    """The parameters' columns in domain order, with the values, dtypes and index that the caller gave."""
    labels: NDArray[Any] | None = None
    """One label per row, None without labels; some labels may be missing."""
    weights: Floats | None = None
    """One finite weight per row, none negative, not all zero; None without weights."""
    groups: NDArray[Any] | None = None
    """One known name per row, None without groups. Rows of one group belong to one person, household or other unit."""

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def index(self) -> pd.Index:
        """The index of the frame that the caller gave."""
        return self.frame.index

    @cached_property
    def typed(self) -> pd.DataFrame:
        """Return the frame of rows with the dtypes that the model expects; see `Domain.typed`."""
        return self.domain.typed(self.frame)

    @cached_property
    def codes(self) -> Codes:
        """Return the code of each value, by row, then parameter; -1 for a value outside the domain."""
        return self.domain.encode(self.frame)

    @cached_property
    def nearest_codes(self) -> Codes:
        """Return the code of each value, by row, then parameter; -1 for a value outside the domain.

        Unlike in `codes`, a number between two steps of its grid gets the code of the nearer step.
        """
        return self.domain.encode(self.frame, nearest=True)

    @cached_property
    def own(self) -> Codes:
        """The codes of the sensitive values, one row each, one column per sensitive parameter.

        The code is -1 for a value that is not compared.
        """
        return np.column_stack([self.domain[name].encode(self.frame[name]) for name in self.domain.sensitive])

    @cached_property
    def known(self) -> Mask:
        """Boolean mask of the rows whose sensitive values are known, or missing where a missing value is compared."""
        unknown = np.zeros(len(self), dtype=bool)
        for name in self.domain.sensitive:
            if not self.domain[name].missing:
                unknown |= self.frame[name].isna().to_numpy()
        return ~unknown

    @cached_property
    def group_numbers(self) -> Codes | None:
        """A number for each row, equal for rows of one group; None if no groups were given."""
        import pandas as pd

        return None if self.groups is None else np.asarray(pd.factorize(self.groups)[0], dtype=np.int64)

    def take(self, which: Mask | Codes | slice) -> Self:
        """Return some of the rows with their labels, weights and groups, chosen by a mask, a slice or places."""
        labels, weights, groups = (
            None if each is None else each[which] for each in (self.labels, self.weights, self.groups)
        )
        return replace(self, frame=self.frame.iloc[which], labels=labels, weights=weights, groups=groups)

    def reindexed(self) -> Self:
        """Return the rows with a new index 0, 1, ... in place of the caller's."""
        return replace(self, frame=self.frame.reset_index(drop=True))


def rows_of(
    domain: Domain, X: Any, y: Any, weights: Any, groups: Any, called: Mapping[str, str] | None, may_be_empty: bool
) -> Rows:
    """Check real rows with their labels, weights and groups, and return them; `Domain.rows` describes the arguments."""
    names = {"X": "X", "y": "y", "sample_weight": "sample_weight", "groups": "groups", **(called or {})}
    frame = frame_of(domain, X, names["X"])
    if not len(frame) and not may_be_empty:
        raise DataError.about(names["X"], "must have one row at least, got an empty frame")
    index = _index_of(X)
    return Rows(
        domain,
        frame,
        None if y is None else _labels(names["y"], y, len(frame), index),
        None if weights is None else _weights(names["sample_weight"], weights, len(frame), index),
        None if groups is None else _groups(names["groups"], groups, len(frame), index),
    )


def frame_of(domain: Domain, rows: Any, called: str = "the rows") -> pd.DataFrame:
    """Return the parameters' columns of rows as a pandas frame, in domain order.

    The rows are a frame with these columns among others, or an array with its columns in domain order. Messages name
    the rows by `called`.
    """
    frame = as_pandas(rows, domain.names)
    check_columns(domain, frame, called)
    same = len(frame.columns) == len(domain.names) and all(frame.columns == list(domain.names))
    return frame if same else frame[list(domain.names)]


def check_columns(domain: Domain, frame: pd.DataFrame, called: str) -> None:
    """Refuse a frame that lacks the column of a parameter; the message names the frame by `called`."""
    absent = [name for name in domain.names if name not in frame.columns]
    if absent:
        near = nearest(absent[0], [name for name in frame.columns if name not in domain.names])
        rule = f"must have a column for every parameter, got none for {', '.join(absent)}{near}"
        raise DataError.about(called, rule)


def _hold_to(called: str, holds: Any, rule: str) -> None:
    if not holds:
        raise DataError.about(called, rule)


def _beside(called: str, values: Any, n: int, index: Any, what: str) -> NDArray[Any]:
    """Return labels, weights or groups as an array.

    It must have one value per row, and the index of the rows or none; anything else is refused.
    """
    array, own = np.asarray(as_values(values)), _index_of(values)
    _hold_to(
        called, array.shape == (n,), f"must have one {what} for each of the {n:,} rows, got the shape {array.shape}"
    )
    is_same = own is None or index is None or own.equals(index)
    _hold_to(called, is_same, "must have the index of the rows, in their order: use .loc[X.index], or give an array")
    return array


def _labels(called: str, y: Any, n: int, index: Any) -> NDArray[Any]:
    """Return labels in the order of the rows; labels with an unrelated index are matched by position.

    An index with other entries than the rows' is unrelated if one of the two is numbered from 0, or if they have no
    entry in common.
    """
    own = _index_of(y)
    is_new = own is not None and index is not None and set(own) != set(index)
    if is_new and not any(list(each) == list(range(n)) for each in (own, index)):
        is_new = set(own).isdisjoint(index)
    return _beside(called, y, n, None if is_new else index, "label")


def _weights(called: str, weights: Any, n: int, index: Any) -> Floats:
    values = _beside(called, weights, n, index, "number")
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError.about(called, f"must be numbers, got {type(weights).__name__}") from None
    for row in np.flatnonzero(~np.isfinite(numbers) | (numbers < 0))[:1]:
        _hold_to(called, False, f"must be finite and not negative, got {numbers[row]} in row {row + 1:,}")
    _hold_to(called, numbers.any(), "must not all be zero")
    return numbers


def _groups(called: str, groups: Any, n: int, index: Any) -> NDArray[Any]:
    import pandas as pd

    values = _beside(called, groups, n, index, "name")
    n_missing = int(pd.isna(values).sum())
    _hold_to(called, not n_missing, f"must be known for every row, got {n_missing:,} missing")
    return values


def _index_of(values: Any) -> Any:
    """Return the index of a pandas frame or series; None for anything else."""
    index = getattr(values, "index", None)
    return None if callable(index) else index
