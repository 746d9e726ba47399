"""Folders of MLflow, without MLflow: the file MLmodel names what the model is in, and that is read."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, Final

from fairprobe.errors import DataError, SettingError
from fairprobe.model.sources.reading import FILES, Permission, imported, kind_of, shortened

NAME: Final = "MLmodel"
FLAVORS: Final = {
    "sklearn": "pickled_model",
    "xgboost": "data",
    "lightgbm": "data",
    "onnx": "data",
}
"""By flavor, the key that names its file."""


def knows(path: Path, head: bytes) -> bool:
    """Whether it is a folder with that file."""
    return (path / NAME).is_file()


def preload() -> None:
    """Import what reads it."""
    imported("yaml", "mlflow", "a folder of MLflow")


def read(path: Path, permission: Permission) -> Any:
    """The model in the flavor's own file, if code in the folder may be run."""
    file = _file(path)
    kind = kind_of(file)
    if not permission.unsafe:
        if kind == FILES["pickle or joblib"]:
            import_module(kind).read(file, permission)  # which says what it would import
        raise SettingError(
            f"a folder of MLflow may hold code to be run, so allow_unsafe_load must allow it, got {path}: better, name "
            f"the file of the model itself, {file}, which is read without running any"
        )
    reading = import_module(kind)
    reading.preload()
    return reading.read(file, permission)


def check(model: Any, path: Path) -> None:
    """What is checked of the flavor's own file."""
    file = _file(path)
    import_module(kind_of(file)).check(model, file)


def _file(folder: Path) -> Path:
    yaml = imported("yaml", "mlflow", "a folder of MLflow")
    try:
        content = yaml.safe_load((folder / NAME).read_text(encoding="utf-8"))
        flavors = dict(content["flavors"])
        named = [(flavor, flavors[flavor][key]) for flavor, key in FLAVORS.items() if flavor in flavors]
    except Exception as error:
        raise DataError(f"{NAME} must list the model's flavors in YAML, got {shortened(error)}: {folder}") from None
    if not named or not isinstance(named[0][1], str):
        known = ", ".join(FLAVORS)
        raise DataError(f"a folder of MLflow must have one of the flavors {known}; got {', '.join(flavors)}: {folder}")
    file = folder / named[0][1]
    if not file.resolve().is_relative_to(folder.resolve()) or not file.is_file():
        raise DataError(f"the file of a flavor must be in the folder of MLflow, got {named[0][1]!r}: {folder}")
    return file
