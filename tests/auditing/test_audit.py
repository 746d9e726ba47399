"""Shares that are known, the verdict that follows from them, and the content that says so."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from audited import SMALL, linked_domain, model, rows, score, small, titled

import fairprobe
from fairprobe import Derived, Domain, Link
from fairprobe.auditing import phases
from fairprobe.errors import DataError, ModelError, RunError, SettingError
from fairprobe.report.content import flips_words
from fairprobe.report.html import html
from fairprobe.report.markdown import markdown
from fairprobe.store.digests import canonical


def share_of(audit, name):
    return next(share for share in audit.content["shares"] if share["id"] == name)


def test_known_shares(plain_audit):
    share = share_of(plain_audit, "rows/plain/sex")
    assert (share["hits"], share["n"], share["worse_off"]) == (10, 40, "sex=Female")
    assert plain_audit.shares["domain"].value == pytest.approx(0.25)
    assert set(plain_audit.shares) == {"rows", "density", "domain"}
    assert plain_audit.content["rows"]["n_flipped"] == 10


def test_verdict_is_that_of_estimate(linked_audit):
    domain = linked_domain()
    share = fairprobe.estimate(titled, domain, rows(), favourable="yes")
    expected = fairprobe.verdict(share, 0.01)
    assert linked_audit.verdict.sentence == expected.sentence
    assert linked_audit.verdict.outcome == expected.outcome
    assert linked_audit.exit_code == expected.exit_code == 1
    assert linked_audit.content["verdict"]["bound"] == ["rows/linked/sex", "rows/plain/sex"]
    assert linked_audit.shares["rows"] == share


def test_several_parameters_are_split_as_breakdown_does():
    X = rows().assign(race=["A", "B", "B", "A"] * 10)
    audit = fairprobe.audit(model, X, sensitive=["sex", "race"], max_share=0.5, populations=["rows"], **SMALL)
    domain = Domain.from_frame(X, sensitive=["sex", "race"])
    sets = fairprobe.breakdown(model, domain, X)
    assert audit.shares_by_set["rows"] == sets
    assert audit.verdict.sentence == fairprobe.verdict(sets["sex x race"], 0.5).sentence
    names = {share["id"] for share in audit.content["shares"]}
    assert names == {"rows/plain/sex", "rows/plain/race", "rows/plain/sex x race"}


def test_limits_by_who_is_worse_off():
    audit = small(max_share={"sex=Female": 0.05, "sex=Male": 0.2}, favourable="yes", populations=["rows"])
    female, male = audit.verdict.directions
    assert (female.share.hits, male.share.hits) == (10, 0)
    assert (female.outcome, male.outcome, audit.verdict.outcome) == ("violated", "passed", "violated")
    assert female.share.confidence == pytest.approx(0.975)
    audit = small(max_share={"sex=Male": 0.2}, favourable="yes", populations=["rows"])
    assert audit.verdict.outcome == "passed"
    # Ten rows get another outcome, but none a worse one.
    assert "0% of the rows get a worse outcome as sex=Male" in audit.verdict.sentence
    assert "(0 of 40, plain twins, 95% interval" in audit.verdict.directions[0].sentence()
    assert "another outcome" not in audit.verdict.sentence


def test_scores_have_directions_and_thresholds():
    limit = {"max_share": {"sex=Female": 0.05}, "favourable": "highest"}
    audit = small(score, output="score", threshold=0.05, populations=["rows"], **limit)
    assert audit.verdict.directions[0].share.hits == 40
    whats = {row["what"] for row in audit.content["sensitivity"]}
    assert {"threshold 0.1 instead of 0.05", "bounds at 99%"} <= whats


def test_sensitivity_to_links_and_rules():
    domain = linked_domain().with_constraints(["age >= 20"])
    audit = small(titled, domain=domain, max_share=0.01)
    by_name = {row["what"]: row for row in audit.content["sensitivity"]}
    assert by_name["without the link title"]["hits"] == audit.shares["rows"].plain.hits
    assert by_name["without the rule age >= 20"]["hits"] == audit.shares["rows"].hits
    assert "valid" in audit.shares


def test_simulated_shares_of_training_rows_have_no_interval():
    told = {}
    for role in ("training", "held-out"):
        audit = small(rows_are=role, populations=["rows"], explain_queries=20_000)
        told[role] = [each for each in audit.content["why"]["remedies"] if each["population"] == "rows"]
    assert told["training"]
    assert all(each["low"] is each["high"] is None and "% to " not in each["sentence"] for each in told["training"])
    assert all("% to " in each["sentence"] and each["high"] > 0 for each in told["held-out"])


def test_a_case_names_its_row_by_the_label_of_the_index():
    named = [each["origin"]["row"] for each in small().content["cases"] if each["origin"]]
    assert {type(label) for label in named} == {int}, "a label 1001 is not 1001.0"


def test_all_queries_are_counted():
    """Those of plain twins too, where a table of changes shows the linked ones alone."""
    n_rows = []

    def counting(frame):
        n_rows.append(len(frame))
        return titled(frame)

    audit = small(counting, domain=linked_domain().with_constraints(["age >= 20"]), max_share=0.01)
    assert sum(row["n_queries"] for row in audit.content["sampling"]) == sum(n_rows)


def test_without_a_limit_there_is_no_verdict():
    audit = small(populations=["rows"])
    assert audit.verdict.outcome == "no-limit"
    assert (audit.exit_code, audit.content["question"]["max_share"]) == (0, None)


def test_a_model_that_does_not_use_it_is_not_called_fair():
    audit = small(lambda frame: frame["age"] > 40, max_share=0.2, populations=["rows"])
    assert audit.verdict.outcome == "passed"
    text = canonical(audit.content).decode()
    assert "may not use sex" in audit.sentence()
    assert any("look at linked columns and proxies" in each for each in audit.verdict.details)
    assert "fair " not in text.replace("unfair", "")
    assert audit.why is None
    assert audit.content["cases"] == []


def test_a_hidden_parameter_cannot_pass():
    class Blind:
        feature_names_in_ = np.array(["age", "title", "town"])

        def predict(self, frame):
            return (frame["age"] > 40).to_numpy()

    audit = small(Blind(), max_share=0.2, populations=["rows"])
    assert audit.verdict.outcome == "inconclusive"
    assert audit.content["domain"]["hidden"] == ["sex"]


def test_impact_ratios(plain_audit):
    told = {row["value"]: row for row in plain_audit.content["impact"]}
    expected = pd.Series(model(rows()) == "yes").groupby(rows()["sex"].to_numpy()).mean()
    assert {value: row["rate"] for value, row in told.items()} == expected.to_dict()
    assert max(row["ratio"] for row in told.values()) == 1


def test_it_shows_itself(plain_audit):
    assert "violated" in plain_audit._repr_html_()
    assert "violated" in repr(plain_audit)
    assert plain_audit.jsonable()["verdict"]["exit_code"] == 1
    about = plain_audit.content["about"]
    assert (about["data"]["role"], about["selfcheck"]["ok"]) == ("held-out", True)


def test_what_a_domain_says_to_follow_is_no_remark():
    """Pregnancy follows from sex and age group from age; ten years make no difference."""
    rng = np.random.default_rng(0)
    age, sex = rng.integers(20, 60, 300), rng.choice(["Female", "Male"], 300)
    frame = pd.DataFrame({"age": age, "old": age // 10, "sex": sex, "title": np.where(sex == "Male", "Mr", "Ms")})
    domain, link = Domain.from_frame(frame, sensitive=["sex"]), Link("title", "sex", [{"Male": "Mr", "Female": "Ms"}])
    derived = Derived("old", "age", {value: value // 10 for value in range(20, 60)})
    parts = [derived if each.name == "old" else each for each in domain.parameters]
    for told, is_said in ((domain, True), (Domain(parts, ["sex"]).with_links([link]), False)):
        made = fairprobe.audit(model, frame, domain=told, max_share=0.01, populations=["rows"], **SMALL)
        said = [each["message"] for each in made.content["health"] if each["check"] == "determined-column"]
        assert any("'age' determines 'old'" in each for each in said) == bool(said) == is_said


def fails_after(n_calls):
    calls = []

    def fails(frame):
        calls.append(len(frame))
        if len(calls) > n_calls:
            raise ValueError("no more")
        return model(frame)

    return fails


def test_a_failing_model_keeps_what_is_done():
    audit = small(fails_after(4), max_share=0.01)
    assert (audit.verdict.outcome, audit.exit_code, audit.interrupted) == ("violated", 1, None)
    assert [*audit.shares] == ["rows"]
    remarks = {each["check"] for each in audit.content["health"]}
    assert {"no-share", "no-search"} <= remarks
    assert audit.proxies is not None  # which asks no model


def test_without_the_share_that_the_limit_binds_nothing_passes():
    with pytest.raises(ModelError, match="no more") as caught:
        small(fails_after(2), max_share=0.99)
    audit = caught.value.found
    assert audit.interrupted.startswith("shares, which failed")
    assert (audit.verdict.outcome, audit.shares) == ("inconclusive", {})


PHASES = {
    "known_rows": "impact",
    "search": "search",
    "explain": "why",
    "proxies": "proxies",
    "_without_one": "sensitivity",
}


def raising(error):
    def fail(*_, **__):
        raise error

    return fail


@pytest.mark.parametrize("what", PHASES)
def test_any_error_of_a_phase_is_a_remark_of_it(monkeypatch, what):
    error = SettingError("a budget") if what == "explain" else MemoryError("none")
    monkeypatch.setattr(phases, what, raising(error))
    audit = small(max_share=0.01, favourable="yes", populations=["rows"])
    (remark,) = [each for each in audit.content["health"] if each["check"].startswith("no-")]
    assert (remark["check"], remark["phase"]) == (f"no-{PHASES[what]}", PHASES[what])
    assert str(error) in remark["message"]
    assert (audit.verdict.outcome, audit.exit_code) == ("violated", 1)
    parts = {"search": audit.found, "explain": audit.why, "proxies": audit.proxies}
    lost = {what, *(["explain"] if what == "search" else [])}
    assert {name for name, part in parts.items() if part is None} == lost & {*parts}


@pytest.mark.parametrize("error", [MemoryError("none"), RunError("a fault")])
def test_an_error_of_the_bound_share_never_passes(monkeypatch, error):
    monkeypatch.setattr(phases, "breakdown", raising(error))
    with pytest.raises(RunError) as caught:
        small(lambda frame: frame["age"] > 40, max_share=0.5)
    assert caught.value.found.verdict.outcome == "inconclusive"


def test_labels_go_by_their_place_and_few_rows_lose_retraining_alone():
    labels = pd.Series(["yes", "no"] * 20)
    asked = {"max_share": 0.01, "retrain": True, "populations": ["rows"]}
    audit = fairprobe.audit(model, rows(), labels, sensitive=["sex"], **asked, **SMALL)
    phases = {each["phase"]: each["message"] for each in audit.content["health"] if each["check"].startswith("no-")}
    assert {*phases} == {"retraining"}
    assert audit.why is not None
    assert audit.verdict.outcome == "violated"


def test_interrupted_phases_are_kept(monkeypatch):
    monkeypatch.setattr(phases, "proxies", raising(KeyboardInterrupt()))
    audit = small(max_share=0.01)
    assert (audit.interrupted, audit.exit_code, audit.verdict.outcome) == ("proxies", 130, "violated")
    assert audit.why is not None
    assert audit.content["about"]["interrupted"] == "proxies"
    monkeypatch.setattr(phases, "breakdown", raising(KeyboardInterrupt()))
    audit = small(max_share=0.01)
    assert (audit.interrupted, audit.verdict.outcome) == ("shares", "inconclusive")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sensitive": None}, "sensitive must name"),
        ({"max_share": 1.5}, "max_share must be at least 0 and below 1"),
        ({"max_share": {"sex=Female": 0.1}}, "favourable"),
        ({"max_share": {"sex=Femal": 0.1}, "favourable": "yes"}, "did you mean 'sex=Female'"),
        ({"gate": "domain", "populations": ["rows"], "max_share": 0.1}, "gate must be one of the populations rows"),
        ({"populations": ["valid"]}, "constraints"),
        ({"populations": "rows"}, "must be a list"),
        ({"mask": ["twon"]}, "did you mean 'town'"),
        ({"mask": ["sex"]}, "not sensitive"),
        ({"retrain": True}, "labels"),
        ({"report_cases": -1}, "report_cases"),
        ({"y": ["yes"]}, "40 rows"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises((SettingError, DataError), match=message):
        small(**arguments)


@pytest.mark.parametrize("output", ["proba", "score", "value"])
def test_rows_that_move_and_rows_whose_label_changes_are_both_told(output):
    """Of 120 rows, 80 move by more than the threshold and 40 change their label."""

    class Model:
        classes_ = np.array(["no", "yes"])
        feature_names_in_ = np.array(["x", "sex"])

        def likely(self, X):
            return 0.1 + 0.01 * X["x"].to_numpy() + 0.2 * ((X["sex"] == 1) & (X["x"] >= 20)).to_numpy()

        def decision_function(self, X):
            return self.likely(X) - 0.5

        def predict_proba(self, X):
            return np.column_stack([1 - self.likely(X), self.likely(X)])

        def predict(self, X):
            return self.likely(X) if output == "value" else self.classes_[(self.likely(X) > 0.5).astype(int)]

    rows = pd.DataFrame({"x": np.arange(60).repeat(2), "sex": [0, 1] * 60})
    asked = {"output": output, "threshold": 0.1, "populations": ["rows"], **SMALL}
    made = fairprobe.audit(Model(), rows, sensitive=["sex"], **asked).content
    words = "80 real rows would get an answer that moves by more than 0.1"
    if output == "value":
        assert flips_words(made) == words
        assert made["rows"]["n_relabelled"] is None
        return
    assert flips_words(made) == f"{words}, and 40 real rows another label,"
    assert all("40 real rows another label" in form for form in (html(made), markdown(made)))
