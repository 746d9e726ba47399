"""Folders of MLflow, without MLflow: the file MLmodel names what the model is in, and that is read."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, Final

from fairprobe.errors import DataError, SettingError
from fairprobe.model.sources.reading import FILES, LONGEST, Permission, imported, kind_of, shortened

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
    flavors = _flavors(folder)
    flavor = next((name for name in FLAVORS if name in flavors), None)
    if flavor is None:
        known, got = ", ".join(FLAVORS), ", ".join(map(str, flavors)) or "none"
        raise DataError(f"a folder of MLflow must have one of the flavors {known}; got {got}: {folder}")
    told, key = flavors[flavor], FLAVORS[flavor]
    name = told.get(key) if isinstance(told, dict) else None
    if not isinstance(name, str):
        raise DataError(f"the flavor {flavor} must name its file as {key}, got {name!r}: {folder}")
    file = folder / name
    if not file.resolve().is_relative_to(folder.resolve()) or not file.is_file():
        raise DataError(f"the file of a flavor must be in the folder of MLflow, got {name!r}: {folder}")
    return file


def _flavors(folder: Path) -> dict[Any, Any]:
    yaml = imported("yaml", "mlflow", "a folder of MLflow")
    rule = f"{NAME} must list the model's flavors in YAML"
    try:
        content = yaml.safe_load((folder / NAME).read_text(encoding="utf-8"))
    except Exception as error:
        raise DataError(f"{rule}, got {shortened(error)}: {folder}") from None
    flavors = content.get("flavors") if isinstance(content, dict) else None
    if not isinstance(flavors, dict):
        raise DataError(f"{rule}, got {'no flavors' if flavors is None else repr(flavors)[:LONGEST]}: {folder}")
    return flavors
