"""What asking a model a little tells: whether it repeats itself, and to within what; and how long it takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes
from fairprobe.domain.domain import Domain
from fairprobe.errors import FairprobeError
from fairprobe.model.asking import Asker

if TYPE_CHECKING:
    import pandas as pd

SIZES = (1024, 64, 7, 1)
"""Rows asked about at a time: other sizes take other ways through a model's arithmetic."""

FEW = 4
"""So many calls of each size are enough."""

SAFETY = 2.0
"""Rows that were not looked at may be off by a little more."""

COARSE = 1e-6
"""As a fraction of the outputs: what differs by more is no rounding, not even in single precision."""

TIE = 1e-4
"""As a fraction of the scores: so near to the boundary, rounding may decide in single precision."""

MOST_TIES = 64

SECONDS: Final = 1.0
GROWTH: Final = 4
"""How long a model is timed, by batches of which each is so many times as large as the one before."""


def resolution_of(asker: Asker, limit: int | None = None, rows: pd.DataFrame | None = None) -> float:
    """How far apart the outputs for one row are when asked in batches of different size, at the most.

    The model is asked about the rows given, where there are some, else about inputs of the domain. Labels are names,
    so they have none. What is so far apart that it can't be rounding does not count: such a model is found out by
    asking about its cases again.
    """
    n = SIZES[0] if limit is None else min(SIZES[0], limit // 20)
    if asker.output == "label" or not n or (rows is not None and not len(rows)):
        return 0.0
    codes = asker.domain.sample_codes(n, np.random.default_rng(0)) if rows is None else np.empty(0, dtype=np.int64)

    def ask(part: slice) -> NDArray[Any]:
        return asker.ask(codes[part]) if rows is None else asker.ask_frame(rows.iloc[np.arange(n)[part] % len(rows)])

    apart = [0.0]
    with asker.afresh():
        whole = ask(slice(None))
        scale = float(np.abs(whole).max())
        for size in SIZES[1:]:
            for first in range(0, min(n, FEW * size), size):
                part = slice(first, first + size)
                apart.append(float(np.abs(ask(part) - whole[part]).max()))
    return SAFETY * max((number for number in apart if number <= COARSE * scale), default=0.0)


def tolerance(outputs: NDArray[Any], resolution: float) -> float:
    """How far apart two answers for one row may be and still be the same but for rounding."""
    return max(16 * resolution, COARSE * float(np.abs(outputs).max(initial=0.0)))


def are_ties(model: Any, domain: Domain, batch: str | None, rows: Codes | pd.DataFrame) -> bool:
    """Whether all these rows lie so near to the decision boundary that rounding may decide their labels."""
    try:
        asker = Asker(model, domain, output="score", batch=batch)
        if asker.adapter.is_function:
            return False  # it answers with labels, whatever it is asked for
        scores = asker.ask(rows[:MOST_TIES]) if isinstance(rows, np.ndarray) else asker.ask_frame(rows[:MOST_TIES])
        usual = asker.ask(domain.sample_codes(MOST_TIES, np.random.default_rng(0)))
    except FairprobeError:
        return False  # without scores there is no telling
    if scores.ndim == 2:
        ranked = np.sort(scores, axis=1)
        margins = ranked[:, -1] - ranked[:, -2]
    else:
        margins = np.abs(scores - (0.5 if asker.adapter.gives_probabilities else 0.0))
    return bool((margins <= TIE * np.abs(usual).max(initial=0.0)).all())


@dataclass(frozen=True)
class Measured:
    """What some batches told."""

    n_inputs: int
    hits: int
    per_input: float
    """Seconds an input, in the last batch."""
    last: float
    """Seconds of the last batch."""


def measured(judge: Callable[[int], int], most: int, *, first: int = 1) -> Measured:
    """Judge growing batches, up to a size, for about a second; `judge` judges so many inputs and gives the hits."""
    begun = time.perf_counter()
    batch, n_inputs, hits = min(first, most), 0, 0
    while True:
        asked = time.perf_counter()
        hits += judge(batch)
        seconds = time.perf_counter() - asked
        n_inputs += batch
        left = SECONDS - (time.perf_counter() - begun)
        if batch == most or left < GROWTH * seconds:
            return Measured(n_inputs, hits, seconds / batch, seconds)
        batch = min(most, GROWTH * batch)
