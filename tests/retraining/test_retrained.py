"""The result: figures for machines and for people, and the picture."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET

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


def test_tables_of_rounds(result):
    assert result.front["round"].tolist() == [2]
    wide = run(
        *[Planted(cells(0, 100 - 20 * i), wrong=cells(200, 200 + 40 * i)) for i in range(4)], max_accuracy_loss=1
    )
    front = wide.front
    assert len(front) == 4
    assert front["left"].is_monotonic_increasing
    assert front["accuracy"].is_monotonic_increasing


def test_the_sentence_has_points_with_their_intervals_and_no_relative_change(result):
    change = result.changes["domain"]
    value, low, high = (signed(-100 * number) for number in (change.difference, change.high, change.low))
    assert f"({value} points, {low} to {high})" in repr(result)
    assert not re.search(r"[+-][\d.]+%", repr(result))


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
