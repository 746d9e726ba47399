"""Objects named as `module:attribute`."""

from __future__ import annotations

import os
import sys
import traceback
from importlib import import_module
from types import ModuleType
from typing import Any

from fairprobe.checks import nearest
from fairprobe.errors import SettingError


def load_object(reference: str, option: str) -> Any:
    """The object behind `module:attribute`; modules of the current folder can be imported."""
    module, colon, path = reference.partition(":")
    if not colon or not module or not path or module.endswith(".py") or os.sep in module:
        raise SettingError(f"{option} must be module:attribute (as in package.module:model), got {reference!r}")
    found: Any = _import(module)
    for step, attribute in enumerate(path.split(".")):
        try:
            found = getattr(found, attribute)
        except AttributeError:
            owner = ":".join([module, ".".join(path.split(".")[:step])]).rstrip(":")
            near = nearest(attribute, [known for known in dir(found) if not known.startswith("_")])
            raise SettingError(
                f"{option} must name an attribute that exists, got {owner} without {attribute!r}{near}"
            ) from None
        except Exception as error:
            raise SettingError(f"{option} {reference} must be there, got {what_happened(error)}") from error
    return found


def _import(name: str) -> ModuleType:
    here = os.getcwd()
    is_new = here not in sys.path
    if is_new:
        sys.path.insert(0, here)
    try:
        return import_module(name)
    except (Exception, SystemExit) as error:
        # It may be there, and import another one that is not.
        absent = error.name if isinstance(error, ModuleNotFoundError) else None
        if absent is not None and (name == absent or name.startswith(f"{absent}.")):
            raise SettingError(
                f"a module must be importable from {here} or be installed, got no module named {absent!r}"
            ) from None
        raise SettingError(f"the module {name} must import, got {what_happened(error)}") from error
    finally:
        if is_new:  # last: what is imported later is not to be found there before it is found among the packages
            sys.path.remove(here)
            sys.path.append(here)


def what_happened(error: BaseException) -> str:
    """An error in a line, and where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    at = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames and not isinstance(error, SyntaxError) else ""
    return f"{type(error).__name__}: {error}{at}"
