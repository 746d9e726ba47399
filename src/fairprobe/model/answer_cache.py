"""A cache of answered rows: exact, as rows are told apart by all their values and types; bounded; off when in doubt."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes

AskRows = Callable[[Codes], NDArray[Any]]
"""Asks about some rows of a batch, by their places."""

SAME: Final = 1e-6
"""As a fraction of the outputs: numbers nearer to each other than this differ by rounding, with the size of a batch."""

_PURE: Final = ("string", "integer", "floating", "boolean", "empty")
"""Columns of objects whose equal values are the same: 1, 1.0 and True are equal, and are not sent alike."""


class AnswerCache:
    """Keeps the answers of the rows asked about last, in two halves: when the young one is full, the old one goes."""

    def __init__(self, capacity: int) -> None:
        self._half = capacity // 2
        self._keys = _RowKeys()
        self._young, self._old = _Half(), _Half()

    def __len__(self) -> int:
        return self._young.n + self._old.n

    @property
    def is_off(self) -> bool:
        """Whether nothing is kept."""
        return self._half < 1

    def answer(self, batch: Any, ask: AskRows, *, afresh: bool) -> NDArray[Any]:
        """The answers of a batch: each row that is not known is asked about once; with `afresh`, all of them."""
        every = np.arange(len(batch))
        keys = None if self.is_off else self._keys.of(batch)
        if keys is None:
            return ask(every)
        young, old = self._young.places(keys), self._old.places(keys)
        if afresh:
            answers = ask(every)
            for half, places in ((self._young, young), (self._old, old)):
                if self._differ(half, places, answers):
                    self.turn_off()
                    return answers
            self._add(keys, answers)
            return answers
        old[young >= 0] = -1
        unknown = np.flatnonzero((young < 0) & (old < 0))
        parts = [(half, places) for half, places in ((self._young, young), (self._old, old)) if (places >= 0).any()]
        known = [(np.flatnonzero(places >= 0), half.take(places[places >= 0])) for half, places in parts]
        if len(unknown):
            new = keys if len(unknown) == len(keys) else [keys[place] for place in unknown.tolist()]
            numbers = dict(zip(new, range(len(new)), strict=True))  # the last of those alike
            if len(numbers) == len(new):
                answers = ask(unknown)
                self._add(new, answers)
            else:
                which = np.fromiter(map(numbers.__getitem__, new), np.int64, len(new))
                once, back = np.unique(which, return_inverse=True)
                some = ask(unknown[once])
                self._add([new[place] for place in once.tolist()], some)
                answers = some[back]
            known.append((unknown, answers))
        return _spread(len(batch), known)

    def turn_off(self) -> None:
        """The model gave a row another answer: what is kept is worth nothing, and so is keeping more."""
        self._half, self._young, self._old = 0, _Half(), _Half()

    def _differ(self, half: _Half, places: Codes, answers: NDArray[Any]) -> bool:
        known = places >= 0
        if not known.any():
            return False
        before, now = half.take(places[known]), answers[known]
        if before.dtype.kind == "f" and now.dtype.kind == "f" and before.shape == now.shape:
            return bool((np.abs(before - now) > SAME * np.abs(before).max()).any())
        return not np.array_equal(before, now)

    def _add(self, keys: list[bytes], answers: NDArray[Any]) -> None:
        if self._young.n + len(keys) > self._half:
            self._old, self._young = self._young, _Half()
        self._young.add(keys[: self._half], answers[: self._half])


class _Half:
    """Answers by key."""

    def __init__(self) -> None:
        self._places: dict[bytes, int] = {}
        self._answers: NDArray[Any] = np.empty(0)
        self.n = 0

    def places(self, keys: list[bytes]) -> Codes:
        """Where each answer is, -1 for none."""
        if not self.n:
            return np.full(len(keys), -1)
        return np.fromiter(map(self._places.get, keys, repeat(-1)), np.int64, len(keys))

    def take(self, places: Codes) -> NDArray[Any]:
        return self._answers[places]

    def add(self, keys: list[bytes], answers: NDArray[Any]) -> None:
        if not self.n or self._answers.shape[1:] != answers.shape[1:]:
            self._places, self._answers, self.n = {}, answers[:0], 0
        end = self.n + len(keys)
        dtype = _common(self._answers, answers)
        if end > len(self._answers) or dtype != self._answers.dtype:
            grown = np.empty((max(end, 2 * len(self._answers)), *answers.shape[1:]), dtype=dtype)
            grown[: self.n] = self._answers[: self.n]
            self._answers = grown
        self._answers[self.n : end] = answers
        self._places.update(zip(keys, range(self.n, end), strict=True))
        self.n = end


class _RowKeys:
    """The key of each row of a batch: the bits of its numbers, a number for each other value, and the dtypes."""

    def __init__(self) -> None:
        self._dtypes: dict[Any, int] = {}
        self._values: dict[Any, int] = {}

    def of(self, batch: Any) -> list[bytes] | None:
        """One a row; None for a batch whose rows can't be told apart for certain."""
        if hasattr(batch, "columns"):
            columns = [batch.iloc[:, place] for place in range(batch.shape[1])]
            kind: Any = (tuple(batch.columns), tuple(map(str, batch.dtypes)))
        else:
            columns, kind = list(batch.T), str(batch.dtype)
        words = np.empty((len(batch), len(columns) + 1), dtype=np.int64)
        words[:, 0] = self._dtypes.setdefault(kind, len(self._dtypes))
        for place, column in enumerate(columns, start=1):
            word = self._words(column)
            if word is None:
                return None
            words[:, place] = word
        return words.view(f"V{words.shape[1] * 8}").ravel().tolist()

    def _words(self, column: Any) -> Codes | None:
        import pandas as pd

        if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iubf":
            numbers = np.asarray(column)
            return numbers.astype(np.float64).view(np.int64) if numbers.dtype.kind == "f" else numbers.astype(np.int64)
        if column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) not in _PURE:
            return None
        places, values = pd.factorize(column)
        known = [self._values.setdefault((type(value), value), len(self._values)) for value in values.tolist()]
        return np.append(np.array(known, dtype=np.int64), -1)[places]


def _common(one: NDArray[Any], other: NDArray[Any]) -> np.dtype[Any]:
    """A dtype that holds the values of both as they are: text and numbers only as objects."""
    if one.dtype == other.dtype:
        return one.dtype
    if "O" in (one.dtype.kind, other.dtype.kind) or (one.dtype.kind == "b") != (other.dtype.kind == "b"):
        return np.dtype(object)
    return np.result_type(one.dtype, other.dtype)


def _spread(n: int, parts: list[tuple[Codes, NDArray[Any]]]) -> NDArray[Any]:
    """Answers by their places in a batch."""
    if len(parts) == 1 and len(parts[0][0]) == n:
        return parts[0][1]
    dtype = parts[0][1].dtype
    for _, answers in parts[1:]:
        dtype = _common(np.empty(0, dtype=dtype), answers)
    whole = np.empty((n, *parts[-1][1].shape[1:]), dtype=dtype)
    for places, answers in parts:
        whole[places] = answers
    return whole
