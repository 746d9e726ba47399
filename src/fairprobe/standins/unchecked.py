"""Trees, linear models and networks by scikit-learn's own arithmetic, without its checks and threads.

The checks and threads take most of the time for a few rows. The results are equal to the last bit, so ties fall alike.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from fairprobe.arrays import Floats
from fairprobe.model.tabulated import Sums, Tabulated
from fairprobe.standins.compile import Batch, Columns, Compiled, Places, likeliest


def trees(model: Any, columns: Columns) -> Compiled | None:
    """A fitted tree or forest with one label for each row."""
    members = [member.tree_ for member in getattr(model, "estimators_", [model])]
    if model.n_outputs_ != 1 or not members:
        return None
    name = f"forest of {len(members):,} trees" if len(members) > 1 else f"tree of {members[0].n_leaves:,} leaves"
    mean = partial(_mean, members)
    return Compiled(name, partial(likeliest, mean), mean)


def _mean(trees: list[Any], batch: Batch) -> Floats:
    """The mean of the trees' probabilities, summed in scikit-learn's order."""
    total: Floats = np.zeros((len(batch.singles), trees[0].value.shape[2]))
    for tree in trees:
        total += tree.predict(batch.singles)
    total /= len(trees)
    return total


def linear(model: Any, columns: Columns) -> Compiled | None:
    """A fitted linear classifier with one label for each row."""
    n_classes, n_scores = len(model.classes_), len(np.atleast_2d(model.coef_))
    is_plain = np.ndim(model.classes_) == 1 and n_scores == (1 if n_classes == 2 else n_classes)
    if not is_plain:
        return None
    if n_scores == 1 and isinstance(columns.form, Tabulated):
        sums = Sums(columns.form, np.ravel(model.coef_), float(np.ravel(model.intercept_)[0]))
        return Compiled("linear model", partial(_by_sums, model, sums))
    return Compiled("linear model", partial(_by_scores, model))


def _by_scores(model: Any, batch: Batch) -> Places:
    """The places by scores w·x + b, one whose sign counts or one for each class, summed as scikit-learn does."""
    # The weights stay as they are: a copy in another memory order may be summed differently, and a tie may differ.
    scores = batch.doubles @ model.coef_.T + model.intercept_
    return np.asarray(scores.argmax(axis=1) if scores.size > len(scores) else scores.ravel() > 0)


def _by_sums(model: Any, sums: Sums, batch: Batch) -> Places:
    """The places by what each level adds to the score. Only close calls need scikit-learn's own sums."""
    scores = (sums.families(batch.codes) if batch.with_twins else sums.rows(batch.codes)).reshape(-1)
    places = scores > 0
    close = np.abs(scores) <= sums.error
    if close.any():
        places[close] = np.asarray(_by_scores(model, batch))[close]
    return places


def network(model: Any, columns: Columns) -> Compiled | None:
    """A fitted multi-layer perceptron with one label for each row."""
    n_classes = len(model.classes_)
    n_outputs = 1 if n_classes == 2 else n_classes
    is_plain = np.ndim(model.classes_) == 1 and n_classes > 1 and model.n_outputs_ == n_outputs
    one_label = model.out_activation_ == ("logistic" if n_outputs == 1 else "softmax")
    name = f"network of {len(model.coefs_):,} layers"
    return Compiled(name, partial(_by_layers, model)) if is_plain and one_label else None


def _by_layers(model: Any, batch: Batch) -> Places:
    # Private in scikit-learn, but its own arithmetic to the last bit; were it another one day, screens would see.
    likely = model._forward_pass_fast(batch.doubles, check_input=False)
    return np.asarray(likely[:, 0] > 0.5 if likely.shape[1] == 1 else likely.argmax(axis=1))
