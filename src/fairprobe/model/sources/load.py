"""`load_model`: a model out of a file, a module, an address or a command.

A new kind of file is one new module, with what `Reading` lists, and one line in `FILES`; a new scheme is a function and
a line in `SCHEMES`.
"""

from __future__ import annotations

import inspect
import os
from importlib import import_module
from pathlib import Path
from typing import Any

from fairprobe.arguments import AllowsCode, ModelSource, ReadFile, TrustedTypes
from fairprobe.checks import nearest
from fairprobe.errors import SettingError
from fairprobe.model.redaction import shown_source
from fairprobe.model.sources.named import load_object
from fairprobe.model.sources.reading import Permission, read_file

SUBJECT = "subject"
SCHEMES: dict[str, str] = {
    SUBJECT: "fairprobe.subjects:load",
    "http": "fairprobe.model.remote:connect",
    "https": "fairprobe.model.remote:connect",
    "command": "fairprobe.model.program:start",
}
"""By the text before the first colon, the function that gets the rest (of an address, all)."""

EXAMPLES = "module:attribute (as in package.module:model), a file, a folder, https://... or command:..."


def load_model(
    source: ModelSource | os.PathLike[str],
    *,
    trust: TrustedTypes = (),
    allow_unsafe_load: AllowsCode = False,
    weights: ReadFile | None = None,
    isolate: bool = False,
    **options: Any,
) -> Any:
    """The model at `source`, ready for `search`, `estimate`, `audit` and the rest.

    The content of a file tells its kind, not its suffix. Nothing that a file holds is run, unless you allow it. Numbers
    that compiled code follows are checked; against a loader that crashes nevertheless, use `isolate`.

    Args:
        source: `module:attribute`; a file of skops, ONNX, XGBoost (JSON or UBJ) or LightGBM (text); with
            `allow_unsafe_load` a pickle, a joblib file or a folder of MLflow; `subject:name`; an address, `https://...`;
            or `command:` and a program with its arguments.
        trust: types in a skops file that may be made although they are not among those known to be harmless.
        allow_unsafe_load: load what runs code as it is loaded: as whoever wrote it, with all that you may do.
        weights: a safetensors file for the torch module that `source` names, or makes when called.
        isolate: load a file, or a named module, in a process of its own, which answers as long as the model is used:
            with limits, and without a network where the system can do that. Exact solvers and stand-ins look at the
            model itself, so they do not apply then.
        options: for services and programs, see `fairprobe.model.remote` and `fairprobe.model.program`.

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
        from fairprobe.model.sources.isolated import isolated_module

        return isolated_module(str(source), None if weights is None else Path(weights).absolute())
    model = load_object(str(source), "a model")
    if weights is None:
        return model
    from fairprobe.model.sources.weights import with_weights

    return with_weights(model, Path(weights), str(source))


def _by_scheme(scheme: str, rest: str, source: str, options: dict[str, Any]) -> Any:
    module, _, function = SCHEMES[scheme].partition(":")
    if scheme == SUBJECT and options:
        name = next(iter(options))
        raise SettingError.about(name, f"is for services and programs, got it with {source!r}")
    called = getattr(import_module(module), function)
    for name in options:
        if name not in inspect.signature(called).parameters:
            raise SettingError.about(name, f"is not for a model of the kind {scheme}:..., got it with one")
    return called(source if scheme.startswith("http") else rest, **options)


def _refuse_others(source: Any, permission: Permission | None, weights: Any) -> None:
    """Refuse options that are for another kind of source, as they would do nothing."""
    if weights is not None:
        raise SettingError.about(
            "weights", f"is for a torch module named as module:attribute, got {shown_source(str(source))!r}"
        )
    if permission is not None and permission.trust:
        raise SettingError.about("trust", f"is for skops files, got {shown_source(str(source))!r}")
    if permission is not None and permission.unsafe:
        raise SettingError.about(
            "allow_unsafe_load", f"is for pickles and MLflow folders, got {shown_source(str(source))!r}"
        )
