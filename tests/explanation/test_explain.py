"""`explain`: planted regions are found again, what is reported holds on fresh inputs, and bad input is refused."""

import json
import re
import statistics
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest

from benchmarks.label_worlds import made_evidence as evidence_of
from benchmarks.planted_regions import PLANTED, planted_regions
from fairprobe import Category, Density, Domain, Explanation, Integer, Rule, explain, search
from fairprobe.errors import DataError, HealthWarning, SettingError
from fairprobe.explanation.region_learning import Pool, learn
from fairprobe.explanation.regions import Axes, measured_regions

JOB = Category("job", ["a", "b", "c", "d"])
DOMAIN = Domain([Integer("age", 18, 67), Integer("grade", 1, 9), JOB, Integer("sex", 0, 1)], ["sex"])


def model(frame):
    """Women of 40 or older in the jobs a and b, above grade 3, are refused."""
    inside = (frame["age"] >= 40) & frame["job"].isin(["a", "b"]) & (frame["grade"] > 3)
    return np.where(inside & (frame["sex"] == 0), "no", "yes")


@pytest.fixture(scope="module")
def found():
    return search(model, DOMAIN, max_cases=300)


@pytest.fixture(scope="module")
def why(found):
    return explain(found, model, favourable="yes", max_queries=60_000)


def pool_of(evidence, axes):
    return Pool(evidence, axes, evidence.judge(evidence.population.sample(20_000, evidence.rng("sample"))))


@pytest.mark.parametrize(
    ("name", "seeds"),
    [
        *((name, range(1)) for name in ("one", "xor", "thin", "kin, rules and links")),
        *(pytest.param(name, range(20), marks=pytest.mark.slow) for name in PLANTED),
    ],
)
def test_planted_regions_are_found(name, seeds):
    """F1 by volume, at least 0.95 as the median over seeds, none below 0.85, and at most twice as many regions."""
    scores = []
    for seed in seeds:
        toy = planted_regions(name, seed)
        cases = search(toy, toy.domain, max_cases=1000, seed=seed, batch="frame")
        evidence = evidence_of(toy, toy.domain, codes=toy.domain.encode(cases.cases), batch="frame", seed=seed)
        axes = Axes(toy.domain)
        rules = [axes.rule(box) for box in learn(pool_of(evidence, axes))]
        assert len(rules) <= 2 * len(toy.rules)
        scores.append(toy.f1(rules))
    assert statistics.median(scores) >= 0.95
    assert min(scores) >= 0.85


def test_the_region_is_told_as_a_constraint(why):
    assert [region.text for region in why.rules] == ["age >= 40 and grade >= 4 and job in ('a', 'b')"]
    region = why.regions[0]
    assert why.rules is why.regions
    assert isinstance(region.rule, Rule)
    assert region.precision == region.coverage == 1
    assert region.low < 1
    assert region.high == 1
    frame = DOMAIN.sample(1000, seed=3)
    assert (region.matches(frame) == (model(frame.assign(sex=0)) == "no")).all()
    assert region.of_domain == pytest.approx(28 / 50 * 6 / 9 * 2 / 4)
    # It can be pasted into a domain: what is left has no case.
    rest = DOMAIN.with_constraints([f"not ({region.text})"])
    assert search(model, rest, max_barren=20_000).n_cases == 0


def test_who_is_worse_off_and_what_would_end_it(why):
    assert "sex=0 is worse off than sex=1" in why.directions.sentences()[0]
    assert why.regions[0].directions.table["fraction"].iloc[0] == 1
    table = why.remedies.table
    assert (table["share_after"] == 0).all()
    assert table["simulated"].all()
    assert set(why.influence.table.index[:3]) == {"age", "grade", "job"}


def test_the_same_seed_gives_the_same(found, why):
    again = explain(found, model, favourable="yes", max_queries=60_000)
    assert {**again.jsonable(), "seconds": 0} == {**why.jsonable(), "seconds": 0}


def test_regions_of_everything_of_nothing_and_of_scores():
    domain = Domain([Integer("age", 18, 67), Integer("sex", 0, 1)], ["sex"])
    by_sex = explain(search(lambda X: X[:, 1], domain), lambda X: X[:, 1], max_queries=10_000)
    assert [region.text for region in by_sex.rules] == ["age is not missing or age is missing"]
    assert by_sex.rules[0].matches(domain.sample(10, seed=0)).all()

    alone = Domain([Integer("sex", 0, 1)], ["sex"])
    nothing = explain(search(lambda X: X[:, 0], alone), lambda X: X[:, 0])
    assert (nothing.rules, nothing.n_cases) == ((), 1)

    def score(X):
        return X[:, 0] / 100 + 0.3 * ((X[:, 0] >= 50) & (X[:, 1] == 1))

    found = search(score, domain, output="value", threshold=0.2, max_cases=100)
    assert explain(found, score, max_queries=40_000).rules[0].text == "age >= 50"


def test_a_density_is_the_population_where_the_search_had_one():
    rows = DOMAIN.sample(3000, seed=1)
    rows = rows[(rows["age"] < 55) | (rows["job"] == "a")]
    density = Density.fit(DOMAIN, rows)
    found = search(model, DOMAIN, density=density, start=rows, max_cases=200)
    why = explain(found, model, y=model(rows) if found.start.frame.index.equals(rows.index) else None)
    assert why.population == "density"
    region = why.rules[0]
    assert region.of_density == pytest.approx(region.matches(density.sample(20_000, seed=5)).mean(), abs=0.02)
    assert region.n_rows == int(region.matches(found.start.frame).sum())


def test_cases_from_rows_with_changes_are_explained():
    rows = DOMAIN.sample(200, seed=1).assign(age=lambda frame: frame["age"] + 0.5)
    found = search(model, DOMAIN, start=rows, max_changes=1, max_cases=100)
    assert explain(found, model, max_queries=40_000).rules[0].precision == 1


