"""Why rounds end: limits, trainers that fail, interruptions, cases that run out. What was done before is kept."""

import numpy as np
import pytest
from planted import DOMAIN, QUICK, Outside, Planted, Script, cells, rows

from fairprobe import retrain
from fairprobe.errors import HealthWarning
from fairprobe.progress import Status

GIVEN = Planted(cells(0, 200))
HELD_OUT = rows(1500, 4)
GOOD, BETTER = Planted(cells(0, 100)), Planted(cells(0, 50))


def run(script, **options):
    settings = {**QUICK, "held_out": HELD_OUT, "augment": "flip", "labels": "mean", **options}
    return retrain(GIVEN, *rows(200, 3), DOMAIN, trainer=script, **settings)


@pytest.mark.parametrize(("n", "augment"), [(1, "flip"), (4, "flip"), (2, ["flip", "twins"]), (5, "auto")])
def test_no_more_rounds_than_allowed(n, augment):
    script = Script(*[Planted(cells(0, 190 - 30 * i)) for i in range(6)])
    result = run(script, max_rounds=n, augment=augment)
    assert len(result.rounds) == len(script.calls) == n
    assert result.stop_reason == "max-rounds"


@pytest.mark.parametrize("augment", ["flip", ["flip"]])
def test_rounds_before_a_failure_are_kept(augment):
    script = Script(GOOD, BETTER, MemoryError("rows do not fit"))
    with pytest.warns(HealthWarning, match="round-failed: the trainer must give a model, got MemoryError"):
        result = run(script, augment=augment, controls=True)
    assert result.stop_reason == "failed"
    assert result.failure == "the trainer must give a model, got MemoryError: rows do not fit"
    assert [each.accepted for each in result.rounds] == [True, True]
    assert result.model is BETTER
    assert result.accepted
    assert result.after["domain"].value == pytest.approx(50 / 400, abs=0.05)
    assert dict(result.health)["round-failed"].endswith("; the 2 rounds before it are kept")
    assert all("MemoryError" in control.why_not for name, control in result.controls.items())
    assert result.jsonable()["failure"] == result.failure


@pytest.mark.parametrize("augment", ["flip", ["flip"]])
def test_an_interruption_keeps_what_was_done(augment):
    result = run(Script(GOOD, KeyboardInterrupt()), augment=augment, controls=True)
    assert result.stop_reason == "interrupted"
    assert result.model is GOOD
    assert result.accepted
    assert result.failure is None
    assert result.controls == {}, "who interrupts does not want to wait"
    assert len(result.rounds) == 1
    assert result.after["domain"].value == pytest.approx(100 / 400, abs=0.05)


def outside(n, seed):
    """Half of the rows lie above the domain, where sex decides."""
    X = DOMAIN.sample(n, seed=seed)
    X["x"] += np.where(np.arange(n) % 2, 20, 0)
    return X, Outside().predict(X)


@pytest.mark.parametrize("augment", ["case", "twins"])
def test_there_are_no_cases(augment):
    """Only rows outside the domain are discriminatory: no search can find a case."""
    result = retrain(
        Outside(), *outside(200, 1), DOMAIN, trainer=Script(Planted()), held_out=outside(600, 2), augment=augment,
        labels="mean", **{**QUICK, "controls": True},
    )  # fmt: skip
    assert result.controls["random"].why_not == "no round was tried"
    assert result.controls["all"].why_not == "there are no cases"
    assert result.stop_reason == "no-cases"
    assert result.rounds == []
    assert "no case was found to add" in result.sentence()


def test_progress_in_words(capsys):
    told = []
    result = run(Script(GOOD, BETTER, GIVEN), progress=told.append, controls=True)
    assert told[0] == Status("judging the model given")
    assert [status for status in told if status.is_over] == [
        Status(each.sentence(), {"round": each}, is_over=True) for each in result.rounds
    ]
    assert Status("judging the report part") in told
    assert sum(status.text.startswith("control: ") for status in told) == 3
    assert capsys.readouterr() == ("", "")
    run(Script(GOOD), max_rounds=1, progress=True)
    assert "round 1: " in capsys.readouterr().err
