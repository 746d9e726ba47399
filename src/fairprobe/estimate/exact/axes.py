"""Axes: the levels of one parameter, gathered into cells that no test of a tree tells apart.

A box holds a set of cells of every axis: from one to another where all tests cut the cells in one order, otherwise any
set, as bits. Either is a few machine integers, its slots, so that many boxes are cut at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats, Mask

Slots = Codes
Answers = NDArray[np.int32]
"""Tests' answers, each in the form that its axis takes."""


@dataclass(frozen=True)
class Tests:
    """Distinct tests on the columns of one parameter: whether a column is at most a threshold."""

    columns: Codes
    thresholds: Floats
    missing_left: Mask
    """Whether the answer for a missing value is yes."""

    def answers(self, rows: NDArray[Any], columns: Codes) -> Mask:
        """By test, then row, the answer; `columns` says which of the estimator's columns the rows have."""
        values = rows[:, np.searchsorted(columns, self.columns)].T
        return np.where(np.isnan(values), self.missing_left[:, None], values <= self.thresholds[:, None])


class Axis(Protocol):
    """One parameter's cells."""

    @property
    def n_slots(self) -> int:
        """How many slots of a box it takes."""

    @property
    def n_levels(self) -> int:
        """How many levels there are."""

    def whole(self) -> Slots:
        """The slots of a box that holds all cells."""

    def cut(self, slots: Slots, answers: Answers) -> tuple[Slots, Slots, Mask, Mask]:
        """Boxes cut by a test each: where the answer is yes, where it is no, and whether there is anything."""

    def count(self, slots: Slots) -> Codes:
        """How many levels each box holds."""

    def level(self, slots: Slots) -> Codes:
        """One level out of each box."""


@dataclass(frozen=True)
class RangeAxis:
    """Cells in an order that all tests keep: yes up to some cell, no from there on."""

    counts: Codes
    levels: Codes
    """One level of each cell."""

    @property
    def n_slots(self) -> int:
        """The first cell, and the one behind the last."""
        return 2

    @cached_property
    def _ends(self) -> Codes:
        return np.concatenate([[0], np.cumsum(self.counts)])

    @property
    def n_levels(self) -> int:
        """How many levels there are."""
        return int(self._ends[-1])

    def whole(self) -> Slots:
        """From the first cell to behind the last."""
        return np.array([0, len(self.counts)])

    def cut(self, slots: Slots, answers: Answers) -> tuple[Slots, Slots, Mask, Mask]:
        """An answer is the first cell for which it is no."""
        low, high = slots[:, 0], slots[:, 1]
        left = np.column_stack([low, np.minimum(high, answers)])
        right = np.column_stack([np.maximum(low, answers), high])
        return left, right, low < answers, high > answers

    def count(self, slots: Slots) -> Codes:
        """How many levels each box holds."""
        return np.asarray(self._ends[slots[:, 1]] - self._ends[slots[:, 0]])

    def level(self, slots: Slots) -> Codes:
        """A level of the first cell."""
        return self.levels[slots[:, 0]]


@dataclass(frozen=True)
class SetAxis:
    """Cells in no order; a box's slots are bits."""

    counts: Codes
    levels: Codes
    """One level of each cell."""
    masks: Codes
    """By test, the cells whose answer is yes."""

    @property
    def n_slots(self) -> int:
        """Words of 64 bits."""
        return self.masks.shape[1]

    @property
    def n_levels(self) -> int:
        """How many levels there are."""
        return int(self.counts.sum())

    def whole(self) -> Slots:
        """All cells' bits."""
        return pack(np.ones((1, len(self.counts)), dtype=bool))[0]

    def cut(self, slots: Slots, answers: Answers) -> tuple[Slots, Slots, Mask, Mask]:
        """An answer is the number of a mask."""
        left = slots & self.masks[answers]
        right = slots & ~self.masks[answers]
        return left, right, np.asarray(left.any(axis=1)), np.asarray(right.any(axis=1))

    def count(self, slots: Slots) -> Codes:
        """How many levels each box holds."""
        return self._bits(slots).astype(np.int64) @ self.counts

    def level(self, slots: Slots) -> Codes:
        """A level of the first cell."""
        return self.levels[self._bits(slots).argmax(axis=1)]

    def _bits(self, slots: Slots) -> NDArray[np.uint8]:
        octets = np.ascontiguousarray(slots).view(np.uint8)
        return np.unpackbits(octets, axis=1, bitorder="little")[:, : len(self.counts)]


def pack(answers: Mask) -> Codes:
    """Rows of truth values as words of 64 bits."""
    octets = np.packbits(answers, axis=1, bitorder="little")
    n_missing = -octets.shape[1] % 8
    return np.pad(octets, [(0, 0), (0, n_missing)]).view(np.int64)
