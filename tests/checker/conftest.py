import functools
import importlib.util
import json
import sys
from pathlib import Path

import pytest

CHECKER = Path(__file__).parents[2] / "checker"


@pytest.fixture(autouse=True)
def quickly(undrawn):
    """The checker reads no pictures."""


@pytest.fixture(scope="session")
def check():
    """The checker as a module; intervals are computed once for the same counts."""
    spec = importlib.util.spec_from_file_location("check", CHECKER / "check.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.bound = functools.cache(module.bound)
    return module


@pytest.fixture
def run(check, tmp_path, capsys, monkeypatch):
    """Runs the checker on contents; gives the exit code and what it printed."""

    def run(audit, *options):
        path = tmp_path / "audit.json"
        path.write_text(audit if isinstance(audit, str) else json.dumps(audit), encoding="utf-8")
        monkeypatch.setattr(sys, "argv", ["check.py", str(path), *options])
        monkeypatch.setattr(sys, "path", [str(CHECKER), *sys.path])
        check.seen.clear()
        capsys.readouterr()
        code = check.main()
        return code, capsys.readouterr().out

    return run
