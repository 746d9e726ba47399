"""The checker: its intervals are SciPy's, its verdicts are the library's, and what does not fit together is refused."""

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from audits import concluded, intervals, made, renewed, whole, with_config

from fairprobe.blocks import Remark
from fairprobe.estimation import verdict
from fairprobe.estimation.share import Share

CHECKER = Path(__file__).parents[2] / "checker"
COUNTS = [(0, 1), (1, 1), (0, 7), (3, 7), (7, 7), (1, 1000), (500, 1000), (999, 1000)]
COUNTS += [(hits, 400_000) for hits in (0, 1, 2, 5, 37, 2400, 200_000, 399_990, 400_000)]


def test_it_can_be_read():
    for path in CHECKER.glob("*.py"):
        lines = path.read_text().splitlines()
        assert len(lines) <= 150
        assert max(map(len, lines)) <= 120


def test_it_needs_numpy_alone():
    allowed = set(sys.stdlib_module_names) | {"numpy", "pandas"}  # pandas where it is installed, for models that eat it
    for path in CHECKER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            assert {name.split(".")[0] for name in names} <= allowed, path


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.975, 0.9999])
@pytest.mark.parametrize(("hits", "n"), COUNTS)
def test_intervals(check, hits, n, confidence):
    error, expected = 1 - confidence, intervals(hits, n, confidence)
    found = [check.bound(hits, n, each, upper) for each in (error / 2, error) for upper in (False, True)]
    assert found == pytest.approx(list(expected.values()), rel=1e-9, abs=0)


def test_of_nothing_the_interval_is_everything(check):
    assert [check.bound(0, 0, 0.05, upper) for upper in (False, True)] == [0.0, 1.0]


@pytest.mark.parametrize("limit", [0.0, 0.01, 0.05, 0.1, 0.5])
def test_verdicts_are_those_of_the_library(check, limit):
    for hits, n, apart, stochastic in [(0, 0, 0, 0), (0, 40, 0, 0), (1, 40, 9, 0), (30, 40, 9, 0), (4, 900, 99, 0)] + [
        (hits, 1000, 0, stochastic) for hits in (0, 1, 10, 60, 100, 101) for stochastic in (0, 1)
    ]:
        bounds = intervals(hits, n, 0.95) if n else {"low": 0.0, "high": 1.0, "lower": 0.0, "upper": 1.0}
        health = (Remark(("stochastic-model", "batch-dependent-model")[hits % 2], "it wavers"),) if stochastic else ()
        counts = {"value": hits / n if n else np.nan, "n": n, "hits": hits, "n_not_comparable": apart}
        how = {"population": "rows", "sensitive": ("sex",), "confidence": 0.95, "threshold": 0.0, "seed": 0}
        share = Share(**bounds, **counts, **how, method="rows", n_queries=2 * n, seconds=0.0, health=health)
        said = check.outcome(share.jsonable(), {"max_share": limit, "min_comparable": 0.9})
        assert said == verdict(share, limit).outcome


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda a: a["shares"][2]["evidence"].update(hits="AAAA"), "the form IndexError"),
        (lambda a: a["shares"].pop(0), "the limit binds what it is about"),
        (lambda a: a["certificate"].pop("plain"), "the form KeyError('plain')"),
        (lambda a: a["rows"]["flips"][0].update(row=10**6), "rows flip"),
        (lambda a: a["cases"][0].update(outputs=["yes", "yes"], gap=0.0), "gaps of "),
        (lambda a: a["sensitivity"][1].update(outcome="passed"), "bounds at 99%: share"),
        (lambda a: a["shares"][0].update(evidence={"kind": "counts"}), "rows/linked/sex: "),
        (lambda a: a.pop("impact"), "the form"),
    ],
)
def test_what_does_not_fit_together_is_refused(run, change, said):
    audit = whole()
    change(audit)
    code, out = run(renewed(audit))
    assert code == 1
    assert any(line.startswith("WRONG") and said in line for line in out.splitlines()), out
    assert out.endswith("refused\n")


TWICE = {
    "cases": ("gap",),
    "impact": ("favourable", "rate", "ratio"),
    "rows": ("n_flipped",),
    "sensitivity": ("hits", "n", "value"),
    "shares": ("high", "hits", "low", "lower", "n", "n_left_out", "threshold", "upper", "value"),
}
"""By section, figures that follow from others in the file, whether or not the verdict rests on them."""


@pytest.mark.parametrize("name", ["shown", "scores"])
def test_figures_that_follow_from_others_are_not_changed_unseen(run, name):
    audit = whole(name)
    unseen = []
    for section, fields in TWICE.items():
        for record in [audit[section]] if section == "rows" else audit[section]:
            for field in fields:
                number = record[field]
                if number is None or (section == "sensitivity" and not record["hits"]):
                    continue
                record[field] = number + (1 if isinstance(number, int) else 0.01 * (number or 1))
                unseen += [(section, field)] if run(renewed(audit))[0] == 0 else []
                record[field] = number
    assert unseen == []


