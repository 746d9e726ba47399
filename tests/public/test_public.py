"""The public face: the names, what importing costs, and that it does nothing else."""

from __future__ import annotations

import importlib
import inspect
import os
import pkgutil
import subprocess
import sys
import types

import pytest

import fairprobe

HEAVY = (
    "pandas",
    "sklearn",
    "scipy",
    "matplotlib",
    "joblib",
    "skops",
    "pyarrow",
    "pytest",
    "hypothesis",
    "typer",
    "rich",
)


def python(code, *options):
    result = subprocess.run(
        [sys.executable, *options, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"NO_COLOR": "1"},
    )
    assert result.returncode == 0, result.stderr
    return result


def modules():
    return [name for _, name, _ in pkgutil.walk_packages(fairprobe.__path__, "fairprobe.") if "__main__" not in name]


def test_all_is_what_there_is():
    public = {name for name, value in vars(fairprobe).items() if not name.startswith("_") and is_meant(name, value)}
    assert public == set(fairprobe.__all__) - {"__version__"}
    assert fairprobe.__all__ == sorted(fairprobe.__all__)
    assert isinstance(fairprobe.__version__, str)


def is_meant(name, value):
    """Submodules appear by being imported; those that are no part of the face are left out."""
    return not isinstance(value, types.ModuleType) or name in fairprobe.__all__


@pytest.mark.parametrize("name", modules())
def test_all_of_every_module_is_there(name):
    module = importlib.import_module(name)
    for exported in getattr(module, "__all__", ()):
        assert getattr(module, exported) is not None
    assert module.__doc__


def test_what_the_design_promises_is_there():
    for name in ("Domain", "Integer", "Real", "Category", "Ordinal", "search", "subjects", "datasets", "testing"):
        assert name in fairprobe.__all__
    assert list(inspect.signature(fairprobe.search).parameters)[:2] == ["model", "domain"]
    for name in ("cases", "twins", "gaps", "outputs", "n_cases", "yield_"):
        assert hasattr(fairprobe.Found, name)


def test_importing_is_light():
    names = ("fairprobe", *(f"fairprobe.{name}" for name in ("testing", "search", "subjects", "standins")))
    code = f"import {', '.join(names)}, sys; print(*sorted(sys.modules))"
    loaded = {module.split(".")[0] for module in python(code).stdout.split()}
    assert not loaded & set(HEAVY)


def test_search_stays_the_function():
    code = """
import fairprobe, types
assert isinstance(fairprobe.search, types.FunctionType)
import fairprobe.search.searching
import fairprobe.search.registry
from fairprobe.search.registry import STRATEGIES
from fairprobe.search import register, search
from fairprobe import search as again
import fairprobe.testing
assert isinstance(fairprobe.search, types.FunctionType)
assert again is search is fairprobe.search
"""
    python(code)


@pytest.mark.parametrize("first", ["fairprobe.search.searching", "fairprobe.testing.strategies", "fairprobe.search"])
def test_search_is_the_function_whatever_is_imported_first(first):
    python(f"import {first}, types, fairprobe; assert isinstance(fairprobe.search, types.FunctionType)")


def test_importing_has_no_effects():
    """No warning, no output, no seed set, no file written, under the strictest settings."""
    code = f"""
import os, random, sys
import numpy as np
before = random.getstate(), np.random.get_state()[1].tobytes(), dict(os.environ), os.listdir()
for name in {[name for name in modules() if ".cli" not in name]!r}:
    __import__(name)
assert before == (random.getstate(), np.random.get_state()[1].tobytes(), dict(os.environ), os.listdir())
"""
    result = python(code, "-W", "error", "-X", "dev")
    assert result.stdout == result.stderr == ""


def test_errors_are_a_tree():
    from fairprobe import errors

    assert issubclass(errors.DomainError, errors.InputError)
    assert issubclass(errors.DataError, errors.InputError)
    assert issubclass(errors.SettingError, errors.InputError)
    assert issubclass(errors.InputError, ValueError)
    assert issubclass(errors.ModelError, errors.RunError)
    assert errors.InputError.exit_code == 2
    assert errors.RunError.exit_code == 3
    assert issubclass(errors.HealthWarning, UserWarning)


def test_errors_can_be_sent_to_another_process():
    import pickle

    from fairprobe.errors import ModelError, SettingError

    error = pickle.loads(pickle.dumps(ModelError("no", found=[1])))
    assert (str(error), error.found) == ("no", [1])
    assert str(pickle.loads(pickle.dumps(SettingError("no")))) == "no"
