"""Subjects fitted on the encoded census, kept on disk from one time to the next.

A file is believed only if it holds what would be fitted now, and can't run code.
"""

from __future__ import annotations

import hashlib
import os
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from fairprobe.arrays import Codes
from fairprobe.datasets import load_census
from fairprobe.errors import HealthWarning
from fairprobe.files import write_bytes
from fairprobe.subjects.catalogue import make

# To be raised when the same settings and data come to mean another model.
_FORMAT: Final = 1

# What the six subjects are made of beyond what skops trusts by itself.
_TRUSTED: Final = (
    "fairprobe.subjects.fair_svm.FairSVM",
    "sklearn.tree._tree.Tree",
    "sklearn.utils._bunch.Bunch",
)

_ROWS_TRIED: Final = 100


def load(name: str) -> Any:
    """Load a subject fitted on the encoded census's training rows, given as an array; every call gives a new object.

    The first time it is fitted, which takes some seconds, and kept in the user's cache folder, or in the folder that
    the environment variable FAIRPROBE_CACHE names. A file there that is damaged or not ours is fitted and written anew.
    """
    made = make(name)
    X, y = load_census(encoded=True, split="train")
    rows, labels = X.to_numpy(), y.to_numpy()
    path = path_for(name, made, rows, labels)
    model = read(path, made, rows, labels)
    if model is None:
        model = _fit(name, made, rows, labels)
        write(path, model)
    return model


def _fit(name: str, made: Any, rows: Codes, labels: Codes) -> Any:
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        if name == "mlp":
            # The paper's settings end its training at 200 iterations, before it converges.
            warnings.simplefilter("ignore", ConvergenceWarning)
        return made.fit(rows, labels)


def path_for(name: str, made: Any, rows: Codes, labels: Codes) -> Path:
    """Give the file for a subject as made, fitted on these rows: another definition or data have another file."""
    import platformdirs
    import sklearn

    digest = hashlib.sha256(f"{_FORMAT}\n{_definition(made)}\n{rows.shape}\n".encode())
    digest.update(rows.tobytes())
    digest.update(labels.tobytes())
    versions = f"sklearn-{sklearn.__version__}-numpy-{np.__version__}"
    named = os.environ.get("FAIRPROBE_CACHE")
    folder = Path(named) if named else platformdirs.user_cache_path("fairprobe")
    return folder / "subjects" / f"{name}-{versions}-{digest.hexdigest()[:16]}.skops"


def read(path: Path, made: Any, rows: Codes, labels: Codes) -> Any | None:
    """Read a fitted subject, or give None if the file is not there, is damaged or holds anything else."""
    import skops.io
    from sklearn.exceptions import InconsistentVersionWarning

    # There is no telling what a file that anyone may have written makes the readers raise.
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", InconsistentVersionWarning)
            model = skops.io.loads(path.read_bytes(), trusted=list(_TRUSTED))
        return model if _is_fitted_as(model, made, rows, labels) else None
    except Exception:
        return None


def write(path: Path, model: Any) -> None:
    """Write a fitted subject, whole or not at all; a folder that can't be written costs a warning, no more."""
    import skops.io

    data = skops.io.dumps(model, compression=zipfile.ZIP_DEFLATED)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, data)
    except OSError as error:
        warnings.warn(
            f"subject-cache: fitted subjects are kept in a folder that can be written, got {str(path.parent)!r} "
            f"({error.strerror}); they are fitted every time until FAIRPROBE_CACHE names such a folder",
            HealthWarning,
            stacklevel=3,
        )


def _definition(part: Any) -> str:
    """Spell out an estimator's class and parameters, those of the estimators within it too."""
    if hasattr(part, "get_params"):
        params = sorted(part.get_params(deep=False).items())
        inner = ", ".join(f"{name}={_definition(value)}" for name, value in params)
        return f"{type(part).__module__}.{type(part).__qualname__}({inner})"
    if isinstance(part, list | tuple):
        return f"{type(part).__name__}({', '.join(_definition(item) for item in part)})"
    return repr(part)


def _is_fitted_as(model: Any, made: Any, rows: Codes, labels: Codes) -> bool:
    return (
        _definition(model) == _definition(made)
        and model.n_features_in_ == rows.shape[1]
        and np.array_equal(model.classes_, np.unique(labels))
        and all(_is_sound(tree, rows.shape[1]) for tree in _trees(model))
        and set(np.unique(model.predict(rows[:_ROWS_TRIED]))) <= set(model.classes_)
    )


def _trees(model: Any) -> Iterator[Any]:
    if hasattr(model, "tree_"):
        yield model.tree_
    for inner in getattr(model, "estimators_", ()):
        yield from _trees(inner)


def _is_sound(tree: Any, n_features: int) -> bool:
    """Whether a tree's nodes lead only on to later ones: scikit-learn follows them without looking."""
    nodes = np.arange(tree.node_count)
    inner = tree.children_left != -1
    children = np.stack([tree.children_left[inner], tree.children_right[inner]])
    features = tree.feature[inner]
    return bool(
        tree.n_features == n_features
        and ((children > nodes[inner]) & (children < tree.node_count)).all()
        and ((features >= 0) & (features < n_features)).all()
    )
