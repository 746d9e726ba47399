"""Cases asked about again: what still holds, was fixed, cannot be told or can no longer be asked."""

import json
import os

import numpy as np
import pandas as pd
import pytest
from replayed_runs import CASES, domain, flips, noisy, rows
from sklearn.tree import DecisionTreeClassifier

from fairprobe import Category, Domain, Integer, Link
from fairprobe.cli import main
from fairprobe.errors import DataError
from fairprobe.replaying import CaseStatus, replay
from fairprobe.replaying.saved import Question, SavedCases

HOLDS, FIXED, UNSURE, UNASKABLE = CaseStatus.HOLDS, CaseStatus.FIXED, CaseStatus.UNSURE, CaseStatus.UNASKABLE


def test_what_holds_is_what_the_definition_says():
    every = domain().decode(np.array([[age, sex, town] for age in range(74) for sex in (0, 1) for town in (0, 1)]))
    result = replay(every, flips, domain())
    expected = [HOLDS if 40 < age <= 50 else FIXED for age in every["age"]]
    assert list(result.statuses) == expected
    assert result.n_queries == 2 * 2 * len(every)  # a function may answer otherwise: asked twice
    assert len(result.of(HOLDS)) == expected.count(HOLDS)


def test_outcomes():
    assert replay(CASES, flips, domain()).exit_code == 1
    assert replay(CASES.assign(age=20), flips, domain()).exit_code == 0
    assert replay(CASES.assign(age=200), flips, domain()).exit_code == 4
    assert replay(CASES.iloc[:0], flips, domain()).exit_code == 4
    partly = replay(pd.concat([CASES.assign(age=20), CASES.assign(age=200)]), flips, domain())
    assert (partly.exit_code, partly.n(FIXED), partly.n(UNASKABLE)) == (4, 2, 2)
    assert "2 can no longer be asked (age=200 is none of the domain's values)" in partly.sentence()


@pytest.mark.parametrize(
    ("cases", "why"),
    [
        (CASES.drop(columns="town"), "without town"),
        (CASES.assign(town="Bree"), "town=Bree is none of the domain's values"),
        (CASES.assign(town=None), "is none of the domain's values"),
        (CASES.assign(age=45.5), "age=45.5 is none of the domain's values"),
    ],
)
def test_what_can_no_longer_be_asked(cases, why):
    result = replay(cases, flips, domain())
    assert set(result.statuses) == {UNASKABLE}
    assert result.n_queries == 0
    assert why in result.sentence()


def test_what_constraints_forbid_can_no_longer_be_asked():
    ruled = domain().with_constraints(["age < 45"])
    assert list(replay(CASES, flips, ruled).statuses) == [HOLDS, UNASKABLE]
    alone = domain().with_constraints(["age < 48 or sex == 'Female'"])
    result = replay(CASES, flips, alone)
    assert list(result.statuses) == [HOLDS, UNASKABLE]
    assert "no other member of the family is compared and allowed" in result.reasons


def test_a_model_that_answers_otherwise_fixes_nothing():
    many = pd.concat([CASES] * 50, ignore_index=True)
    result = replay(many, noisy(), domain())
    assert result.n(FIXED) + result.n(UNSURE) + result.n(HOLDS) == 100
    assert result.n(UNSURE) > 20
    assert result.outcome != "passed"
    assert "the model answers the same row differently" in result.sentence()


def test_saved_cases_come_back(tmp_path):
    file = tmp_path / "new" / "cases.json"
    words = Category("word", ['"', "<b>", "ü\ud800"])
    kinds = Domain([Category("flag", [True, False]), words, Integer("sex", 0, 1)], ["sex"])
    cases = pd.DataFrame({"flag": [True, False], "word": ['"', "<b>"], "sex": np.array([0, 1])})
    kept = SavedCases(cases, Question.of(kinds, "label", None), kinds, "a test")
    kept.write(file)
    kept.write(file)
    assert {path.name for path in file.parent.iterdir()} == {"cases.json", ".gitignore"}
    back = SavedCases.read(file)
    assert (back.question, back.domain, back.about) == (kept.question, kinds, "a test")
    assert back.cases.to_dict("records") == cases.to_dict("records")


