"""The code that runs in the process of an isolated model: it loads the model and answers about batches.

It is sent pickles, by a process that it can trust. It is not trusted itself: it answers in JSON and plain arrays.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from fairprobe.errors import FairprobeError, HealthWarning
from fairprobe.model.categories import xgboost_categories
from fairprobe.model.known import works_on_float32
from fairprobe.model.sources.child_process import packed, plain_label
from fairprobe.model.sources.isolated import METHODS
from fairprobe.model.sources.load import load_model
from fairprobe.model.sources.node_checks import quieten
from fairprobe.model.sources.reading import Content, Permission, read_content, shortened
from fairprobe.model.torch import TorchAdapter, ask_module


def main(missing: list[str]) -> None:
    """Load the model that the first message names, describe it, and answer the others."""
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
        _answer(told, lambda message=message: _asked(model[0], *pickle.loads(message)))  # type: ignore[misc]
    os._exit(0)  # what was loaded is not asked how it wants to end


def _loaded(job: Mapping[str, Any]) -> Any:
    if job["source"] is not None:  # the user's own module
        os.chdir(job["here"])
        return load_model(job["source"], weights=job["weights"])
    content: Content = job["content"]
    permission: Permission = job["permission"]
    _limit_memory(job["bytes"])
    model = read_content(job["module"], content, permission)
    quieten(model)
    return model


def _limit_memory(most: int) -> None:
    """Limit the memory to `most` bytes beyond those that are in use."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + most, taken + most))


def _described(model: Any) -> dict[str, Any]:
    """The attributes of a model that its adapter looks at, as plain values."""
    told: dict[str, Any] = {"name": getattr(model, "__name__", type(model).__name__)}
    told["has"] = [name for name in METHODS if callable(getattr(model, name, None))]
    told["is_torch"], told["is_callable"] = TorchAdapter.accepts(model), callable(model)
    told["works_on_float32"] = not told["is_torch"] and works_on_float32(model)
    if hasattr(model, "get_params"):
        from sklearn.base import is_regressor

        told["is_regressor"] = bool(is_regressor(model))
    for name in ("classes_", "feature_names_in_"):
        if isinstance(given := getattr(model, name, None), np.ndarray):
            told[name] = [plain_label(each) for each in given.tolist()]
    if isinstance(n := getattr(model, "n_features_in_", None), (int, np.integer)):
        told["n_features_in_"] = int(n)
    categories = getattr(model, "categories_in_", None)
    if categories is None and hasattr(model, "get_booster"):
        categories = xgboost_categories(model.get_booster(), list(getattr(model, "feature_names_in_", ())))
    told["categories_in_"] = {
        name: [plain_label(each) for each in values] for name, values in (categories or {}).items()
    }
    return told


def _asked(model: Any, method: str, batch: Any, config: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
    """The answer to a batch, with the caller's settings of scikit-learn."""
    if method.startswith("torch:"):
        return packed(ask_module(model, method.removeprefix("torch:"), batch))
    ask: Callable[[Any], Any] = model if method == "__call__" else getattr(model, method)
    sklearn = sys.modules.get("sklearn") if config else None
    with sklearn.config_context(**config) if sklearn is not None else contextlib.nullcontext():
        return packed(ask(batch))


def _answer(told: IO[bytes], work: Callable[[], tuple[Any, bytes]]) -> None:
    """Send the result of `work`, or the error that it raised."""
    try:
        said, data = work()
    except FairprobeError as error:
        said, data = {"error": type(error).__name__, "message": str(error)}, b""
    except MemoryError:
        said, data = {"error": "MemoryError", "message": "more memory than it may take"}, b""
    except BaseException as error:
        said, data = {"error": type(error).__name__, "message": shortened(error).partition(": ")[2]}, b""
    head = json.dumps(said).encode()
    with contextlib.suppress(OSError):  # nobody is there to hear it
        told.write(len(head).to_bytes(8, "little") + len(data).to_bytes(8, "little") + head + data)
        told.flush()


def _message(asked: IO[bytes]) -> bytes:
    return asked.read(int.from_bytes(asked.read(8), "little"))
