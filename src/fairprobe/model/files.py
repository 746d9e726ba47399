"""Models as files, by skops: a file is kept only if what it holds answers as the model does."""

from __future__ import annotations

import json
import shlex
import warnings
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fairprobe.domain.domain import Domain
from fairprobe.errors import RunError
from fairprobe.model.asking import Asker

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES: Final = (".skops",)

_TRIED: Final = 1000
"""Rows that the model and its copy are both asked about."""

_RULE: Final = "a model that is written must be one that skops can write and read again"


def write_model(model: Any, path: Path, domain: Domain, rows: pd.DataFrame, batch: str | None = None) -> None:
    """Write a model, and read what was written: some of what skops writes, such as a lambda, it can't read."""
    import skops.io

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            skops.io.dump(model, path, compression=zipfile.ZIP_DEFLATED)
            # All types come from the model that this process holds anyway.
            copy = skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path))
    except OSError:
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"
        raise RunError(f"{_RULE}, got {what}. Nothing is written") from error
    said, again = (Asker(each, domain, batch=batch).ask_frame(rows.head(_TRIED)) for each in (model, copy))
    if not np.array_equal(said, again):
        raise RunError(f"{_RULE}, got a copy that answers otherwise. Nothing is written")


def loading_line(name: str) -> str:
    """The command that loads a model and shows it."""
    code = f"import skops.io as s; f = {json.dumps(name)}; print(s.load(f, trusted=s.get_untrusted_types(file=f)))"
    return f"python -c {shlex.quote(code)}"
