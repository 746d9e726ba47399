"""`load_model`: returns a model from a file, a Python module, an address or a command.

A new kind of file is one new module with `knows` and `read`, and one line in `FILES` of `reading.py`. A new scheme is a
function and one line in `SCHEMES`.
"""

from __future__ import annotations

import copy
import inspect
import os
import sys
import traceback
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType
from typing import Any

from fairprobe.arguments import AllowsCode, ModelSource, ReadFile, TrustedTypes
from fairprobe.checks import nearest
from fairprobe.errors import DataError, SettingError
from fairprobe.model.redaction import shown_source
from fairprobe.model.sources.reading import ADVICE, FileContent, Permission, imported, read_file, shortened
from fairprobe.model.torch import TorchAdapter

SUBJECT = "subject"
SCHEMES: dict[str, str] = {
    SUBJECT: "fairprobe.subjects:load",
    "http": "fairprobe.model.remote:connect",
    "https": "fairprobe.model.remote:connect",
    "command": "fairprobe.model.program:start",
}
"""Function that loads a source, as "module:function", by the text before the source's first colon. It gets the text
after the colon; for an address, the whole text."""

EXAMPLES = "module:attribute (as in package.module:model), a file, https://... or command:..."


def load_model(
    source: ModelSource | os.PathLike[str],
    *,
    trust: TrustedTypes = (),
    allow_unsafe_load: AllowsCode = False,
    weights: ReadFile | None = None,
    isolate: bool = False,
    **options: Any,
) -> Any:
    """Return the model at `source`, ready for `search`, `estimate`, `audit` and other functions.

    The kind of a file is recognised by its content, not by its suffix. No code in a file is run unless you allow it.
    Numbers in a file that compiled code follows are checked. Use `isolate` against a loader that crashes nevertheless.

    Args:
        source: `module:attribute`; a file of skops, ONNX, XGBoost (JSON or UBJ) or LightGBM (text); with
            `allow_unsafe_load` a pickle or a joblib file; `subject:name`; an address, `https://...`;
            or `command:` and a program with its arguments.
        trust: names of types in a skops file that are allowed although they are not known to be harmless.
        allow_unsafe_load: allow files that run code when they are loaded. Their author's code then runs with all your
            rights.
        weights: a safetensors file with the weights of the torch module that `source` names, or makes when called.
        isolate: load a file, or a named module, in a process of its own, which answers as long as the model is used.
            The process has limits, and no network where the system supports this. Exact solvers and stand-ins need
            the model itself, so they are not used then.
        options: further arguments for services and programs, see `fairprobe.model.remote` and
            `fairprobe.model.program`.

    >>> load_model("subject:decision-tree")
    DecisionTreeClassifier(...)
    """
    permission = Permission.of(trust, allow_unsafe_load)
    if not isinstance(isolate, bool):
        raise SettingError.about("isolate", f"must be True or False, got {isolate!r}")
    scheme, colon, rest = os.fspath(source).partition(":")
    if colon and not isinstance(source, os.PathLike) and scheme.lower() in SCHEMES:
        _refuse_others(source, permission, weights)
        if isolate:
            raise SettingError.about("isolate", f"is for files and modules, got {shown_source(os.fspath(source))!r}")
        return _by_scheme(scheme.lower(), rest, os.fspath(source), options)
    if options:
        name = next(iter(options))
        raise SettingError.about(name, f"is for services and programs, got it with the model {os.fspath(source)!r}")
    path = Path(source)
    if isinstance(source, os.PathLike) or path.exists():
        _refuse_others(source, None, weights)
        return read_file(path, permission, isolate=isolate)
    if not colon:
        near = nearest(path.name, (each.name for each in path.parent.glob("*")))
        raise SettingError(f"a model must be {EXAMPLES}, got {str(source)!r}, and no such file{near}")
    _refuse_others(source, permission, None)
    if isolate:
        from fairprobe.model.sources.isolated import isolated

        return isolated({"source": str(source), "weights": None if weights is None else Path(weights).absolute()})
    model = load_object(str(source), "a model")
    return model if weights is None else _with_weights(model, Path(weights), str(source))


def _by_scheme(scheme: str, rest: str, source: str, options: dict[str, Any]) -> Any:
    called = resolve_name(SCHEMES[scheme])
    for name in options:
        if name not in inspect.signature(called).parameters:
            raise SettingError.about(name, f"is not for a model of the kind {scheme}:..., got it with one")
    return called(source if scheme.startswith("http") else rest, **options)


def _refuse_others(source: Any, permission: Permission | None, weights: Any) -> None:
    """Raise a SettingError for options that are for another kind of source and would have no effect."""
    for name, value, what in (
        ("weights", weights is not None, "a torch module named as module:attribute"),
        ("trust", permission is not None and permission.trust, "skops files"),
        ("allow_unsafe_load", permission is not None and permission.unsafe, "pickles"),
    ):
        if value:
            raise SettingError.about(name, f"is for {what}, got {shown_source(str(source))!r}")


def _with_weights(named: Any, path: Path, source: str) -> Any:
    """Return a torch module with the weights in a safetensors file.

    `named` is a module, which is copied, or a class or function that makes one.
    """
    module = copy.deepcopy(named) if TorchAdapter.accepts(named) else _made(named, source)
    imported("safetensors", "torch", "a file of weights")
    content = FileContent(path, "weights")
    try:
        tensors = imported("safetensors.torch", "torch", "a file of weights").load(content.data)
    except Exception as error:
        rule = f"weights must be a whole safetensors file, got {shortened(error)}"
        raise DataError(f"{rule}: {path}{ADVICE}") from None
    try:
        module.load_state_dict(tensors)
    except RuntimeError as error:
        rule = f"weights must be those of {source}, got {path} of another architecture"
        raise DataError(f"{rule}: {shortened(error)}") from None
    return module


def _made(maker: Any, source: str) -> Any:
    """Return the torch module that `maker` returns when it is called; a SettingError if there is none."""
    rule = f"is for a torch module, or what makes one when it is called; {source}"
    try:
        module = maker()
    except Exception as error:
        raise SettingError.about("weights", f"{rule} gave {what_happened(error)}") from error
    if not TorchAdapter.accepts(module):
        raise SettingError.about("weights", f"{rule} makes {type(module).__name__}")
    return module


def load_object(reference: str, option: str) -> Any:
    """Return the object named by "module:attribute"; modules in the current folder can be imported."""
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
            got = f"{owner} without {attribute!r}{near}"
            raise SettingError(f"{option} must name an attribute that exists, got {got}") from None
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
            got = f"no module named {absent!r}"
            raise SettingError(f"a module must be importable from {here} or be installed, got {got}") from None
        raise SettingError(f"the module {name} must import, got {what_happened(error)}") from error
    finally:
        if is_new:  # last: what is imported later is not to be found there before it is found among the packages
            sys.path.remove(here)
            sys.path.append(here)


def what_happened(error: BaseException) -> str:
    """Return an error in one line: its class, its message, and the file and line where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    at = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames and not isinstance(error, SyntaxError) else ""
    return f"{type(error).__name__}: {error}{at}"
