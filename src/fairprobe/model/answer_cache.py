"""A cache of answered rows: bounded, and off as soon as the model gives a row another answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

Keys = Sequence[bytes]
"""Each row of a batch as it is sent, so that rows which are sent differently are others."""

AskRows = Callable[[list[int]], list[Any]]
"""Asks about some rows of a batch, by their places."""

SAME: Final = 1e-6
"""Largest difference of two numbers that rounding explains, as a fraction of the largest output: sums over batches of
other sizes differ so much. Chosen."""


class AnswerCache:
    """Keeps the answers of the rows asked about last, in two halves: when the young one is full, the old one goes."""

    def __init__(self, capacity: int) -> None:
        self._half = capacity // 2
        self._young: dict[bytes, Any] = {}
        self._old: dict[bytes, Any] = {}

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    @property
    def is_off(self) -> bool:
        """True if no answers are kept."""
        return self._half < 1

    def answer(self, keys: Keys, ask: AskRows, *, afresh: bool) -> list[Any]:
        """The answers of a batch: each unknown row is asked about once; with `afresh`, all rows are sent."""
        every = list(range(len(keys)))
        if self.is_off:
            return ask(every)
        answers = [self._young.get(key, self._old.get(key)) for key in keys]
        if afresh:
            now = ask(every)
            known = [(before, after) for before, after in zip(answers, now, strict=True) if before is not None]
            if known and _differ(*zip(*known, strict=True)):
                self._half, self._young, self._old = 0, {}, {}
            else:
                self._add(keys, now)
            return now
        places = {key: place for place, (key, answer) in enumerate(zip(keys, answers, strict=True)) if answer is None}
        if places:
            new = dict(zip(places, ask(list(places.values())), strict=True))
            answers = [new[key] if answer is None else answer for key, answer in zip(keys, answers, strict=True)]
            self._add(list(new), list(new.values()))
        return answers

    def _add(self, keys: Keys, answers: list[Any]) -> None:
        if len(self._young) + len(keys) > self._half:
            self._old, self._young = self._young, {}
        self._young.update(zip(keys[: self._half], answers[: self._half], strict=True))


def _differ(before: Sequence[Any], now: Sequence[Any]) -> bool:
    """Return True if answers differ; fractions must differ by more than rounding."""
    if list(before) == list(now):
        return False
    try:
        one, other = np.array(before), np.array(now)
    except ValueError:  # lists of several lengths
        return True
    if one.dtype.kind != "f" or other.dtype.kind != "f" or one.shape != other.shape:
        return True
    return bool((np.abs(one - other) > SAME * np.abs(one).max()).any())
