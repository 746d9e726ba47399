"""The result: figures for machines and for people, and the picture."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from planted import DOMAIN, QUICK, Planted, Script, cells, rows

from fairprobe import retrain
from fairprobe.wording import signed

HELD_OUT = rows(1500, 4)
BEFORE, AFTER = Planted(cells(0, 120)), Planted(cells(0, 60))


def run(*models, **options):
    settings = {
        **QUICK,
        "held_out": HELD_OUT,
        "augment": ["flip"],
        "labels": "mean",
        "max_rounds": len(models),
        **options,
    }
    return retrain(BEFORE, *rows(100, 3), DOMAIN, trainer=Script(*models), **settings)


@pytest.fixture(scope="module")
def result():
    return run(Planted(cells(0, 90)), AFTER, Planted(cells(0, 150)), controls=True)


def test_a_summary_is_ready_for_json(result):
    summary = json.loads(json.dumps(result.jsonable(), allow_nan=False))
    assert summary["accepted"] is True
    assert summary["chosen"] == 2
    assert [each["accepted"] for each in summary["rounds"]] == [True, True, False]
    assert summary["front"] == [2]
    assert summary["after"]["rows"]["hits"] == result.after["rows"].hits
    change = summary["changes"]["domain"]
    assert change["low"] < change["difference"] < change["high"]
    assert summary["n_inputs"] == {"select": 2000, "report": 2000}
    assert summary["before_is"] == summary["compared_with"] == "the model given"
    assert summary["groups"][0]["group"] == "sex=0"
    assert set(summary["controls"]) == {"constant", "random", "all"}
    assert summary["n_rows"] == result.n_rows
    assert summary["seed"] == 0


def test_a_summary_of_nothing_is_ready_for_json():
    settings = {**QUICK, "controls": True}
    result = retrain(Planted(), *rows(100, 3), DOMAIN, trainer=Script(Planted()), held_out=HELD_OUT, **settings)
    summary = json.loads(json.dumps(result.jsonable(), allow_nan=False))
    assert summary["rounds"] == summary["front"] == []
    assert summary["chosen"] is None


def test_groups_against_a_plain_computation(result):
    """The report part is not told; with sexes split evenly the whole must come out of the groups."""
    groups = result.groups
    assert groups["n"].sum() == result.n_rows["report"]
    for when, accuracy in (("before", result.accuracy_before), ("after", result.accuracy_after)):
        assert np.average(groups[f"accuracy_{when}"], weights=groups["n"]) == pytest.approx(accuracy)
    # Only sex 1 is ever labelled wrong.
    assert groups.loc["sex=0", "accuracy_before"] == groups.loc["sex=0", "accuracy_after"] == 1
    assert groups.loc["sex=1", "accuracy_before"] == pytest.approx(1 - 120 / 400, abs=0.12)
    assert groups.loc["sex=1", "accuracy_after"] == pytest.approx(1 - 60 / 400, abs=0.1)
    assert list(groups.columns) == ["n", "accuracy_before", "selected_before", "accuracy_after", "selected_after"]


def test_tables_of_rounds(result):
    assert result.history["share_domain"].tolist() == [each.shares["domain"].value for each in result.rounds]
    assert result.front["round"].tolist() == [2]
    wide = run(
        *[Planted(cells(0, 100 - 20 * i), wrong=cells(200, 200 + 40 * i)) for i in range(4)], max_accuracy_loss=1
    )
    front = wide.front
    assert len(front) == 4
    assert front["left"].is_monotonic_increasing
    assert front["accuracy"].is_monotonic_increasing


def test_intervals_stand_beside_every_share(result):
    for shares in (result.before, result.after, *(control.shares for control in result.controls.values())):
        for share in shares.values():
            assert share.low <= share.value <= share.high
            assert share.confidence == 0.95
    for each in result.rounds:
        assert each.loss.low <= each.loss.value <= each.loss.high
        assert each.loss.confidence == pytest.approx(1 - 0.05 / 6)  # three rounds, two populations
        for population, change in each.changes.items():
            assert change.low <= change.difference <= change.high
            assert each.jsonable()[f"low_{population}"] <= each.jsonable()[f"share_{population}"]


def test_the_sentence_has_points_with_their_intervals_and_no_relative_change(result):
    change = result.changes["domain"]
    value, low, high = (signed(-100 * number) for number in (change.difference, change.high, change.low))
    assert f"({value} points, {low} to {high})" in repr(result)
    assert not re.search(r"[+-][\d.]+%", repr(result))


def test_words(result):
    text = result.sentence()
    assert text.startswith("domain ")
    assert "; rows " in text
    assert "accuracy +" in text
    assert "debiased" not in text
    assert all(each.sentence().startswith(f"round {each.number}: ") for each in result.rounds)


# The picture


def drawn(result, path):
    result.plot(path)
    return path.read_bytes()


def test_the_same_result_gives_the_same_bytes(result, tmp_path):
    again = run(Planted(cells(0, 90)), AFTER, Planted(cells(0, 150)))
    assert drawn(again, tmp_path / "again.svg") == drawn(result, tmp_path / "first.svg")


def test_what_is_drawn(result, tmp_path):
    text = drawn(result, tmp_path / "front.svg").decode()
    ET.fromstring(text)
    for words in ("share of the domain", "share of the rows", "accuracy", "before", "returned", "rounds, by number"):
        assert words in text
    for number in (1, 2, 3):
        assert f">{number}</text>" in text
    assert "<dc:date>" not in text
