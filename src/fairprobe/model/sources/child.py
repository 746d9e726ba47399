"""The code that runs in the process of an isolated model: it loads the model and answers batches.

The process receives pickles from its parent, which it trusts. It is not trusted itself, so it answers in JSON and plain
arrays.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import pickle
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from fairprobe.errors import FairprobeError, HealthWarning
from fairprobe.model.categories import xgboost_categories
from fairprobe.model.known import works_on_float32
from fairprobe.model.sklearn import is_regressor
from fairprobe.model.sources.isolated import METHODS, PLAIN
from fairprobe.model.sources.load import load_model
from fairprobe.model.sources.node_checks import quieten
from fairprobe.model.sources.reading import read_content, shortened
from fairprobe.model.torch import TorchAdapter, ask_module


def main(missing: list[str]) -> None:
    """Load the model that the first message names, send its description, and answer all further messages.

    `missing` are the abilities that could not be taken from this process; see `containment.shut_in`.
    """
    tempfile.tempdir = os.environ["TMPDIR"]  # Python would look for one that takes bytes: none does
    asked, told = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)  # for whatever a loader prints, or wants to read
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    job = pickle.loads(_message(asked))
    model: list[Any] = []

    def load() -> tuple[Any, bytes]:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            model.append(_loaded(job))
        texts = [str(each.message) for each in said if issubclass(each.category, HealthWarning)]
        return {**_described(model[0]), "missing": missing, "warnings": texts}, b""

    _answer(told, load)
    while model and (message := _message(asked)):
        _answer(told, partial(_asked, model[0], message))
    os._exit(0)  # what was loaded is not asked how it wants to end


def _loaded(job: Mapping[str, Any]) -> Any:
    if "source" in job:  # the user's own module
        os.chdir(job["here"])
        return load_model(job["source"], weights=job["weights"])
    with contextlib.suppress(ImportError, ValueError, OSError):  # the limit is on memory beyond what is in use
        import resource

        most = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + job["bytes"]
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    model = read_content(job["module"], job["content"], job["permission"])
    quieten(model)
    return model


def _described(model: Any) -> dict[str, Any]:
    """Return the names of a model's methods, and the attributes that an adapter reads, as plain values."""
    is_torch = TorchAdapter.accepts(model)
    told: dict[str, Any] = {
        "__name__": getattr(model, "__name__", type(model).__name__),
        "is_torch_": is_torch,
        "is_regressor_": is_regressor(model),
        "works_on_float32_": not is_torch and works_on_float32(model),
    }
    for name in ("classes_", "feature_names_in_"):
        if isinstance(given := getattr(model, name, None), np.ndarray):
            told[name] = list(map(_plain_label, given.tolist()))
    if isinstance(n := getattr(model, "n_features_in_", None), (int, np.integer)):
        told["n_features_in_"] = int(n)
    categories = getattr(model, "categories_in_", None)
    if categories is None and hasattr(model, "get_booster"):
        categories = xgboost_categories(model.get_booster(), list(getattr(model, "feature_names_in_", ())))
    if categories:
        told["categories_in_"] = {name: list(map(_plain_label, values)) for name, values in categories.items()}
    return {"has": [name for name in METHODS if callable(getattr(model, name, None))], "attributes": told}


def _asked(model: Any, message: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the packed answer to a message: a method's name, a batch, and the caller's scikit-learn settings."""
    method, batch, config = pickle.loads(message)
    if method.startswith("torch:"):
        return _packed(ask_module(model, method.removeprefix("torch:"), batch))
    ask: Callable[[Any], Any] = model if method == "__call__" else getattr(model, method)
    sklearn = sys.modules.get("sklearn") if config else None
    with sklearn.config_context(**config) if sklearn is not None else contextlib.nullcontext():
        return _packed(ask(batch))


def _answer(told: IO[bytes], work: Callable[[], tuple[Any, bytes]]) -> None:
    """Send the result of `work` to the parent process, or the error that it raised."""
    try:
        said, data = work()
    except BaseException as error:
        text = str(error) if isinstance(error, FairprobeError) else shortened(error).partition(": ")[2]
        text = "more memory than it may take" if isinstance(error, MemoryError) else text
        said, data = {"error": type(error).__name__, "message": text}, b""
    head = json.dumps(said).encode()
    with contextlib.suppress(OSError):  # nobody is there to hear it
        told.write(len(head).to_bytes(8, "little") + len(data).to_bytes(8, "little") + head + data)
        told.flush()


def _message(asked: IO[bytes]) -> bytes:
    return asked.read(int.from_bytes(asked.read(8), "little"))


def _packed(answer: Any) -> tuple[dict[str, Any], bytes]:
    """Return an answer as two parts: a dictionary for JSON, with all labels, and a NumPy array of numbers as bytes."""
    array = np.asarray(answer.to_numpy() if hasattr(answer, "to_numpy") else answer)
    if array.dtype.kind not in PLAIN:
        labels = list(map(_plain_label, array.ravel().tolist()))
        return {"labels": labels, "is_text": array.dtype.kind == "U", "shape": array.shape}, b""
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=False)
    return {}, file.getvalue()


def _plain_label(value: Any) -> Any:
    """Return a label as a value that JSON has; raise a TypeError if it is neither number nor text."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if str(value) in ("<NA>", "NaT"):
        return None
    raise TypeError(f"an isolated model must answer with numbers or texts, got {type(value).__name__}")
