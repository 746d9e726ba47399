"""Settings that few people change: together in one object, or each by its name, to the same effect."""

from __future__ import annotations

import dataclasses
import inspect
import re

import pytest
from planted import DOMAIN, QUICK, Planted, Script, cells, rows

from fairprobe import retrain
from fairprobe.errors import SettingError
from fairprobe.retraining import RetrainSettings

RARE = {name: value for name, value in QUICK.items() if name != "max_seconds"}


def run(**options):
    script = Script(Planted(cells(0, 100)), Planted(cells(0, 50)))
    keywords = {"held_out": rows(1500, 4), "augment": ["flip"], "labels": "mean", "max_seconds": None, **options}
    return retrain(Planted(cells(0, 200)), *rows(200, 3), DOMAIN, trainer=script, **keywords)


def without_seconds(value):
    if isinstance(value, dict):
        return {key: without_seconds(inner) for key, inner in value.items() if key != "seconds"}
    return [without_seconds(inner) for inner in value] if isinstance(value, list) else value


def test_together_or_by_name():
    apart = run(**RARE, max_rounds=2, confidence=0.9)
    together = run(settings=RetrainSettings(**RARE, max_rounds=2, confidence=0.9))
    assert without_seconds(apart.summary()) == without_seconds(together.summary())
    assert apart.before["domain"].confidence == 0.9
    assert len(apart.rounds) == 2


def test_what_is_named_overrides_the_settings():
    settings = RetrainSettings(**RARE, max_rounds=5, confidence=0.9)
    result = run(settings=settings, max_rounds=1)
    assert len(result.rounds) == 1
    assert result.before["domain"].confidence == 0.9
    assert settings.max_rounds == 5


def test_the_defaults_are_what_they_were():
    expected = {
        "accept": "shown", "prove_accuracy": False, "max_rounds": 12, "search_seconds": 60.0,
        "strategy": "fully-directed", "n_select": None, "n_report": None, "confidence": 0.95, "threshold": None,
        "output": "label", "batch": None, "controls": True,
    }  # fmt: skip
    assert dataclasses.asdict(RetrainSettings()) == expected
    assert not set(expected) & set(inspect.signature(retrain).parameters)
    # Python 3.13 takes the indentation off.
    assert all(re.search(rf"^ *{name} \(", retrain.__doc__, re.MULTILINE) for name in expected)


def test_arguments_and_fields_are_all_in_the_docstring():
    names = inspect.signature(retrain).parameters
    assert all(re.search(rf"^ *{name}: ", retrain.__doc__, re.MULTILINE) for name in names)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"max_round": 3}, r"retrain\(\) got an unexpected keyword argument 'max_round': did you mean 'max_rounds'\?"),
        ({"comittee": []}, "'comittee': did you mean 'committee'?"),
        ({"verbosity": 3}, "unexpected keyword argument 'verbosity'$"),
        ({"how": 3}, "unexpected keyword argument 'how'"),
    ],
)
def test_a_keyword_that_there_is_not(keywords, message):
    with pytest.raises(TypeError, match=message):
        run(**keywords)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"accept": "always"}, "accept must be one of shown, paper, got 'always'"),
        ({"max_rounds": 0}, "max_rounds must be a whole number of at least 1, got 0"),
        ({"n_select": 2.5}, "n_select must be a whole number"),
        ({"n_report": 0}, "n_report must be a whole number"),
        ({"search_seconds": -1}, "search_seconds must be a number above 0, got -1"),
        ({"confidence": 1}, "confidence must be a number between 0 and 1"),
        ({"output": "score"}, "needs a threshold"),
        ({"strategy": "unifrm"}, "did you mean 'uniform'"),
    ],
)
def test_values_are_refused_where_they_are_set(fields, message):
    for call in (RetrainSettings, run):
        with pytest.raises(SettingError, match=message):
            call(**fields)


def test_settings_of_another_kind():
    with pytest.raises(SettingError, match="settings must be a RetrainSettings, got"):
        run(settings={"max_rounds": 3})


def test_settings_stay_as_they_are():
    with pytest.raises(dataclasses.FrozenInstanceError):
        RetrainSettings().max_rounds = 3
