"""The pytest plugin, by running pytest: in this process where that shows as much, as a process of its own where not."""

import json
import subprocess
import sys
from typing import Any

import pytest

import fairprobe.asserting
from fairprobe import audit
from fairprobe.errors import FairprobeError

pytest_plugins = ["pytester"]

WORLD = """
import numpy as np
import pandas as pd
import pytest
from fairprobe_pytest import assert_no_discrimination as assert_directly

rows = pd.DataFrame({"age": [*range(20, 60)] * 10, "sex": ["Female", "Male"] * 200, "town": list("abcd") * 100})

def flips(frame):
    return np.where((frame["age"] > 50) | ((frame["sex"] == "Male") & (frame["age"] > 40)), "yes", "no")

def blind(frame):
    return np.where(frame["age"] > 50, "yes", "no")

rng = np.random.default_rng(0)

def noisy(frame):
    return rng.random(len(frame)) > 0.5

def test_it(assert_no_discrimination):
    assert_no_discrimination(MODEL, rows, sensitive=["sex"], max_share=LIMIT)
"""

WORLD_OF: dict[str, Any] = {}
exec(WORLD.rpartition("def test_it")[0], WORLD_OF)

SMALL = ("-p", "no:cacheprovider", "--fairprobe-budget", "12000")


@pytest.fixture(autouse=True, scope="module")
def _loaded():
    """What the runs in this process import stays imported."""
    import pandas as pd

    rows = pd.DataFrame({"age": [*range(40)] * 4, "sex": [0, 1] * 80})
    with pytest.raises(AssertionError):
        fairprobe.asserting.assert_no_discrimination(
            lambda X: X[:, 0] * X[:, 1] > 9, rows, sensitive=["sex"], max_share=0.0, budget=9000
        )


@pytest.fixture
def run(pytester):
    def run(model="flips", limit="0.01", more="", *options, by=pytester.runpytest_inprocess):
        source = WORLD.replace("MODEL", model).replace("LIMIT", limit) + more
        pytester.makepyfile(test_world=source)
        return by(*SMALL, *options)

    return run


def saved(pytester):
    return sorted((pytester.path / ".fairprobe").glob("*.json"))


def test_a_failure_names_case_region_and_command(run, pytester):
    result = run()
    result.assert_outcomes(failed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "E * violated: 25% of the rows (100 of 400) get another outcome when sex changes*the limit is 1%*",
            "E * worst case: row *: sex *",
            "E * region: age 41 to 50: *",
            "E * saved: * cases in .fairprobe/test_world-py-test_it-*.json",
            "E * again: pytest test_world.py::test_it --fairprobe-seed 0 --fairprobe-budget 12000",
            "test_world.py::test_it: violated: *",
        ]
    )
    result.stdout.no_fnmatch_line("*asserting.py*")  # no frame of the library, whose arguments would print the data
    cases = json.loads(saved(pytester)[0].read_text())["cases"]
    assert cases
    assert all(40 < case["age"] <= 50 for case in cases)


def test_saved_cases_are_replayed_first(run, pytester):
    run()
    n = len(json.loads(saved(pytester)[0].read_text())["cases"])
    result = run()
    result.stdout.fnmatch_lines([f"E * saved before: of {n} cases {n} still hold, 0 were fixed"])
    result = run("blind", "0.02")
    result.assert_outcomes(passed=1)
    passed = "*passed, if the model was not trained on these rows: 0% change outcome with sex; the limit is 2%*"
    result.stdout.fnmatch_lines([f"{passed}saved before: of {n} cases none still holds, {n} were fixed"])
    assert len(json.loads(saved(pytester)[0].read_text())["cases"]) == n  # kept: they may come back
    run().stdout.fnmatch_lines([f"E * saved before: of {n} cases {n} still hold*"])


def test_as_the_audit_says(run):
    for limit, passes in (("0.01", False), ("0.25", False), ("0.31", True)):
        said = audit(WORLD_OF["flips"], WORLD_OF["rows"], sensitive=["sex"], max_share=float(limit), **EFFORT)
        result = run("flips", limit)
        assert (said.verdict.outcome == "passed") is passes
        result.assert_outcomes(**{"passed" if passes else "failed": 1})
        result.stdout.fnmatch_lines([f"test_world.py::test_it: {said.verdict.outcome}*: *"])


EFFORT = {
    "n_experiments": 1,
    "n_samples": 100,
    "search_cases": 10,
    "max_inputs": 100,
    "explain_queries": 200,
    "selfcheck": False,
    "populations": ["rows"],
}


def test_inconclusive_fails(run):
    result = run("flips", "0.25")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E * inconclusive: 25% of the rows *; the limit of 25% lies within the interval"])


@pytest.mark.parametrize("text", ["{", '{"format": "fairprobe-cases", "format_version": 99}'])
def test_saved_cases_that_cannot_be_read_are_said(run, pytester, text):
    run()
    file = saved(pytester)[0]
    file.write_text(text)
    result = run("blind", "0.02")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([f"*no saved cases were replayed: *{file.name} must be *"])
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E * note: *no saved cases were replayed*", "E * saved: *"])
    assert json.loads(file.read_text())["cases"]


