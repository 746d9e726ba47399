"""Pickles and joblib files: loading one runs the code in it, so it is done only if that is allowed."""

from __future__ import annotations

import pickletools
import warnings
from pathlib import Path
from typing import Any, Final

from fairprobe.errors import DataError, HealthWarning, SettingError
from fairprobe.model.sources.node_checks import check_trees
from fairprobe.model.sources.pickle_scan import MAGICS, opened, would_import
from fairprobe.model.sources.reading import Permission, shortened

SHOWN: Final = 20
"""Names that a message lists."""

USUAL: Final = ("joblib", "lightgbm", "numpy", "pandas", "scipy", "sklearn", "xgboost")
"""Packages that models are made of."""


def knows(path: Path, head: bytes) -> bool:
    """Whether it begins as a pickle does, compressed or not; one of the oldest kind must be one to its end."""
    if path.is_dir():
        return False
    if head.startswith(tuple(MAGICS)):
        try:
            with opened(path) as file:
                head = file.read(2)
        except Exception:
            return False  # something else is compressed, or it is broken
    if head[:1] == b"\x80":
        return len(head) > 1 and head[1] <= 5
    return head[:1] in (b"(", b"c", b"]", b"}") and _is_old_pickle(path)


def _is_old_pickle(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return any(opcode.name == "STOP" for opcode, _, _ in pickletools.genops(file)) and not file.read(1)
    except Exception:
        return False


def preload() -> None:
    """Import what reads it."""
    import joblib  # noqa: F401


def read(path: Path, permission: Permission) -> Any:
    """The object in it, if its code may be run."""
    names = imports_in_words(path)
    if not permission.unsafe:
        raise SettingError(
            f"a pickle runs code as it is loaded, so allow_unsafe_load must allow it, got {path}, which would import "
            f"{names}: do so only if you trust whoever made it; better, save the model by skops"
        )
    warnings.warn(f"unsafe-load: {path} runs code as it is loaded, and imports {names}", HealthWarning, stacklevel=2)
    import joblib

    try:
        return joblib.load(path)
    except MemoryError:
        raise
    except Exception as error:
        rule = "a pickle must be whole, and loaded by the versions of packages that it was saved by"
        raise DataError(f"{rule}, got {shortened(error)}: {path}") from None


def check(model: Any, path: Path) -> None:
    """Refuse trees that lead out of themselves."""
    check_trees(model, path)


def imports_in_words(path: Path) -> str:
    """What loading a pickle would import; first what no model needs, so that it is not lost among the rest."""
    names = sorted(would_import(path), key=lambda name: name.partition(".")[0] in USUAL)
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more if names else "nothing"