def diagonal(X):
    """Regions of this are never pure."""
    return (X[:, 0] + 2 * X[:, 1] + 3 * X[:, 2] > 45) & ((X[:, 0] % 3 > 0) | (X[:, 3] == 1))


SMALL = Domain([Integer("a", 0, 29), Integer("b", 0, 9), Integer("c", 0, 9), Integer("sex", 0, 1)], ["sex"])


@pytest.mark.parametrize(("n_sets", "n_each", "least"), [(1, 12, 9), pytest.param(20, 20, 369, marks=pytest.mark.slow)])
def test_intervals_hold_for_all_regions_at_once(n_sets, n_each, least):
    every = np.array(list(product(range(30), range(10), range(10), [0])))
    truth = diagonal(every) != diagonal(every + np.array([0, 0, 0, 1]))
    axes = Axes(SMALL)
    n_covered = 0
    for learned in range(n_sets):
        evidence = evidence_of(diagonal, SMALL, n=2000, seed=learned)
        boxes = learn(pool_of(evidence, axes))
        true = {axes.rule(box).text: truth[axes.inside(box, axes.coordinates(every))].mean() for box in boxes}
        assert len(boxes) >= 2
        assert min(true.values()) < 0.95
        for seed in range(n_each):
            fresh = evidence_of(diagonal, SMALL, n=200, seed=1000 * learned + seed + 7)
            regions = measured_regions(fresh, axes, boxes)
            n_covered += all(region.low <= true[region.text] <= region.high for region in regions)
    assert n_covered >= least


def test_no_case_and_one_case(found):
    nothing = search(lambda X: X[:, 0] > 40, Domain([Integer("age", 18, 67), Integer("sex", 0, 1)], ["sex"]))
    why = explain(nothing, lambda X: X[:, 0] > 40)
    assert isinstance(why, Explanation)
    assert why.rules == ()
    assert "nothing to explain" in repr(why)
    json.dumps(why.jsonable(), allow_nan=False)
    assert "nothing to explain" in why._repr_html_()
    why = explain(found.cases.head(1), model, domain=DOMAIN, max_queries=40_000)
    assert why.n_cases == 1
    assert why.rules[0].text == "age >= 40 and grade >= 4 and job in ('a', 'b')"


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"favourable": "Yes"}, SettingError, "one of 'no', 'yes'; got 'Yes': did you mean 'yes'?"),
        ({"favourable": 1}, SettingError, "one of 'no', 'yes'; got 1"),
        ({"X": DOMAIN.sample(5, seed=0), "y": pd.Series("no", index=range(4, -1, -1))}, DataError, r"\.loc\[X.index\]"),
        ({"X": DOMAIN.sample(5, seed=0), "y": [1, 2]}, DataError, "y must have one label for each of the 5 rows"),
        ({"y": [1, 2]}, DataError, "goes with the rows X"),
        ({"X": DOMAIN.sample(5, seed=0).drop(columns="age")}, DataError, "got none for age"),
        ({"max_queries": 0}, SettingError, "max_queries"),
        ({"max_regions": 0}, SettingError, "max_regions must be a whole number of at least 1, got 0"),
        ({"population": "rows"}, SettingError, "population must be"),
        ({"domain": Domain([Integer("x", 0, 1), Integer("sex", 0, 1)], ["sex"])}, SettingError, "the one searched"),
    ],
)
def test_bad_input_is_refused(found, arguments, error, words):
    with pytest.raises(error, match=words):
        explain(found, model, **arguments)


@pytest.mark.parametrize("most", [300_000, 2_000, 700, 100, 1])
def test_families_of_any_size_are_explained_within_the_budget(most):
    """2 x cases x members queries were wanted, and less was an error."""
    free = [Integer("x", 0, 9), Category("z", list("abc"))]
    domain = Domain([*free, Category("sex", ["F", "M"]), Integer("age", 20, 64)], ["sex", "age"])

    def old_women(X):
        return np.where((X["x"] >= 5) & (X["sex"] == "F") & (X["age"] >= 60), "no", "yes")

    asked = []

    def counted(X):
        asked.append(len(X))
        return old_women(X)

    found = pd.DataFrame(domain.sample(3000, seed=0))
    found = found[found["x"] >= 5]
    X = domain.sample(200, seed=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", HealthWarning)
        why = explain(found, counted, X, old_women(X), domain=domain, favourable="yes", max_queries=most, batch="frame")
    assert why.n_queries == sum(asked) <= most
    cost = 2 * 90
    assert why.n_given == len(found)
    assert why.n_asked == max(most // 4 // cost, min(1, most // cost))
    assert "fewer-cases" in dict(why.health)
    assert most == 300_000 or "fewer-moves" in dict(why.influence.health) or not why.n_cases
    assert f"take {cost}" in str(caught[0].message)
    json.dumps(why.jsonable(), allow_nan=False)
    for words in (*why.sentences(), *dict(why.health).values(), *map(repr, why.rules)):
        assert not re.search(r"\bnan\b|n/a|\bNone\b(?! of)", words), words
    # Nothing was looked for, so nothing is said about what was found.
    assert not ("regions" in why.not_measured and "No region was found" in why.title())
    if most == 300_000:
        assert why.rules[0].text == "x >= 5"
        assert not why.not_measured
    elif most == 1:
        none = f"None of the {len(found):,} cases given was asked about again, so nothing was measured."
        assert why.sentences()[0] == none
        assert set(why.not_measured) == {"regions", "directions", "influence"}
    else:
        assert "not-measured" in dict(why.health)
        assert f"The budget of {most:,} queries was spent before" in " ".join(why.sentences())
