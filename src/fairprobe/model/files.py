"""Models as files, by skops: a file is kept only if what it holds answers as the model does."""

from __future__ import annotations

import copy
import json
import shlex
import warnings
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fairprobe.domain.domain import Domain
from fairprobe.errors import FairprobeError, RunError, SettingError
from fairprobe.model.asking import Asker
from fairprobe.model.sources.reading import shortened

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES: Final = (".skops",)

_TRIED: Final = 1000
"""Rows that the model and its copy are both asked about. Chosen."""

_RULE: Final = "a model that is written must be one that skops can write and read again"


def check_writable(model: Any) -> None:
    """Refuse a model that could not be written, before it is fitted; what fitting adds is checked only later."""
    _dumped(model, SettingError, "; put functions of a module in the place of lambdas, or leave --out out")


def write_model(model: Any, path: Path, domain: Domain, rows: pd.DataFrame, batch: str | None = None) -> None:
    """Write a model, and check that the file gives it back: skops writes some things that it cannot read."""
    data, saved = _dumped(model, RunError, ". Nothing is written")
    said, again = (Asker(each, domain, batch=batch).ask_frame(rows.head(_TRIED)) for each in (model, saved))
    if not np.array_equal(said, again):
        raise RunError(f"{_RULE}, got a copy that answers otherwise. Nothing is written")
    path.write_bytes(data)


def _dumped(model: Any, kind: type[FairprobeError], advice: str) -> tuple[bytes, Any]:
    """The content of a file, and the model that it gives back."""
    import skops.io

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data = skops.io.dumps(_with_lists(model, {}), compression=zipfile.ZIP_DEFLATED)
            # All types come from the model that this process holds anyway.
            return data, skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))
    except Exception as error:
        raise kind(f"{_RULE}, got {shortened(error)}{advice}") from error


def _with_lists(value: Any, done: dict[int, Any]) -> Any:
    """A copy with lists in the place of pandas' indexes, which skops cannot write."""
    import pandas as pd

    if isinstance(value, pd.Index):
        return value.tolist()
    if id(value) in done:
        return done[id(value)]
    done[id(value)] = value
    if type(value) in (list, tuple):
        done[id(value)] = type(value)(_with_lists(each, done) for each in value)
    elif type(value) is dict or (hasattr(value, "get_params") and not isinstance(value, type)):
        done[id(value)] = copied = copy.copy(value)
        held = copied if type(value) is dict else vars(copied)
        held.update({name: _with_lists(each, done) for name, each in held.items()})
    return done[id(value)]


def loading_line(name: str) -> str:
    """A command that loads a model and shows it."""
    code = f"import skops.io as s; f = {json.dumps(name)}; print(s.load(f, trusted=s.get_untrusted_types(file=f)))"
    return f"python -c {shlex.quote(code)}"
