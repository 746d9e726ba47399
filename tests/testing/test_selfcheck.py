"""The selfcheck passes here, says the same each time, and fails where something measures wrongly."""

from dataclasses import replace

import numpy as np
import pytest
import sklearn

import fairprobe
from fairprobe.cli import main
from fairprobe.testing import selfcheck as module


@pytest.fixture(scope="module")
def result():
    return module.selfcheck()


def test_all_checks_pass(result):
    assert result.ok, result.line
    assert list(result.wrong) == list(module.CHECKS)


def test_the_line_has_counts_and_versions_and_no_clock(result):
    versions = f"fairprobe {fairprobe.__version__}, numpy {np.__version__}, scikit-learn {sklearn.__version__}"
    assert result.line == f"selfcheck: 14 of 14 checks passed ({versions})"
    assert repr(result) == f"Selfcheck({result.line})"


def failed(name):
    return module._tried(module.CHECKS[name], 0) is not None


def biased(share, **changes):
    return lambda *arguments, **options: replace(share(*arguments, **options), **changes)


def test_wrong_shares_are_found_out(monkeypatch):
    monkeypatch.setattr(module, "estimate", biased(module.estimate, hits=1, low=0.9, high=0.95, lower=0.0, upper=1.0))
    for name in ("exact shares", "sampled shares", "shares of rows", "verdicts", "links"):
        assert failed(name), name


def test_an_error_is_a_failure_with_its_message(monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("no such kernel")

    monkeypatch.setattr(module, "search", broken)
    assert module._tried(module.CHECKS["search repeats itself"], 0) == "RuntimeError: no such kernel"


def test_command_fails_with_3(capsys, monkeypatch, result):
    failed = replace(result, wrong={**result.wrong, "search finds all that is planted": "2 of 9 cases"})
    monkeypatch.setattr(module, "selfcheck", lambda seed: failed)
    assert main(["selfcheck"]) == 3
    out = capsys.readouterr().out
    assert "FAILED  search finds all that is planted: 2 of 9 cases" in out
    assert "13 of 14 checks passed" in out
    assert out.endswith("failed: search finds all that is planted\n")
