"""The smallest weighted hinge loss plus squared norm, by a primal-dual interior point method.

The steps are Mehrotra's predictor and corrector (SIAM Journal on Optimization 2(4), 1992). A step costs
n_rows * n_columns², so many rows are no trouble as long as the columns are few.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from fairprobe.arrays import Floats

# How far towards the nearest bound a step may go: all the way would leave the interior.
_SHORT_OF_BOUND: Final = 0.995

# Products that add up to less than this part of the objective are lost in its rounding.
_PRECISION: Final = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Problem:
    """Minimise ``constant + |v|²/2 + sum(costs * max(0, required - signs * (rows @ v + b)))`` over v and b.

    Both signs, -1 and +1, must occur, and all costs must be above 0.
    """

    rows: Floats
    signs: Floats
    costs: Floats
    required: Floats
    constant: float = 0.0


@dataclass(frozen=True)
class Solution:
    """The weights v and the intercept b reached, after how many steps, and whether to the tolerance asked for."""

    weights: Floats
    intercept: float
    n_iter: int
    converged: bool


def solve(problem: Problem, *, tol: float, max_iter: int) -> Solution:
    """Step until the duality gap is at most tol times the objective; the gap bounds what is left to gain.

    Where tol is below what the arithmetic can tell it ends short of it: on and on, quantities that are to be 0 would
    shrink until their quotients overflow, and nothing would be gained.
    """
    margins = np.column_stack([problem.rows, np.ones(len(problem.rows))]) * problem.signs[:, None]
    point = _start(problem)
    n_iter, converged = 0, False
    while n_iter < max_iter and not converged:
        step = _step(margins, point)
        if step is None:
            break
        point = point.moved(step, _SHORT_OF_BOUND * point.room(step))
        n_iter += 1
        primal, dual = _objectives(problem, margins, point)
        converged = primal - dual <= tol * primal
        if 2 * len(margins) * point.distance() <= _PRECISION * primal:
            break
    return Solution(point.solution[:-1], float(point.solution[-1]), n_iter, converged)


class _Point(NamedTuple):
    """Where the method stands, or a step from there.

    A row's margin lacks `lacking` of what is required and has `beyond` more than that, both above 0:
    ``margin + lacking - beyond = required``. Their multipliers are `slackness` and `pressure`, above 0 as well,
    which add up to the row's cost. At the optimum ``pressure * beyond = slackness * lacking = 0``.
    """

    solution: Floats  # (v, b)
    pressure: Floats
    slackness: Floats
    lacking: Floats
    beyond: Floats

    def moved(self, step: _Point, length: float) -> _Point:
        return _Point(*(here + length * change for here, change in zip(self, step, strict=True)))

    def room(self, step: _Point) -> float:
        """Give the share of a step, at most 1, after which the first positive quantity would reach 0."""
        positive = zip(self[1:], step[1:], strict=True)
        return 1.0 / max(1.0, *(float(np.max(-change / here)) for here, change in positive))

    def distance(self) -> float:
        """Give the mean of the products that are 0 at the optimum."""
        return float(self.pressure @ self.beyond + self.slackness @ self.lacking) / (2 * len(self.pressure))


def _start(problem: Problem) -> _Point:
    positive = problem.signs > 0
    share = problem.costs[positive].sum() / problem.costs.sum()
    # The pressures of the two signs balance, and every later step keeps it so.
    pressure = problem.costs * np.where(positive, 1.0 - share, share)
    lacking = np.maximum(problem.required, 0.0) + 1.0
    return _Point(
        solution=np.zeros(problem.rows.shape[1] + 1),
        pressure=pressure,
        slackness=problem.costs - pressure,
        lacking=lacking,
        beyond=lacking - problem.required,
    )


def _objectives(problem: Problem, margins: Floats, point: _Point) -> tuple[float, float]:
    """Give the objective at the point, and the bound on all objectives that its pressures prove."""
    weights = point.solution[:-1]
    missed = np.maximum(problem.required - margins @ point.solution, 0.0)
    primal = problem.constant + weights @ weights / 2 + problem.costs @ missed
    pull = margins[:, :-1].T @ point.pressure
    dual = problem.constant + problem.required @ point.pressure - pull @ pull / 2
    return float(primal), float(dual)


def _step(margins: Floats, point: _Point) -> _Point | None:
    """Give the next step, or None where the arithmetic's precision is used up."""
    penalties = np.append(np.ones(margins.shape[1] - 1), 0.0)
    residual = margins.T @ point.pressure - penalties * point.solution
    give = 1.0 / (point.beyond / point.pressure + point.lacking / point.slackness)
    system = margins.T @ (margins * give[:, None]) + np.diag(penalties)

    def towards(pressing: Floats, slack: Floats) -> _Point:
        """Change pressure * beyond and slackness * lacking by these, to first order."""
        wanted = pressing / point.pressure - slack / point.slackness
        solution = np.asarray(np.linalg.solve(system, residual + margins.T @ (give * wanted)), dtype=np.float64)
        pressure = give * (wanted - margins @ solution)
        return _Point(
            solution=solution,
            pressure=pressure,
            slackness=-pressure,
            lacking=(slack + point.lacking * pressure) / point.slackness,
            beyond=(pressing - point.beyond * pressure) / point.pressure,
        )

    pressing, slack = -point.pressure * point.beyond, -point.slackness * point.lacking
    try:
        with np.errstate(all="ignore"):
            guess = towards(pressing, slack)
            # The less the guess gets nearer, the more the point needs centring: these are the products to aim at.
            before = point.distance()
            centre = before * (point.moved(guess, point.room(guess)).distance() / before) ** 3
            step = towards(
                centre + pressing - guess.pressure * guess.beyond, centre + slack - guess.slackness * guess.lacking
            )
    except np.linalg.LinAlgError:
        return None
    return step if np.isfinite(step.solution).all() and np.isfinite(step.pressure).all() else None
