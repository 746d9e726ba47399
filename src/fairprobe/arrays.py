"""The arrays that go through all rooms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]
"""Inputs inside the package: a row an input, a column a parameter, the number of its level. Also any whole numbers."""

Mask = NDArray[np.bool_]
"""Boolean mask over the inputs of a batch."""

Floats = NDArray[np.float64]


class WithoutTables:
    """A dataclass that is pickled without its cached tables, which are computed again where they are needed."""

    def __getstate__(self) -> dict[str, Any]:
        """The fields by name."""
        return {name: getattr(self, name) for name in getattr(self, "__dataclass_fields__", ())}


def distinct_rows(codes: Codes) -> Codes:
    """The distinct rows of a matrix, in lexicographic order.

    `numpy.unique` with an axis compares structured arrays, which turns a Ctrl-C that comes meanwhile into a TypeError.

    >>> distinct_rows(np.array([[1, 0], [0, 1], [1, 0]])).tolist()
    [[0, 1], [1, 0]]
    """
    ordered = codes[np.lexsort(codes.T[::-1])] if codes.size else codes[:1]
    is_new = np.ones(len(ordered), dtype=bool)
    is_new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return np.asarray(ordered[is_new])
