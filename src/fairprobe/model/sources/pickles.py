"""Pickles and joblib files: loading one runs the code in it, so it is done only if that is allowed."""

from __future__ import annotations

import io
import pickletools
import warnings
from itertools import islice
from typing import Any, Final

from fairprobe.errors import HealthWarning, SettingError
from fairprobe.model.sources.node_checks import check_model
from fairprobe.model.sources.pickle_scan import MAGICS, opened, would_import
from fairprobe.model.sources.reading import Content, Permission

SHOWN: Final = 20
"""Most names that a message lists. Chosen."""

LOOKED_AT: Final = 20_000
"""First steps of a pickle of the oldest protocol that must be valid. Chosen: they take hundredths of a second."""

USUAL: Final = ("joblib", "lightgbm", "numpy", "pandas", "scipy", "sklearn", "xgboost")
"""Packages that models are made of."""


def knows(content: Content) -> bool:
    """Return True for a pickle, compressed or not; one of the oldest protocol must also end as pickles do."""
    head = content.head
    if head.startswith(tuple(MAGICS)):
        try:
            with opened(content.data) as file:
                head = file.read(2)
        except Exception:
            return False  # something else is compressed, or it is broken
    if head[:1] == b"\x80":
        return len(head) > 1 and head[1] <= 5
    return head[:1] in (b"(", b"c", b"]", b"}") and _is_old_pickle(content)


def _is_old_pickle(content: Content) -> bool:
    try:
        steps = list(islice(pickletools.genops(io.BytesIO(content.data)), LOOKED_AT))
    except Exception:
        return False
    return content.data[-1:] == b"." and (len(steps) == LOOKED_AT or steps[-1][2] == len(content.data) - 1)


def read(content: Content, permission: Permission) -> Any:
    """The object in a pickle, if its code may be run; refuse trees that lead out of themselves."""
    path, names = content.path, imports_in_words(content.data)
    if not permission.unsafe:
        raise SettingError(
            f"a pickle runs code as it is loaded, so allow_unsafe_load must allow it, got {path}, which would import "
            f"{names}: do so only if you trust whoever made it; better, save the model by skops"
        )
    warnings.warn(f"unsafe-load: {path} runs code as it is loaded, and imports {names}", HealthWarning, stacklevel=2)
    import joblib

    model = joblib.load(io.BytesIO(content.data))
    check_model(model)
    return model


def imports_in_words(data: bytes) -> str:
    """The names that loading a pickle would import; those that no model needs come first."""
    names = sorted(would_import(data), key=lambda name: name.partition(".")[0] in USUAL)
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more if names else "nothing"
