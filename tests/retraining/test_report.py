"""The report: figures of the very model that is returned, what they are of, and how they are shown."""

import json
from dataclasses import replace

import pytest
from planted import DOMAIN, QUICK, Planted, Script, cells, noisy_rows, rows
from sklearn.tree import DecisionTreeClassifier

from fairprobe import estimate, retrain, search
from fairprobe.errors import HealthWarning
from fairprobe.searching.limits import StopReason

CLONE = "a clone of the model given, fitted to the same rows as the new models"
GIVEN = Planted(cells(0, 113))
WORSE = Planted(cells(0, 60), wrong=cells(200, 260))
"""What a clone comes to; a model with more cases is rejected after it."""

X, y = rows(1000, 3)


def run(*models, given=GIVEN, **options):
    settings = {
        **QUICK, "augment": ["flip"], "labels": "mean", "max_rounds": 1, "trainer": Script(*models), **options,
    }  # fmt: skip
    return retrain(given, X, y, DOMAIN, **settings)


def hits(model, share):
    """The share of a model on the same inputs."""
    return estimate(model, DOMAIN, method="sample", n_experiments=2, seed=share.seed).hits


@pytest.fixture(scope="module")
def rejected():
    """Without rows held out; the clone has 60 cases, the round 200, the model given 113."""
    with pytest.warns(HealthWarning, match="fitted-rows: no rows were held out"):
        return run(WORSE, Planted(cells(0, 200)), controls=True)


def test_the_model_given_has_its_own_figures(rejected):
    assert rejected.model is GIVEN
    for shares in (rejected.before, rejected.after):
        assert shares["domain"].hits == hits(GIVEN, shares["domain"]) != hits(WORSE, shares["domain"])
        assert shares["domain"].value == pytest.approx(113 / 400, abs=0.06)
        assert shares["rows"].value == pytest.approx(113 / 400, abs=0.15)
    assert rejected.accuracy_before == rejected.accuracy_after > 0.75, "the clone is wrong about 15% more"
    assert rejected.loss.value == rejected.changes["domain"].difference == 0
    groups = rejected.groups
    assert (groups["accuracy_before"] == groups["accuracy_after"]).all()
    assert groups.loc["sex=0", "accuracy_before"] == 1, "wrong in no cell of sex 0, where the clone is in 60"


def test_that_its_rows_are_known_to_it_is_said(rejected):
    assert rejected.on_fitted_rows
    assert rejected.before_is == "the model given"
    assert rejected.compared_with == CLONE
    assert rejected.how[2:4] == ("Before is the model given.", f"The rounds were compared with {CLONE}.")
    text = dict(rejected.health)["fitted-rows"]
    assert "share of the rows and its accuracy are on rows it was fitted to; its share of the domain is not" in text
    summary = json.loads(json.dumps(rejected.jsonable()))
    assert summary["on_fitted_rows"] is True
    assert summary["after"]["rows"]["low"] is None, "a count of rows that it knows represents nobody else"
    assert summary["after"]["domain"]["low"] > 0
    assert (summary["before_is"], summary["compared_with"]) == ("the model given", CLONE)


def test_beside_controls_stands_the_clone(rejected):
    """The controls do not know the rows that they are judged on, as the model given does."""
    clone = rejected.controls["clone"]
    assert list(rejected.controls) == ["clone", "constant", "random", "all"]
    assert clone.shares["domain"].hits == hits(WORSE, clone.shares["domain"])
    assert (clone.n_added, clone.why_not) == (0, "")
    assert clone.words == "a clone of the model given, nothing added"


def test_where_a_round_is_accepted_the_clone_is_called_that():
    better = Planted(cells(0, 10))
    result = run(Planted(cells(0, 120)), better)
    assert result.model is better
    assert not result.on_fitted_rows
    assert result.before_is == CLONE
    assert result.how[2] == f"Before is {CLONE}."
    assert repr(result).endswith(f"; before is {CLONE})")
    assert result.after["domain"].hits == hits(better, result.after["domain"])
    assert result.before["domain"].hits == hits(Planted(cells(0, 120)), result.before["domain"])
    assert result.health == ()


def test_a_model_that_is_not_fitted_comes_back_as_its_clone():
    X, y = noisy_rows(400, 1)
    result = retrain(
        DecisionTreeClassifier(random_state=0), X, y, DOMAIN, labels="mean", augment=["flip"], max_rounds=1,
        trainer=Script(WORSE, Planted(cells(0, 200))), **QUICK,
    )  # fmt: skip
    assert result.model is WORSE
    assert result.before["domain"].hits == hits(WORSE, result.before["domain"])
    assert not result.on_fitted_rows
    assert result.how[2] == f"Before is {CLONE}."
    assert result.sentence().startswith("a clone of the model given is returned, as no round was accepted: ")
    assert "so a clone of the model given is returned" in dict(result.health)["not-retrained"]


class Late(Planted):
    """Someone loses patience with the report."""

    is_late = False

    def predict(self, batch):
        if self.is_late:
            raise KeyboardInterrupt
        return super().predict(batch)


def test_interrupted_before_the_report_the_model_given_has_its_own_figures_too():
    given = Late(cells(0, 113))

    def told(status):
        given.is_late = status.text == "judging the report part"

    result = run(WORSE, Planted(cells(0, 200)), given=given, progress=told, controls=True)
    given.is_late = False
    assert result.stop_reason == "interrupted"
    assert result.model is given
    assert not result.is_reported
    assert result.on_fitted_rows
    assert result.before["domain"].seed == result.first.shares["domain"].seed
    assert result.before["domain"].hits == hits(given, result.before["domain"])
    assert result.before["domain"].hits != result.first.shares["domain"].hits
    # A share of training rows has no interval: its bounds are NaN, so from Python 3.13 on it equals nothing, itself not
    # excepted.
    before, after = ({name: share.jsonable() for name, share in each.items()} for each in (result.before, result.after))
    assert before == after
    assert result.accuracy_before == result.accuracy_after > 0.75
    assert result.groups["n"].sum() == result.n_rows["select"]
    assert not any("For the report" in line for line in result.how)
    assert {"not-reported", "not-retrained", "fitted-rows"} <= set(dict(result.health))


def test_interrupted_while_cases_are_searched_for(monkeypatch):
    """A search keeps what it found and says that it was interrupted; all of the retraining is to end then."""

    def interrupted(model, domain, **options):
        return replace(search(model, domain, **options), stop_reason=StopReason.INTERRUPTED)

    monkeypatch.setattr("fairprobe.retraining.augmenting.search", interrupted)
    script = Script(Planted(cells(0, 10)))
    result = run(held_out=rows(1000, 4), augment=["case"], trainer=script)
    assert result.stop_reason == "interrupted"
    assert script.calls == []
    assert result.rounds == []


@pytest.fixture(scope="module")
def result():
    models = [Planted(cells(0, n)) for n in (90, 60, 150)]
    given = Planted(cells(0, 120))
    return run(*models, given=given, held_out=rows(1500, 4), max_rounds=3, controls=True)


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


def test_a_model_on_rows_it_knows_is_no_match_for_the_controls_and_its_clone_is(rejected):
    """The advice names what the control was compared with, on the rows that the clone has not seen."""
    loss = rejected.controls["clone"].judged.loss_to(rejected.controls["constant"].judged, 0.95)
    assert (rejected.recommended == "constant") is (loss.low <= 0 and loss.value <= rejected.max_accuracy_loss)
    advised = replace(rejected, recommended="constant", recommended_loss=loss)
    assert "higher than with a clone of the model given. Accuracy changes by " in advised.sentence()