def test_a_changed_domain_is_said(run, pytester):
    run()
    changed = 'rows = rows.rename(columns={"town": "city"})\n'
    result = run("blind", "0.02", changed)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*can no longer be asked (without city)"])
    by_town = 'rows["town"] = "a"\nrows.loc[::3, "town"] = "b"\n'
    pytester.makepyfile(
        test_world=(WORLD + by_town).replace("MODEL", "blind").replace("LIMIT", "0.02").replace('["sex"]', '["town"]')
    )
    result = pytester.runpytest_inprocess(*SMALL)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*can no longer be asked (they were found with sensitive sex, not town)"])


def test_markers_and_options_say_what_calls_do_not(run):
    more = """
@pytest.mark.fairprobe(sensitive=["sex"], max_share=0.01, seed=5)
def test_marked():
    assert_directly(flips, rows)

@pytest.mark.fairprobe(max_share=0.01, seed=5)
class TestClass:
    @pytest.mark.fairprobe(max_share=0.9)
    def test_nearer(self, assert_no_discrimination):
        assert_no_discrimination(flips, rows, sensitive=["sex"])

    def test_call(self, assert_no_discrimination):
        assert_no_discrimination(flips, rows, sensitive=["sex"], seed=7)
"""
    result = run("flips", "0.01", more, "--fairprobe-seed", "3", "--strict-markers")
    result.assert_outcomes(failed=3, passed=1)
    text = result.stdout.str()
    assert "again: pytest test_world.py::test_it --fairprobe-seed 3 " in text
    assert "again: pytest test_world.py::test_marked --fairprobe-seed 5 " in text
    assert "again: pytest test_world.py::TestClass::test_call --fairprobe-seed 7 " in text
    run("flips", "0.9", more, "-m", "not fairprobe").assert_outcomes(deselected=4)


def test_two_calls_in_a_test_have_two_files(run, pytester):
    more = """
def test_two():
    for model in (flips, lambda frame: frame["sex"]):
        with pytest.raises(AssertionError):
            assert_directly(model, rows, sensitive=["sex"], max_share=0.01)
"""
    run("blind", "0.02", more).assert_outcomes(passed=2)
    assert len(saved(pytester)) == 2


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"max_share": None}, "max_share must say the share allowed"),
        ({"sensitive": None}, "sensitive must name the sensitive columns"),
        ({"budget": 0}, "budget must be a whole number"),
        ({"data": WORLD_OF["rows"].head(0)}, "row"),
        ({"limit": 3}, "unexpected keyword argument 'limit'"),
        ({"model": None}, "predict"),
    ],
)
def test_bad_arguments(changes, why):
    asked = {"model": WORLD_OF["flips"], "data": WORLD_OF["rows"], "sensitive": ["sex"], "max_share": 0.1}
    with pytest.raises((FairprobeError, TypeError), match=why):
        WORLD_OF["assert_directly"](**{**asked, **changes})


def test_a_marker_without_names_is_wrong(run):
    more = """
@pytest.mark.fairprobe(0.01)
def test_marked():
    assert_directly(flips, rows, sensitive=["sex"])
"""
    result = run("blind", "0.02", more)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["E * the marker fairprobe must have arguments by name, got (0.01,)"])


def test_outside_of_a_test_nothing_is_saved(tmp_path, monkeypatch):
    import fairprobe_pytest

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fairprobe_pytest, "_item", None)
    with pytest.raises(AssertionError, match="violated") as caught:
        fairprobe_pytest.assert_no_discrimination(
            WORLD_OF["flips"], WORLD_OF["rows"], sensitive=["sex"], max_share=0.01, budget=9000
        )
    assert str(caught.value).splitlines()[-1] == "seed: 0"
    assert not list(tmp_path.iterdir())


def test_with_xdist(run, pytester):
    pytest.importorskip("xdist")
    more = """
def test_more(assert_no_discrimination):
    assert_no_discrimination(flips, rows, sensitive=["sex"], max_share=0.01, seed=1)
"""
    result = run("flips", "0.01", more, "-n", "2", by=pytester.runpytest_subprocess)
    result.assert_outcomes(failed=2)
    assert len(saved(pytester)) == 2
    assert all(json.loads(file.read_text())["cases"] for file in saved(pytester))
    result.stdout.fnmatch_lines(["*= fairprobe =*", "test_world.py::test_more*: violated: *"])


def test_unused_it_imports_nothing(pytester):
    pytester.makepyfile(
        """
        import sys

        def test_nothing():
            assert "fairprobe_pytest" in sys.modules
            assert not {"fairprobe", "numpy", "pandas"} & set(sys.modules)
        """
    )
    pytester.runpytest_subprocess("-p", "no:hypothesispytest").assert_outcomes(passed=1)
    assert not (pytester.path / ".fairprobe").exists()


def test_interrupted_is_interrupted(pytester):
    source = WORLD.rpartition("def test_it")[0] + (
        "import signal\n"
        "calls = []\n"
        "def stops(frame):\n"
        "    calls.append(1)\n"
        "    if len(calls) == 6:\n"
        "        signal.raise_signal(signal.SIGINT)\n"
        "    return flips(frame)\n"
        "def test_it():\n"
        "    assert_directly(stops, rows, sensitive=['sex'], max_share=0.01)\n"
    )
    file = pytester.makepyfile(test_world=source)
    command = [sys.executable, "-m", "pytest", *SMALL, str(file)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == pytest.ExitCode.INTERRUPTED, ended.stdout
    assert not (pytester.path / ".fairprobe").exists()
