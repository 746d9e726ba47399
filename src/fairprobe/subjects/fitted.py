"""Subjects fitted on the encoded census, kept on disk from one time to the next."""

from __future__ import annotations

import warnings
from typing import Any

from fairprobe.datasets import load_census
from fairprobe.subjects import cache
from fairprobe.subjects.catalogue import make


def load(name: str) -> Any:
    """Load a subject fitted on the encoded census's training rows, given as an array; every call gives a new object.

    The first time it is fitted, which takes some seconds, and kept in the user's cache folder, or in the folder that
    the environment variable FAIRPROBE_CACHE names. A file there that is damaged or not ours is fitted and written anew.
    """
    made = make(name)
    X, y = load_census(encoded=True, split="train")
    rows, labels = X.to_numpy(), y.to_numpy()
    path = cache.path_for(name, made, rows, labels)
    model = cache.read(path, made, rows, labels)
    if model is None:
        model = _fit(name, made, rows, labels)
        cache.write(path, model)
    return model


def _fit(name: str, made: Any, rows: Any, labels: Any) -> Any:
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        if name == "mlp":
            # The paper's settings end its training at 200 iterations, before it converges.
            warnings.simplefilter("ignore", ConvergenceWarning)
        return made.fit(rows, labels)