def test_a_domain_with_a_function_is_saved_without_it(tmp_path):
    ruled = domain().with_constraints([lambda frame: frame["age"] > 20])
    SavedCases(CASES, Question.of(ruled, "label", None), ruled).write(tmp_path / "a.json")
    assert SavedCases.read(tmp_path / "a.json").domain is None


def _broken(**changes):
    content = {
        "format": "fairprobe-cases",
        "format_version": 1,
        "about": "",
        "question": {"sensitive": ["sex"], "links": [], "output": "label", "threshold": 0.0},
        "domain": None,
        "cases": [],
    }
    return json.dumps({**content, **changes})


BAD = [{"format": "other"}, {"format_version": 2}, {"question": {"sensitive": 5}}]
BAD += [{"domain": "sensitive = 3"}, {"domain": 7}, {"cases": {"age": 3}}]


@pytest.mark.parametrize("text", ["{", "\x00\xff", "[" * 100_000, *(_broken(**each) for each in BAD)])
def test_a_file_that_cannot_be_read_is_said(tmp_path, text):
    (tmp_path / "a.json").write_text(text, encoding="latin-1")
    with pytest.raises(DataError, match=r"a\.json must"):
        SavedCases.read(tmp_path / "a.json")
    with pytest.raises(DataError, match="must be a file that can be read"):
        SavedCases.read(tmp_path / "none.json")


@pytest.mark.parametrize("what", ["a pipe", "a hole"])
def test_what_has_no_end_is_not_read(tmp_path, what):
    path = tmp_path / "cases.json"
    os.mkfifo(path) if what == "a pipe" else path.touch()
    if what == "a hole":
        os.truncate(path, 2**40)
    with pytest.raises(DataError, match=r"a file that can be read, got (no regular file|1,099,511,627,776 bytes)"):
        SavedCases.read(path)


def tree_on(*names):
    frame = rows()
    coded = frame.assign(sex=(frame["sex"] == "Male").astype(int), town=(frame["town"] == "Oak").astype(int))
    labels = (coded["age"] + 10 * coded["sex"] > 45).astype(int)
    return DecisionTreeClassifier(random_state=0).fit(coded[list(names)], labels)


CODED = Domain([Integer("age", 17, 90), Integer("sex", 0, 1), Integer("town", 0, 1)], ["sex"])


def test_a_model_that_no_longer_takes_the_sensitive_column():
    cases = pd.DataFrame({"age": [40, 41], "sex": [0, 1], "town": [0, 1]})
    assert set(replay(cases, tree_on("age", "sex", "town"), CODED).statuses) == {HOLDS}
    plain = replay(cases, tree_on("age", "town"), CODED)
    assert set(plain.statuses) == {UNASKABLE}
    assert plain.outcome == "inconclusive"
    assert set(plain.reasons) == {"the model no longer takes sex"}
    linked = replay(cases, tree_on("age", "town"), CODED.with_links([Link("town", "sex", [{0: 0, 1: 1}])]))
    assert UNASKABLE not in linked.statuses, "linked twins differ in what is linked"


def test_cases_of_two_models_in_one_folder(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small = Domain([Integer("age", 17, 90), Integer("sex", 0, 1)], ["sex"])
    for own, name in ((CODED, "a"), (small, "b")):
        cases = pd.DataFrame({"age": [40, 41], "sex": [0, 1], "town": [0, 1]})[list(own.names)]
        SavedCases(cases, Question.of(own, "label", None), own).write(f"cases/{name}.json")
    for names, place in ((("age", "sex", "town"), 0), (("age", "sex"), 2)):
        monkeypatch.setattr("replayed_runs.loaded", tree_on(*names), raising=False)
        assert main(["replay", "cases", "--model", "replayed_runs:loaded", "--out", "out.csv"]) == 1
        assert "of 4 cases 2 still hold, 0 were fixed, 2 can no longer be asked" in capsys.readouterr().out
        assert pd.read_csv("out.csv")["status"].tolist()[place : place + 2] == ["holds", "holds"]
