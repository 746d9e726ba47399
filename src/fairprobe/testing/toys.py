"""Toy models with planted discriminatory inputs, whose share of the domain is known exactly.

Every toy is a model, its domain, and the share as a fraction. The models are plain callables that take a batch. They
can be sent to another process, and compute with numbers that floats hold exactly. `CountingModel` wraps any model and
counts its queries.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.domain import Category, Domain, Integer, Ordinal, Parameter, Real
from fairprobe.model.adapters import Wrapper

if TYPE_CHECKING:
    import pandas as pd

Batch = NDArray[Any]
Rule = Callable[[Any], Mask]
"""Function from a batch to a mask of its discriminatory rows, which does not use the sensitive values."""


@dataclass(frozen=True)
class Toy:
    """A toy: a model with planted discriminatory inputs, its domain, and their share of the domain.

    >>> toy = box(n_free=2, levels=10, low=3, high=4)
    >>> toy.share
    Fraction(1, 25)
    >>> from fairprobe.searching import search
    >>> search(toy.model, toy.domain, max_cases=None, **toy.settings).n_cases
    4
    """

    model: Callable[[Any], Any]
    domain: Domain
    share: Fraction
    """Fraction of the inputs of the domain that are discriminatory; also the fraction of the families."""
    is_case: Rule
    """Function from a batch to the true mask of its discriminatory rows."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Arguments for `search` and `estimate` beyond model and domain: output and threshold; empty for labels."""

    @property
    def n_cases(self) -> int:
        """Number of discriminatory families in the domain, known exactly."""
        n_families = self.domain.n_families
        assert n_families is not None  # no toy is too large to be counted
        return int(self.share * n_families)

    def batch(self, frame: pd.DataFrame) -> Any:
        """Return a DataFrame in the form that the toy's model takes: an array if all columns are numbers."""
        return frame.to_numpy() if all(parameter.is_numeric for parameter in self.domain.parameters) else frame


# Rules: where a toy discriminates


def _is_inside(X: Batch, n_free: int, low: int, high: int) -> Mask:
    """Return a mask of the rows whose first `n_free` columns all lie between `low` and `high`."""
    free = X[:, :n_free]
    return np.asarray(((free >= low) & (free <= high)).all(axis=1))


def _is_first_above(X: Batch, bound: Fraction) -> Mask:
    """Return a mask of the rows whose first column is above `bound`."""
    return np.asarray(X[:, 0] > bound)


def _depends_on_sex(frame: pd.DataFrame) -> Mask:
    """Return a mask of the rows whose label depends on sex: clerks aged 30 or older whose `rate` is 0.5 or more."""
    job, rate, age = (frame[name].to_numpy() for name in ("job", "rate", "age"))
    return np.asarray((job == "clerk") & (rate >= 0.5) & (age >= 30))


# Models


def _label(X: Batch, rule: Rule, middle: float, group: int) -> Codes:
    """Return labels, 1 if the first column is at least `middle`; where the rule holds, `group` gets the other label."""
    label = X[:, 0] >= middle
    return (label ^ (rule(X) & (X[:, -1] == group))).astype(np.int64)


def _say_no_to(X: Batch, rule: Rule, combination: tuple[int, ...]) -> NDArray[Any]:
    """Return labels: "no" where the rule holds and the last columns equal `combination`, otherwise "yes"."""
    odd = (X[:, -len(combination) :] == combination).all(axis=1)
    return np.where(rule(X) & odd, "no", "yes")


def _shift_two(X: Batch, rule: Rule, more: tuple[int, ...], less: tuple[int, ...]) -> Floats:
    """Return scores: the first column; where the rule holds, plus 1/2 for `more` and minus 1/2 for `less`.

    `more` and `less` are combinations of values of the last columns.
    """
    tail = X[:, -len(more) :]
    sign = (tail == more).all(axis=1) * 1.0 - (tail == less).all(axis=1)
    return np.asarray(X[:, 0] + 0.5 * rule(X) * sign)


def _score(X: Batch, levels: int) -> Floats:
    """Return scores: the second column; for group 1, the first column divided by `levels` is added."""
    return np.asarray(X[:, 1] + X[:, 0] / levels * (X[:, -1] == 1))


def _probabilities(X: Batch, levels: int) -> Floats:
    """Return probabilities of three classes: 1/2, 1/4, 1/4.

    For group 1, the first column divided by `2 * levels` moves from the first class to the third.
    """
    shift = X[:, 0] / (2 * levels) * (X[:, -1] == 1)
    return np.column_stack([0.5 - shift, np.full(len(X), 0.25), 0.25 + shift])


def _lend(frame: pd.DataFrame) -> NDArray[Any]:
    """Return a label for each row: "lend" to people aged 30 or older, and "refuse" to all others.

    Female clerks whose column `rate` is 0.5 or more are refused at any age.
    """
    refused = _depends_on_sex(frame) & (frame["sex"].to_numpy() == "Female")
    return np.where((frame["age"].to_numpy() >= 30) & ~refused, "lend", "refuse")


# Toys


def box(n_free: int = 3, levels: int = 10, low: int = 2, high: int = 4, n_groups: int = 2) -> Toy:
    """Return a toy that is discriminatory exactly where all free parameters lie between `low` and `high`."""
    share = Fraction(max(0, min(high, levels - 1) - max(low, 0) + 1), levels) ** n_free
    return _labels(partial(_is_inside, n_free=n_free, low=low, high=high), share, n_free, levels, n_groups)


def never(n_free: int = 3, levels: int = 10) -> Toy:
    """Return a toy without discriminatory inputs."""
    return box(n_free, levels, low=1, high=0)


