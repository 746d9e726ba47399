"""Models that cannot be loaded (exit code 2) or that fail (exit code 3): said in words, what was found is kept."""

import pandas as pd
import pytest

BROKEN = {
    "divides": ("x = 1\ny = 1 / 0\n", ["ZeroDivisionError", "line 2"]),
    "misspelt": ("def (:\n", ["SyntaxError"]),
    "needs": ("import no_such_package_at_all\n", ["ModuleNotFoundError", "no_such_package_at_all"]),
    "leaves": ("raise SystemExit(7)\n", ["SystemExit", "7"]),
}


@pytest.mark.parametrize("name", BROKEN)
def test_module_that_does_not_import(search, folder, name):
    content, parts = BROKEN[name]
    (folder / f"{name}.py").write_text(content)
    search(model=f"{name}:model").refuses(name, *parts)


@pytest.mark.parametrize(
    ("reference", "parts"),
    [
        ("no_such_module:model", ["'no_such_module'", "importable"]),
        ("toys.inner:model", ["toys.inner"]),
        ("toys", ["module:attribute", "'toys'"]),
        ("./toys:flips", ["module:attribute", "'./toys:flips'"]),
        ("toys:flip", ["without 'flip'", "did you mean 'flips'?"]),
        ("toys:Holder.modle", ["toys:Holder without 'modle'", "'model'"]),
        ("toys:number", ["predict", "int: 5"]),
        ("toys:FailsLater", ["instance", "FailsLater"]),
        ("subject:oracle", ["decision-tree", "'oracle'"]),
    ],
)
def test_model_that_is_none(search, reference, parts):
    search(model=reference).refuses(*parts)


@pytest.mark.parametrize(
    ("model", "arguments", "parts"),
    [
        ("toys:raises", [], ["KeyError", "no such age", "age=60"]),
        ("toys:nan", [], ["a label for every row", "got nan", "age=60"]),
        ("toys:nan", ["--output", "score", "--threshold", "0.1"], ["finite number", "got nan", "age=60"]),
        ("toys:short", [], ["shape", "(10000,)", "(9999,)"]),
        ("toys:strings", ["--output", "score", "--threshold", "0.1"], ["--output score", "'", "age="]),
        ("toys:score", ["--output", "proba", "--threshold", "0.1"], ["shape", "classes"]),
    ],
)
@pytest.mark.parametrize("dry", [False, True])
def test_model_that_fails(search, model, arguments, parts, dry):
    outcome = search("--strategy", "random", "--global", 5000, *arguments, *(["--dry-run"] if dry else []), model=model)
    if dry:
        assert outcome.code in (0, 3)  # a small sample may not meet the rows that it fails on
        assert "Traceback" not in outcome.err
        return
    outcome.refuses(*parts, code=3)
    assert "kept: " in outcome.err


@pytest.mark.parametrize("model", ["toys:fails_later", "toys:Holder.model"])
def test_what_was_found_before_a_failure_is_kept(search, folder, model):
    outcome = search("--out", "cases.csv", "--max-cases", "none", model=model)
    outcome.refuses("RuntimeError", "the disk is on fire", "age=", code=3)
    cases = pd.read_csv(folder / "cases.csv")
    assert len(cases) > 100
    assert f"kept: {len(cases):,} cases in " in outcome.err
    assert "; written: cases.csv" in outcome.err
    assert "the model or the run failed" in outcome.out


def test_failure_without_a_case_leaves_an_older_file_alone(search, folder):
    (folder / "cases.csv").write_text("older")
    assert search("--strategy", "random", "--out", "cases.csv", model="toys:raises").code == 3
    assert (folder / "cases.csv").read_text() == "older"
