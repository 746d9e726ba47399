"""Subjects fitted on the encoded census, and their cache on disk.

A cached file is used only if it holds the model that would be fitted now. Reading it cannot run code.
"""

from __future__ import annotations

import hashlib
import os
import warnings
import zipfile
from pathlib import Path
from typing import Any, Final

import numpy as np

from fairprobe.arrays import Codes
from fairprobe.datasets import load_census
from fairprobe.errors import HealthWarning
from fairprobe.files import write_bytes
from fairprobe.subjects.catalogue import make

_FORMAT: Final = 2
"""Version of the cache. Increase it when the same settings and data give another model."""

_ROWS_TRIED: Final = 100
"""Rows that a cached model must label, with labels of the data, before it is used; chosen."""


def load(name: str) -> Any:
    """Load a subject fitted on the encoded census's training rows, given as an array. Every call gives a new object.

    The first call fits the subject, which takes some seconds, and writes it to the user's cache folder, or to the
    folder that the environment variable FAIRPROBE_CACHE names. A damaged or foreign file there is replaced.
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
    """The cache file of a subject as made, fitted on these rows. Other settings or rows have another file."""
    import platformdirs
    import sklearn

    digest = hashlib.sha256(f"{_FORMAT}\n{made!r}\n{rows.shape}\n".encode())
    digest.update(rows.tobytes())
    digest.update(labels.tobytes())
    versions = f"sklearn-{sklearn.__version__}-numpy-{np.__version__}"
    named = os.environ.get("FAIRPROBE_CACHE")
    folder = Path(named) if named else platformdirs.user_cache_path("fairprobe")
    return folder / "subjects" / f"{name}-{versions}-{digest.hexdigest()[:16]}.skops"


def read(path: Path, made: Any, rows: Codes, labels: Codes) -> Any | None:
    """Read a fitted subject, or give None if the file is missing, damaged or holds anything else."""
    from sklearn.exceptions import InconsistentVersionWarning

    from fairprobe.model import load_model

    # Anyone may have written the file, so reading it may raise anything.
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", InconsistentVersionWarning)
            model = load_model(path)
        return model if _is_fitted_as(model, made, rows, labels) else None
    except Exception:
        return None


def write(path: Path, model: Any) -> None:
    """Write a fitted subject, whole or not at all. If the folder cannot be written, warn."""
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


def _is_fitted_as(model: Any, made: Any, rows: Codes, labels: Codes) -> bool:
    return (
        type(model) is type(made)
        and repr(model) == repr(made)
        and model.n_features_in_ == rows.shape[1]
        and np.array_equal(model.classes_, np.unique(labels))
        and set(np.unique(model.predict(rows[:_ROWS_TRIED]))) <= set(model.classes_)
    )
