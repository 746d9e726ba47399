"""Models whose discriminatory inputs are planted, and trainers that keep what they were given."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
from sklearn.base import clone

from fairprobe import Domain, Integer, retrain
from fairprobe.arguments import filled
from fairprobe.retraining.augmenting import augmented
from fairprobe.retraining.retraining import RetrainSettings, Task

SIDE = 20
DOMAIN = Domain([Integer("x", 0, SIDE - 1), Integer("z", 0, SIDE - 1), Integer("sex", 0, 1)], ["sex"])
"""400 cells of x and z, each a family of two."""

QUICK = {"n_select": 2000, "n_report": 2000, "max_seconds": None, "search_seconds": 20, "controls": False}


def settings_of(**given):
    """The settings of `retrain`, its defaults but for what is given."""
    return RetrainSettings(**filled(retrain, given))


def augmented_rows(domain, rows, recipe, rng, cases=(), labeller=None):
    """The rows that a recipe makes of training rows, with as many of the cases as it asks for."""
    its = {"domain": rows.domain, "linked": domain, "classes": np.unique(rows.labels)}
    task = SimpleNamespace(parts=SimpleNamespace(fit=rows), **its)
    if recipe.uses_cases:
        cases = cases[rng.permutation(len(cases))[: recipe.n_cases(len(rows))]]
    return augmented(task, recipe, cases, labeller, rng)


def task_of(model, X, y, **given):
    """The task of `retrain`, with all its defaults but for what is given."""
    data = {"model": model, "X": X, "y": y, "domain": DOMAIN}
    return Task(data | filled(retrain, given | {"trainer": Script(model)}, data))


_ORDER = np.random.default_rng(42).permutation(SIDE * SIDE)


def cells(first, end):
    """Cells number `first` to `end`, in an order that is strewn over the grid: fewer of them lie within more."""
    grid = np.zeros(SIDE * SIDE, dtype=bool)
    grid[_ORDER[first:end]] = True
    return grid.reshape(SIDE, SIDE)


def truth(x):
    return np.asarray(x) >= SIDE // 2


def rows(n, seed):
    """Rows spread evenly over the domain, labelled without regard to sex."""
    frame = DOMAIN.sample(n, seed=seed)
    return frame, truth(frame["x"]).astype(int)


class Planted:
    """The truth, but in `cases` wrong for sex 1, and in `wrong` for everyone."""

    def __init__(self, cases=None, wrong=None):
        nowhere = np.zeros((SIDE, SIDE), dtype=bool)
        self.cases = nowhere if cases is None else cases
        self.wrong = nowhere if wrong is None else wrong

    def predict(self, batch):
        x, z, sex = np.asarray(batch).astype(int).T
        return (truth(x) ^ self.wrong[x, z] ^ (self.cases[x, z] & (sex == 1))).astype(int)


class Script:
    """A trainer that learns nothing: it gives what is listed in turn, the last again and again, and raises errors."""

    def __init__(self, *given):
        self.given = list(given)
        self.calls = []

    def __call__(self, X, y, **options):
        self.calls.append((X, y, options))
        given = self.given[min(len(self.calls), len(self.given)) - 1]
        if isinstance(given, BaseException):
            raise given
        return given


class Keeping:
    """A trainer that fits clones of an estimator and keeps the rows that each was fitted on."""

    def __init__(self, estimator):
        self.estimator = estimator
        self.calls = []

    def __call__(self, X, y, **options):
        self.calls.append((X.copy(), np.array(y), options))
        return clone(self.estimator).fit(X, y, **options)


class Outside:
    """Treats people alike in the domain, and sex apart where x is above it: only rows can show that."""

    def predict(self, batch):
        x, _, sex = np.asarray(batch).astype(int).T
        return ((x >= SIDE) & (sex == 1)).astype(int)


def noisy_rows(n, seed, side=SIDE, noise=0.12):
    """Rows whose labels do not depend on sex, but are wrong now and then: a tree learns these by heart, sex and all."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name: rng.integers(0, side, n) for name in ("x", "z")} | {"sex": rng.integers(0, 2, n)})
    return frame, ((frame["x"] + frame["z"] >= side) ^ (rng.random(n) < noise)).astype(int).to_numpy()
