"""The types of arrays that all packages share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]
"""Inputs inside the package: one row per input, one column per parameter, the values are codes. Also any whole
numbers."""

Mask = NDArray[np.bool_]
"""Boolean mask over the inputs of a batch."""

Floats = NDArray[np.float64]

WORD = 2**63 - 1
"""The largest number of a 64-bit word."""


class WithoutTables:
    """Base class of dataclasses that are pickled without cached tables, which are recomputed when needed."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields by name."""
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


def words(columns: Iterable[int], levels: Codes) -> list[list[int]]:
    """Return groups of columns, such that one 64-bit word can number the combinations of each group."""
    groups: list[list[int]] = [[]]
    room = WORD
    for column in columns:
        if levels[column] > room:
            groups.append([])
            room = WORD
        room //= int(levels[column])
        groups[-1].append(column)
    return groups


def uniform_rows(n: int, levels: Codes, rng: np.random.Generator) -> Codes:
    """Return `n` rows of codes drawn uniformly.

    One draw per word is split into codes, which is three times as fast as single draws.
    """
    codes = np.empty((n, len(levels)), dtype=np.int64)
    for columns in words(range(len(levels)), levels):
        sizes = [int(levels[column]) for column in columns]
        rest = rng.integers(0, math.prod(sizes), size=n)
        for column, size in zip(reversed(columns), reversed(sizes), strict=True):
            quotient = rest // size
            codes[:, column] = rest - quotient * size
            rest = quotient
    return codes


def block_of_rows(number: int, size: int, levels: Sequence[int]) -> Codes:
    """Return one block, from 0 on, of at most `size` rows; the blocks together list all combinations of codes."""
    index = np.arange(number * size, min((number + 1) * size, math.prod(levels)))
    return np.column_stack(np.unravel_index(index, levels)).astype(np.int64)
