"""A cache of a model's answers by row, of bounded size. It is disabled once the model gives a row another answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, Final

import numpy as np

SAME: Final = 1e-6
"""Largest difference of two answers that rounding explains, as a fraction of the largest answer. Chosen: sums over
batches of other sizes differ by this much."""


class AnswerCache:
    """Keeps the answers to the last `capacity` different rows. The key is a row as the bytes that are sent."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._known: dict[bytes, Any] = {}

    def __len__(self) -> int:
        return len(self._known)

    @property
    def is_off(self) -> bool:
        """True if the cache keeps no answers."""
        return self._capacity < 1

    def answer(self, keys: Sequence[bytes], ask: Callable[[list[int]], list[Any]], *, afresh: bool) -> list[Any]:
        """Return one answer per key, from the cache or from `ask`, which maps positions in `keys` to answers.

        With `afresh`, `ask` is called for every key. If it contradicts a cached answer, the cache is disabled.
        """
        every = list(range(len(keys)))
        if self.is_off:
            return ask(every)
        answers = [self._known.get(key) for key in keys]
        if afresh:
            now = ask(every)
            known = [place for place in every if answers[place] is not None]
            if known and _differ([answers[place] for place in known], [now[place] for place in known]):
                self._capacity, self._known = 0, {}
            self._add(keys, now)
            return now
        places = {key: place for place, key in enumerate(keys) if answers[place] is None}
        if places:
            new = dict(zip(places, ask(list(places.values())), strict=True))
            answers = [new[key] if answer is None else answer for key, answer in zip(keys, answers, strict=True)]
            self._add(list(new), list(new.values()))
        return answers

    def _add(self, keys: Sequence[bytes], answers: Sequence[Any]) -> None:
        self._known.update(zip(keys, answers, strict=True))
        for key in list(islice(self._known, max(0, len(self._known) - self._capacity))):
            del self._known[key]  # the oldest


def _differ(before: list[Any], now: list[Any]) -> bool:
    """Return True if two lists of answers differ. Floating-point numbers must differ by more than rounding."""
    if before == now:
        return False
    try:
        one, other = np.array(before), np.array(now)
    except ValueError:  # lists of several lengths
        return True
    if one.dtype.kind != "f" or other.dtype.kind != "f" or one.shape != other.shape:
        return True
    return bool((np.abs(one - other) > SAME * np.abs(one).max()).any())
