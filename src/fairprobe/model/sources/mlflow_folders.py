"""Models in folders of MLflow, read without MLflow: the file MLmodel names the file of the model."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, Final

from fairprobe.checks import opened_regular
from fairprobe.errors import DataError, SettingError
from fairprobe.model.sources.reading import FILES, LONGEST, Content, Permission, imported, kind_of, shortened

NAME: Final = "MLmodel"
MOST_BYTES: Final = 2**16
"""Largest size in bytes of the file MLmodel. Measured: YAML of this size is read in a second at most."""
FLAVORS: Final = {
    "sklearn": "pickled_model",
    "xgboost": "data",
    "lightgbm": "data",
    "onnx": "data",
}
"""Key in the file MLmodel under which a flavor names the model's file, by flavor."""


def knows(content: Content) -> bool:
    """Return True if the path is a folder with a file named MLmodel."""
    return (content.path / NAME).is_file()


def model_file(content: Content, permission: Permission) -> Content:
    """Return the content of the model's file in a folder of MLflow, if the permission allows its code to run."""
    path = content.path
    file = Content(_file(path))
    kind = kind_of(file)
    if not permission.unsafe:
        if kind == FILES["pickle or joblib"]:
            import_module(kind).read(file, permission)  # which says what it would import
        got = f"{path}: better, name the file of the model itself, {file.path}, which is read without running any"
        raise SettingError(f"a folder of MLflow may hold code to be run, so allow_unsafe_load must allow it, got {got}")
    return file


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
        with opened_regular(folder / NAME, MOST_BYTES) as file:
            content = yaml.safe_load(file.read().decode())
    except Exception as error:
        raise DataError(f"{rule}, got {shortened(error)}: {folder}") from None
    flavors = content.get("flavors") if isinstance(content, dict) else None
    if not isinstance(flavors, dict):
        raise DataError(f"{rule}, got {'no flavors' if flavors is None else repr(flavors)[:LONGEST]}: {folder}")
    return flavors
