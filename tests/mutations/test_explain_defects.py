"""Defects of explanations, put back one at a time: a check of what users see must catch each."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.label_worlds import made_evidence
from fairprobe import Category, Domain, Integer, Link, Ordinal, Rule, explain, search
from fairprobe.domain.nearest import nearest_rows
from fairprobe.errors import SettingError
from fairprobe.explanation import evidence, explaining, regions, training_data
from fairprobe.explanation.training_data import InData, region_in_data
from fairprobe.searching.start_rows import fewest_changes

pytestmark = pytest.mark.filterwarnings("ignore::fairprobe.errors.HealthWarning")

DOMAIN = Domain([Integer("x", 0, 9), Category("sex", ["Female", "Male"])], ["sex"])


def model(X):
    return np.where((X["x"] >= 5) & (X["sex"] == "Female"), "no", "yes")


def test_absence_from_a_test_that_did_not_reject_is_caught(is_caught):
    def check():
        X = pd.DataFrame({"x": 7, "sex": ["Female"] * 20 + ["Male"] * 20})
        labels = ["yes"] * 9 + ["no"] * 11 + ["yes"] * 14 + ["no"] * 6
        found = region_in_data(Rule("x >= 5"), made_evidence(model, DOMAIN, X, labels, n=100, favourable="yes"))
        assert found.verdict is InData.UNCLEAR

    is_caught(check, training_data, "_absent", lambda told, level: told["p_value"] > level)


def test_figures_of_other_people_are_caught(is_caught):
    """The model's difference in the cases found, and not on the rows themselves."""

    def check():
        X = pd.DataFrame({"x": [7] * 98 + [3] * 902, "sex": ["Female", "Male"] * 500})
        labels = ["yes", "yes", "no", "no"] * 250
        rule = Rule("x >= 0")
        found = region_in_data(rule, made_evidence(model, DOMAIN, X, labels, n=100, favourable="yes"))
        assert found.verdict is not InData.NOT_IN_THE_DATA

    by_sex = lambda _, inside, __: np.where(inside.frame["sex"] == "Male", "yes", "no")  # noqa: E731
    is_caught(check, training_data, "_answers", by_sex)


def test_a_region_called_thin_for_want_of_queries_is_caught(is_caught):
    def check():
        why = explain(search(model, DOMAIN), model, max_queries=400)
        assert why.rules
        assert "thin-regions" not in dict(why.health)

    is_caught(check, regions, "_why_few", lambda *counts: "thin-regions")


def test_a_section_that_is_silently_missing_is_caught(is_caught):
    def check():
        why = explain(search(model, DOMAIN), model, max_queries=30)
        assert not why.influence.n_cases
        assert any("influence: The budget of" in sentence for sentence in why.sentences())

    is_caught(check, explaining, "_not_measured", lambda *of: {})


def test_an_alphabetical_order_is_caught(is_caught):
    def check():
        domain = Domain([Ordinal("size", ["S", "M", "L"]), Integer("sex", 0, 1)], ["sex"], ["size >= 'M'"])
        frame = pd.DataFrame({"size": ["S", "M", "L"], "sex": 0})
        assert domain.constraints[0].matches(frame).tolist() == [False, True, True]

    is_caught(check, Rule, "matches", lambda self, frame: (frame["size"] >= "M").to_numpy())


def test_a_counter_of_8_bits_is_caught(is_caught):
    def check():
        domain = Domain([*(Category(f"c{i}", ["a", "b"]) for i in range(256)), Integer("sex", 0, 1)], ["sex"])
        inputs, rows = np.zeros((1, 257), dtype=np.int64), np.ones((1, 257), dtype=np.int64)
        assert nearest_rows(domain, inputs, rows)[1].tolist() == [1.0]
        assert fewest_changes(domain, inputs, rows)[1].tolist() == [256]

    is_caught(check, np, "min_scalar_type", lambda n: np.dtype("uint8"))


def test_an_error_for_want_of_queries_is_caught(is_caught):
    wide = Domain([Integer("x", 0, 9), Integer("age", 20, 59)], ["age"])
    given = evidence.asked_cases

    def check():
        cases = pd.DataFrame({"x": range(10), "age": 20})
        try:
            why = explain(cases, lambda X: X["age"] > 40, domain=wide, max_queries=1000, batch="frame")
        except SettingError as error:
            raise AssertionError from error
        assert 0 < why.n_asked < why.n_given == 10

    def all_or_none(*a, **how):
        asked = given(*a, **how)
        if asked.n_unasked:
            raise SettingError("max_queries must be higher")
        return asked

    is_caught(check, evidence, "asked_cases", all_or_none)


def test_a_hidden_typo_is_caught(is_caught):
    def check():
        with pytest.raises(SettingError, match="did you mean 'yes'"):
            explain(search(model, DOMAIN), model, favourable="Yes", max_queries=2000)

    def forgiving():
        try:
            check()
        except pytest.fail.Exception as error:
            raise AssertionError from error

    is_caught(forgiving, explaining, "favourable_among", lambda *of: None)


def a_man_of_5_to_7(X):
    return ((X["sex"] == "M") & X["tall"].between(5, 7)).to_numpy()


def test_a_region_that_parts_a_person_from_a_twin_is_caught(is_caught):
    """Remedies decide whole families: a region holds all members of one or none, where a link shifts them."""

    def check():
        parameters = [Integer("tall", 0, 9), Category("sex", ["F", "M"])]
        domain = Domain(parameters, ["sex"], links=[Link("tall", "sex", shift={"F": 0, "M": 4})])
        found = search(a_man_of_5_to_7, domain)
        why = explain(found, a_man_of_5_to_7)
        assert why.regions
        for region in why.regions:
            assert (region.rule.matches(found.cases) == region.rule.matches(found.twins)).all()

    def by_the_first_value(self, axis, condition):
        roles = np.flatnonzero(axis.holds(condition, np.arange(axis.n)))
        codes = self.domain._links.played_by(axis.link, roles, 0)
        return [("", None, np.intersect1d(codes, np.arange(axis.n)))]

    is_caught(check, regions.Axes, "_codes", by_the_first_value)
