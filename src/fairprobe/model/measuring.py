"""Measurements of a model by a few queries: repeatability, dependence on the batch, rounding error and speed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Mask
from fairprobe.blocks import Remark
from fairprobe.clock import Clock
from fairprobe.domain.domain import Domain
from fairprobe.errors import FairprobeError, ModelError
from fairprobe.model.asking import Asker
from fairprobe.model.known import known_kind

if TYPE_CHECKING:
    import pandas as pd


SIZES = (1024, 64, 7, 1)
"""Numbers of rows in the batches that are compared. Chosen: numeric libraries use other code for other sizes."""

FEW = 4
"""Largest number of model calls with batches of each size but the first of `SIZES`. Chosen."""

SAFETY = 2.0
"""Factor by which the largest observed difference is multiplied, because other rows may differ by more. Chosen."""

COARSE = 1e-6
"""Largest difference between two answers that rounding explains, as a fraction of the largest output. Chosen."""

ROUNDING: Final = 1e-4
"""Largest difference between answers in batches of different size that rounding explains, as a fraction of the largest
output. Chosen: networks in single precision differ by about 1e-6."""

TOGETHER: Final = 64
"""Number of rows that the check for dependence on the batch asks about together. Chosen."""

BATCHES: Final = 2
"""Number of batches of another size that the check for dependence on the batch sends. Chosen."""

OTHER_SIZE: Final = 7
"""Number of rows in each batch of another size that the check for dependence on the batch sends. Chosen."""

ALONE: Final = 4
"""Number of rows that the check for dependence on the batch asks about alone. Chosen: with the other numbers it sends
146 rows, and at most as many again."""

TIE = 1e-4
"""Distance of a score from the decision boundary, as a fraction of the largest usual score, within which rounding may
decide the label. Chosen."""

MOST_TIES = 64
"""Largest number of rows whose scores are compared with the decision boundary. Chosen."""

SECONDS: Final = 1.0
"""Seconds for which a model is timed, to predict how long judging inputs takes. Chosen."""

GROWTH: Final = 4
"""Factor between the sizes of successive batches when a model is timed. Chosen."""


Ask = Callable[[Codes], NDArray[Any]]
"""Function from row numbers to outputs."""

Numbered = Callable[[Codes], "Codes | pd.DataFrame"]
"""Function from row numbers to rows, as codes or as a DataFrame."""


def resolution_of(asker: Asker, limit: int | None = None, rows: pd.DataFrame | None = None) -> float:
    """Return the numerical resolution: twice the largest difference of a row's output over batch sizes; 0 for labels.

    The model is asked about the rows given, or else about inputs of the domain. Differences of more than the part
    `ROUNDING` of the largest output do not count: `unsteadiness` reports them. `limit` is the number of queries
    available; None for no limit.
    """
    n = SIZES[0] if limit is None else min(SIZES[0], limit // 20)
    if asker.output == "label" or not n or (rows is not None and not len(rows)):
        return 0.0
    at = _numbered(asker, n, np.random.default_rng(0), rows)
    apart = [0.0]
    with asker.afresh():
        whole = asker.ask_any(at(np.arange(n)))
        for size in SIZES[1:]:
            for first in range(0, min(n, FEW * size), size):
                part = np.arange(first, min(n, first + size))
                apart.append(float(np.abs(asker.ask_any(at(part)) - whole[part]).max()))
    return SAFETY * max(number for number in apart if number <= ROUNDING * float(np.abs(whole).max()))


def _numbered(asker: Asker, n: int, rng: np.random.Generator, given: pd.DataFrame | None) -> Numbered:
    """Return the function from row numbers to rows: given ones, or else n random inputs of the domain.

    If there are fewer given rows than numbers, they are repeated in turn.
    """
    if given is not None:
        return lambda places: given.iloc[places % len(given)]
    codes = asker.domain.sample_codes(n, rng)
    return lambda places: codes[places]


def unsteadiness(asker: Asker, limit: int | None = None, rows: pd.DataFrame | None = None) -> tuple[Remark, ...]:
    """Return a remark if a row's answer depends on the rows asked with it, or changes on asking again; else nothing.

    Up to `TOGETHER` rows are asked about together; then half of them in another order with other rows, some in smaller
    batches, and some alone. Models of a class known to answer row by row are not asked. A model that fails gets no
    remark here: the next query raises its error.
    """
    n = TOGETHER if limit is None else min(TOGETHER, limit // 40)
    if known_kind(asker.model) is not None or n < 2 or (rows is not None and not len(rows)):
        return ()
    rng, before = np.random.default_rng(28), asker.n_queries
    if rows is not None:  # in turn with values missing and without, as these may be filled in out of the batch
        rows = rows.iloc[rng.permutation(len(rows))]
        rows = rows.iloc[_in_turn(rows.isna().any(axis=1).to_numpy())]
    try:
        at = _numbered(asker, 2 * n, rng, rows)
        with asker.afresh():
            other, again = _compared(lambda places: asker.ask_any(at(places)), n, rng, is_label=asker.output == "label")
    except FairprobeError:
        return ()
    if again:
        text = f"{again:,} of {n:,} rows got another answer when the same batch was asked again"
        return (Remark("stochastic-model", f"the model answers the same row differently: {text}"),)
    if not len(other) or (asker.output == "label" and are_ties(asker.model, asker.domain, None, at(other))):
        return ()
    text = (
        f"the model's answer to a row depends on the rows that it is asked with: {len(other):,} of {n:,} rows got "
        f"another answer alone, in another order or among others ({asker.n_queries - before:,} queries)"
    )
    return (Remark("batch-dependent-model", text),)


def _compared(ask: Ask, n: int, rng: np.random.Generator, *, is_label: bool) -> tuple[Codes, int]:
    """Return the numbers of the rows whose output differs in another batch, and the number of unstable rows.

    `ask` answers about the rows with the numbers it gets, up to 2n. A row is unstable if its output also differs when
    the same batch is asked again.
    """
    other, again = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    whole = ask(np.arange(n))
    at_most = 0.0 if is_label else ROUNDING * float(np.abs(whole).max())
    turn = _in_turn(whole)
    few = np.array_split(turn[: BATCHES * OTHER_SIZE], BATCHES)
    for batch in filter(len, [rng.permutation(np.arange(n) + n // 2), *few, *turn[:ALONE, None]]):
        mine = np.flatnonzero(batch < n)
        try:
            said = ask(batch)
            other[batch[mine]] |= (here := differ(whole[batch[mine]], said[mine], at_most))
            again[batch[mine]] |= here.any() and differ(said[mine], ask(batch)[mine], at_most)
        except ModelError:  # who fails a second time has an answer only together with others
            with suppress(ModelError):
                ask(batch)
                return np.zeros(0, dtype=np.int64), 0
            other[batch[mine]] = True
            break
    again |= other.any() and differ(whole, ask(np.arange(n)), at_most)
    return np.flatnonzero(other), int(again.sum())


def _in_turn(outputs: NDArray[Any]) -> Codes:
    """Return a permutation of row numbers in which the first few rows cover the different outputs, even rare ones."""
    import pandas as pd

    if outputs.dtype.kind != "f":
        return np.argsort(pd.Series(outputs).groupby(outputs).cumcount().to_numpy(), kind="stable")
    ranked = np.argsort(outputs.reshape(len(outputs), -1)[:, 0], kind="stable")
    return ranked[np.argsort(np.arange(len(ranked)) * ALONE % len(ranked), kind="stable")]


def differ(first: NDArray[Any], second: NDArray[Any], at_most: float) -> Mask:
    """Return a mask of the rows whose outputs differ by more than `at_most`; if it is 0, of all that are not equal."""
    other = np.abs(first - second) > at_most if at_most else first != second
    return np.asarray(other.reshape(len(first), -1).any(axis=1))


def tolerance(outputs: NDArray[Any], resolution: float) -> float:
    """Return the largest difference between two outputs for one row that rounding explains, in units of the outputs."""
    return max(16 * resolution, COARSE * float(np.abs(outputs).max(initial=0.0)))


def are_ties(model: Any, domain: Domain, batch: str | None, rows: Codes | pd.DataFrame) -> bool:
    """Return True if all rows lie so near to the decision boundary that rounding may decide their labels.

    Only the first `MOST_TIES` rows are asked about. False if the model has no scores.
    """
    try:
        asker = Asker(model, domain, output="score", batch=batch)
        if asker.adapter.is_function:
            return False  # it answers with labels, whatever it is asked for
        scores = asker.ask_any(rows[:MOST_TIES])
        usual = asker.ask(domain.sample_codes(MOST_TIES, np.random.default_rng(0)))
    except FairprobeError:
        return False  # without scores there is no telling
    if scores.ndim == 2:
        ranked = np.sort(scores, axis=1)
        margins = ranked[:, -1] - ranked[:, -2]
    else:
        margins = np.abs(scores - (0.5 if asker.gives_probabilities else 0.0))
    return bool((margins <= TIE * np.abs(usual).max(initial=0.0)).all())


def seconds_per_input(judge: Callable[[int], Any], most: int) -> float:
    """Return the seconds that judging one input takes, from the last of several growing batches.

    `judge(n)` judges a batch of n inputs. Batches grow by the factor `GROWTH` up to `most` inputs, for about a second.
    """
    clock, batch = Clock(SECONDS), 1
    while True:
        batch_clock = Clock()
        judge(batch)
        seconds = batch_clock.seconds
        if batch == most or clock.left < GROWTH * seconds:
            return seconds / batch
        batch = min(most, GROWTH * batch)