def test_any_section_changed_is_refused_by_its_digest(run):
    """The digest of the whole is made again, those of the sections are not."""
    audit = whole()
    for name in audit["digests"]:
        code, out = run(renewed({**audit, name: [audit[name]]}, sections=False))
        assert code in (1, 2)
        assert f"WRONG        digest of {name}" in out or name.startswith("format")


@pytest.mark.parametrize(
    ("place", "share", "change", "exit_code"),
    [
        (2, "density/linked/sex", {"method": "sequential", "low": 0.0}, 0),
        (0, "rows/linked/sex", {"design": "weighted", "value": 0.5, "low": 0.1}, 3),
        (0, "rows/linked/sex", {"weight_compared": 0.95, "low": 0.1}, 3),
        (0, "rows/linked/sex", {"design": "in 20 groups"}, 3),
    ],
)
def test_a_share_that_cannot_be_checked_is_said_and_leaves_a_verdict_on_it_open(run, place, share, change, exit_code):
    audit = whole()
    audit["shares"][place].update(change)
    code, out = run(renewed(audit))
    assert code == exit_code, out
    assert f"cannot check {share}: share and interval" in out
    assert out.endswith("nothing is wrong, but the verdict is open\n") == (code == 3)


def test_labels_of_rows_may_be_the_same(run):
    audit = made("linked")
    for part in audit["certificate"].values():
        part["row"] = [0] * len(part["row"])
    for flip in audit["rows"]["flips"]:
        flip["row"] = 0
    assert run(renewed(audit))[0] == 0
    audit["rows"]["n_flipped"] = 1
    assert run(renewed(audit))[0] == 1


def test_second_answers_count(run):
    """A row that is no hit when asked again is none."""
    audit = whole()
    part = audit["certificate"]["plain"]
    place = next(i for i, outputs in enumerate(part["outputs"]) if outputs == ["no", "no"])
    part["outputs"][place], part["again"] = ["no", "yes"], [[place, ["yes", "yes"]]]
    assert run(renewed(audit))[0] == 1  # a contradiction, and no remark on it
    plain = next(share for share in audit["shares"] if share["id"] == "rows/plain/sex")
    plain["health"] = [{"check": "stochastic-model", "message": "it wavers"}]
    plain["rates"] = None  # they would be others
    assert run(renewed(concluded(audit, "violated", plain="inconclusive")))[0] == 0
    plain["health"][0]["check"] = "rounding-decides"
    assert run(renewed(concluded(audit, "violated")))[0] == 3
    del part["again"]
    assert run(renewed(audit))[0] == 1


@pytest.mark.parametrize(
    "text", ["", "no JSON", "[]", "{}", "null", '{"format": "fairprobe-audit"}', '{"format": 1e999}']
)
def test_what_is_no_audit(run, text):
    code, out = run(text)
    assert code == 2
    assert out.endswith("not an audit\n")


@pytest.mark.parametrize("version", [1, 3, "2", None])
def test_another_version_is_no_audit(run, version):
    assert run(renewed(whole() | {"format_version": version}))[0] == 2


def test_command(tmp_path):
    command = [sys.executable, CHECKER / "check.py", tmp_path / "missing.json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "")
    assert "Traceback" not in done.stdout


@pytest.fixture
def again(run):
    """Runs the checker with a model of `audits`."""
    return lambda audit, model="model": run(renewed(audit), "--model", f"audits:{model}")


def test_the_model_answers_as_before(again):
    audit = whole()
    n = 2 * len(audit["cases"]) + 2 * len(audit["rows"]["flips"])
    code, out = again(audit)
    assert code == 0, out
    assert f"ok           {n:,} inputs asked again" in out


def test_rows_that_are_not_shown_cannot_be_asked_about(again):
    audit = whole("hidden")
    n = 2 * sum(len(case["case"]) < 3 for case in audit["cases"]) + 2 * len(audit["rows"]["flips"])
    code, out = again(audit)
    assert code == 0, out
    assert f"cannot check {n} inputs again" in out


@pytest.mark.parametrize(
    ("model", "said"),
    [("by_title", "another answer for row"), ("nothing", "AttributeError"), ("model.nothing", "AttributeError")],
)
def test_another_model_or_none_is_found_out(again, model, said):
    code, out = again(whole(), model)
    assert code == 1
    assert said in out


def test_scores_are_asked_again(again):
    assert again(whole("scores"), "score")[0] == 0
    assert again(whole("scores"), "model")[0] == 1


def test_masked_columns_cannot_be_asked_about(again):
    audit = whole()
    audit["about"]["masked"] = audit["about"]["config"]["mask"] = ["age"]
    code, out = again(with_config(audit))
    assert code == 0, out
    assert "asked again" not in out


def test_a_forged_rate_is_refused(run):
    audit = whole()
    plain = next(share for share in audit["shares"] if share["id"] == "rows/plain/sex")
    assert plain["rates"][0]["n"] == plain["n"]
    plain["rates"][0]["rate"] += 0.1
    assert run(renewed(audit))[0] == 1
