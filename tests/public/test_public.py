"""The public face: the names, what importing costs, and that it does nothing else."""

import ast
import importlib
import inspect
import os
import pickle
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import fairprobe

HEAVY = {"hypothesis", "joblib", "matplotlib", "pandas", "pyarrow", "pytest"}
HEAVY |= {"rich", "scipy", "sklearn", "skops", "typer"}
NOT_AT_THE_START = {"numpy", "asyncio", "unittest"}
"""What a search needs may be slow to import, but not what finds out that nothing is to be done."""


def python(code, *options):
    command, told = [sys.executable, *options, "-c", code], os.environ | {"NO_COLOR": "1"}
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=told)
    assert result.returncode == 0, result.stderr
    return result


def modules():
    return [name for _, name, _ in pkgutil.walk_packages(fairprobe.__path__, "fairprobe.") if "__main__" not in name]


def test_all_is_what_there_is():
    """What type checkers see, what is imported when it is asked for, and what is promised are the same."""
    tree = ast.parse(Path(fairprobe.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name: node.module for node in block.body for alias in node.names}
    rooms = {name for name, home in seen.items() if home == "fairprobe"}
    assert {name: home for name, home in seen.items() if name not in rooms} == fairprobe._HOME_OF
    assert rooms == set(fairprobe._ROOMS)
    assert {*seen, "__version__"} == set(fairprobe.__all__) <= set(dir(fairprobe))
    assert fairprobe.__all__ == sorted(fairprobe.__all__)
    for name, home in seen.items():
        assert getattr(fairprobe, name) is getattr(importlib.import_module(home), name)
    with pytest.raises(AttributeError, match="no attribute 'serach'"):
        fairprobe.serach  # noqa: B018
    assert isinstance(fairprobe.__version__, str)


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


def loaded_by(code):
    return {module.split(".")[0] for module in python(f"{code}\nprint(*sorted(sys.modules))").stdout.split()}


def test_importing_is_light():
    rooms = ", ".join(f"fairprobe.{name}" for name in ("testing", "searching", "subjects", "standins", "replaying"))
    assert not loaded_by(f"import {rooms}, sys") & HEAVY
    assert not loaded_by("import fairprobe, sys") & (HEAVY | NOT_AT_THE_START)


def test_help_is_light():
    code = """
import contextlib, io, sys
from fairprobe.cli import main
with contextlib.redirect_stdout(io.StringIO()) as out:
    assert main(["--help"]) == 0
assert "audit" in out.getvalue()
"""
    loaded = loaded_by(code)
    assert "typer" in loaded
    assert not loaded & ((HEAVY | NOT_AT_THE_START) - {"typer"})


def test_search_stays_the_function():
    code = """
import fairprobe, types
assert isinstance(fairprobe.search, types.FunctionType)
import fairprobe.searching.searching
import fairprobe.searching.registry
from fairprobe.searching.registry import STRATEGIES
from fairprobe.searching import register, search
from fairprobe import search as again
import fairprobe.testing
assert isinstance(fairprobe.search, types.FunctionType)
assert again is search is fairprobe.search
"""
    python(code)


def test_importing_has_no_effects():
    """No warning, output, seed or file, under the strictest settings; scikit-learn sets two variables."""
    code = f"""
import os, random, sys
import numpy as np
import sklearn
before = random.getstate(), np.random.get_state()[1].tobytes(), dict(os.environ), os.listdir()
for name in {[name for name in modules() if ".cli" not in name]!r}:
    __import__(name)
assert before == (random.getstate(), np.random.get_state()[1].tobytes(), dict(os.environ), os.listdir())
"""
    result = python(code, "-W", "error", "-X", "dev")
    assert result.stdout == result.stderr == ""


def test_errors_are_a_tree_and_can_be_sent_to_another_process():
    from fairprobe import errors as e

    parts = {e.DomainError: e.InputError, e.DataError: e.InputError, e.SettingError: e.InputError}
    parts |= {e.InputError: ValueError, e.ModelError: e.RunError, e.HealthWarning: UserWarning}
    assert all(issubclass(part, whole) for part, whole in parts.items())
    assert (e.InputError.exit_code, e.RunError.exit_code) == (2, 3)
    error = pickle.loads(pickle.dumps(e.ModelError("no", found=[1])))
    assert (str(error), error.found) == ("no", [1])