def odd_one_out(odd: tuple[int, int] = (1, 3), n_free: int = 2, levels: int = 10) -> Toy:
    """Return a toy that refuses one of ten sensitive combinations, `odd`, where all free parameters are below 3."""
    rule, share, domain = _corner(n_free, levels)
    return Toy(partial(_say_no_to, rule=rule, combination=odd), domain, share, rule)


def pair(more: tuple[int, int] = (0, 1), less: tuple[int, int] = (1, 3), n_free: int = 2, levels: int = 10) -> Toy:
    """Return a toy with ten sensitive combinations of which only two, `more` and `less`, exceed the threshold.

    The gap between either of them and any other combination is below the threshold. Comparing neighbouring combinations
    only would find nothing.
    """
    rule, share, domain = _corner(n_free, levels)
    model = partial(_shift_two, rule=rule, more=more, less=less)
    return Toy(model, domain, share, rule, {"output": "score", "threshold": 0.75})


def score(levels: int = 8, threshold: Fraction | float = 0.5) -> Toy:
    """Return a toy with scores whose gaps are 0, 1/levels, 2/levels, ..., each equally frequent among families."""
    return _graded(partial(_score, levels=levels), "score", levels, threshold, Fraction(threshold) * levels)


def proba(levels: int = 8, threshold: Fraction | float = 0.25) -> Toy:
    """Return a toy with probabilities of three classes and gaps 0, 1/(2 levels), ...; the second class has no gap."""
    return _graded(partial(_probabilities, levels=levels), "proba", levels, threshold, Fraction(threshold) * 2 * levels)


def loans() -> Toy:
    """Return a toy with text, boolean, fractional and missing values, whose model takes a DataFrame."""
    jobs, rates = ("clerk", "farmer", "nurse", "smith"), Real("rate", 0, 1, 0.25, missing=True)
    age, school = Integer("age", 20, 59, moves=(-10, -1, 1, 10)), Ordinal("school", ("none", "some", "much"))
    owner, sex = Category("owner", (False, True)), Category("sex", ("Female", "Male"))
    domain = Domain([Category("job", jobs), rates, age, school, owner, sex], sensitive=["sex"])
    share = Fraction(1, len(jobs)) * Fraction(3, rates.levels) * Fraction(30, 40)
    return Toy(_lend, domain, share, _depends_on_sex)


FACTORIES: dict[str, Callable[[], Toy]] = {
    factory.__name__.replace("_", "-"): factory for factory in (box, never, odd_one_out, pair, score, proba, loans)
}


def all_toys() -> list[tuple[str, Toy]]:
    """Return pairs of a name and a toy, for every kind of toy with default arguments."""
    return [(name, factory()) for name, factory in FACTORIES.items()]


def _labels(rule: Rule, share: Fraction, n_free: int, levels: int, n_groups: int = 2) -> Toy:
    model = partial(_label, rule=rule, middle=levels / 2, group=n_groups - 1)
    return Toy(model, _domain(n_free, levels, n_groups), share, rule)


def _domain(n_free: int, levels: int, n_groups: int) -> Domain:
    return Domain([*_free(n_free, levels), Integer("group", 0, n_groups - 1)], sensitive=["group"])


def _free(n_free: int, levels: int) -> list[Parameter]:
    return [Integer(f"x{number}", 0, levels - 1) for number in range(n_free)]


def _corner(n_free: int, levels: int) -> tuple[Rule, Fraction, Domain]:
    """Return three things: the rule "all free parameters are below 3", its share, and a domain.

    The domain has the sensitive parameters sex and race, with ten combinations.
    """
    parameters = [*_free(n_free, levels), Integer("sex", 0, 1), Integer("race", 0, 4)]
    share = Fraction(min(3, levels), levels) ** n_free
    return partial(_is_inside, n_free=n_free, low=0, high=2), share, Domain(parameters, sensitive=["sex", "race"])


def _graded(model: Callable[[Any], Any], output: str, levels: int, threshold: Any, bound: Fraction) -> Toy:
    """Return a toy of a given model whose gap grows with the first parameter, above the threshold beyond `bound`."""
    if levels < 2 or not math.log2(levels).is_integer():
        raise ValueError(f"levels must be a power of two, so that floats hold the gaps exactly, got {levels!r}")
    share = Fraction(sum(value > bound for value in range(levels)), levels)
    settings = {"output": output, "threshold": float(threshold)}
    return Toy(model, _domain(2, levels, 2), share, partial(_is_first_above, bound=bound), settings)


# Counting


class CountingModel(Wrapper):
    """Wrapper that gives a model's answers and counts the calls and rows.

    Args:
        model: anything with `predict`, or a callable.
        fail_after: number of rows. The call that exceeds it, and all later calls, raise an error; None never raises.
        delay: seconds to sleep in each call.

    >>> model = CountingModel(lambda batch: [0 for row in batch])
    >>> answer = model([[1, 2], [3, 4], [5, 6]])
    >>> model.n_calls, model.n_rows
    (1, 3)
    """

    def __init__(self, model: Any, *, fail_after: int | None = None, delay: float = 0.0) -> None:
        super().__init__(model)
        self.fail_after = fail_after
        self.delay = delay
        self.n_calls = 0
        """Number of calls of the model, including calls that raised an error."""
        self.n_rows = 0
        """Number of rows sent to the model, including those of calls that raised an error."""

    def _ask(self, function: Any, batch: Any) -> Any:
        self.n_calls += 1
        self.n_rows += len(batch)
        if self.delay:
            time.sleep(self.delay)
        if self.fail_after is not None and self.n_rows > self.fail_after:
            raise RuntimeError(f"this model fails after {self.fail_after:,} rows, got {self.n_rows:,}")
        return function(batch)
