"""Who is compared with whom: plain and linked twins, hidden columns, drawn inputs, and values that no row has."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import fairprobe
from fairprobe import Category, Density, Domain, Integer, Link, Ordinal, breakdown, compare, estimate, search, verdict
from fairprobe.errors import DataError, DomainError, HealthWarning, SettingError
from fairprobe.estimation.populations import SAMPLES

SPOUSE = Link("relationship", "sex", [{"Male": "Husband", "Female": "Wife"}])
PARAMETERS = [
    Category("relationship", ["Husband", "Wife", "Single"]),
    Integer("age", 20, 39),
    Category("race", ["A", "B"]),
    Category("sex", ["Female", "Male"]),
]
DOMAIN = Domain(PARAMETERS, ["sex"], links=[SPOUSE])


def model(X):
    """Looks at the word alone, and at sex for the young."""
    return np.where((X["relationship"] == "Husband") | ((X["age"] < 23) & (X["sex"] == "Male")), "yes", "no")


ROWS = pd.DataFrame(
    {
        "relationship": ["Husband", "Single", "Wife", "Single", "Husband"],
        "age": [30, 22, 35, 30, 21],
        "race": ["A", "B", "A", "A", "B"],
        "sex": ["Male", "Female", "Female", "Male", "Female"],
    },
    index=["u", "v", "w", "x", "y"],
)


def test_both_sides():
    with pytest.raises(SettingError, match="linked needs a domain with links"):
        estimate(model, DOMAIN.without_links(), ROWS, linked=True)
    with pytest.raises(SettingError, match="linked must be True, False or None"):
        estimate(model, DOMAIN, ROWS, linked="yes")
    share = estimate(model, DOMAIN, ROWS)
    assert share.linked == ("relationship",)
    assert (share.hits, share.n, share.n_not_comparable) == (3, 4, 1)  # y is a female husband
    assert share.plain is not None
    assert share.plain.linked == ()
    assert (share.plain.hits, share.plain.n) == (1, 5)
    assert share.confidence == share.plain.confidence == 0.975
    assert ". With sex alone: 20% of the rows (1 of 5) get another outcome" in share.sentence()
    assert share.jsonable()["plain"]["hits"] == 1


@pytest.mark.parametrize("sensitive", [["sex"], ["sex", "race"]])
@pytest.mark.parametrize("kind", ["labels", "scores", "rules", "density"])
def test_members_that_both_kinds_of_twins_have_are_asked_about_once(sensitive, kind):
    """The figures are those of either kind alone; the model gets fewer rows, and none twice."""
    domain = Domain(PARAMETERS, sensitive, links=[SPOUSE])
    domain = domain.with_constraints(["race != 'B' or age < 38"]) if kind == "rules" else domain
    rng = np.random.default_rng(0)
    rows = pd.concat([domain.without_links().sample(300, seed=0), ROWS], ignore_index=True)
    rows["age"] += 40 * (rng.random(len(rows)) < 0.05)  # some lie outside the domain
    settings = {"scores": {"output": "score", "threshold": 0.1}, "density": {"n_experiments": 2, "n_samples": 200}}
    asked = {**settings.get(kind, {}), "confidence": 0.975}

    def answer(X):
        return (model(X) == "yes") * (X["age"] / 40) if kind == "scores" else model(X)

    people = Density.fit(domain, rows, seed=0) if kind == "density" else rows
    both = estimate(answer, domain, people, **{**asked, "confidence": 0.95})
    for one, linked in zip(both.sides, (True, False), strict=True):
        other = estimate(answer, domain, people, linked=linked, **asked)
        assert (one.hits, one.n, one.low, one.high) == (other.hits, other.n, other.low, other.high)
        assert one.outcomes.equals(other.outcomes)
        assert (one.n_queries < 0.9 * other.n_queries) if one is both.plain else one.n_queries == other.n_queries


def test_by_parameter():
    domain = Domain(PARAMETERS, ["sex", "race"], links=[SPOUSE])
    shares = breakdown(model, domain, ROWS)
    assert {name: share.hits for name, share in shares.items()} == {"sex": 3, "race": 0, "sex x race": 3}
    assert shares["sex"].plain is not None
    assert shares["race"].plain is None  # nothing is linked to it
    assert shares["sex"].confidence == pytest.approx(1 - 0.05 / 2)  # over linked and plain, not over sets
    named = breakdown(model, domain, ROWS, gate="rows plain")["sex"]
    assert named.confidence == named.plain.confidence == pytest.approx(0.95)  # a limit binds one of them alone


def test_which_rows_and_what_becomes_of_them():
    share = estimate(model, DOMAIN, ROWS)
    assert list(share.cases.index) == ["u", "v", "w"]
    pd.testing.assert_frame_equal(share.cases, ROWS.loc[["u", "v", "w"]], check_dtype=False)
    assert share.twins.loc["u", ["relationship", "sex"]].tolist() == ["Wife", "Female"]
    assert share.twins.loc["v", ["relationship", "sex"]].tolist() == ["Single", "Male"]
    assert share.answers.loc["u"].to_dict() == {"sex=Female": "no", "sex=Male": "yes"}
    said = "row u: sex Male -> Female, relationship Husband -> Wife (sex=Female: no, sex=Male: yes)"
    assert share.rows_in_words(1) == [said]
    assert estimate(model, DOMAIN).rows_in_words() == []


def test_models_with_and_without_the_column_are_compared_on_the_same_inputs():
    X = Domain([Integer("a", 0, 9), Integer("b", 0, 1), Integer("sex", 0, 1)], ["sex"]).sample(400, seed=0)
    domain = Domain.from_frame(X, ["sex"], links=[Link("b", "sex", [{0: 0, 1: 1}])])
    y = (X["a"] + 3 * X["sex"] > 5).astype(int)
    with_it = DecisionTreeClassifier(random_state=0).fit(X, y)
    without = DecisionTreeClassifier(random_state=0).fit(X[["a", "b"]], y)
    got = compare(with_it, without, domain, X)
    assert got.plain is not None
    assert got.plain.b.hits == 0  # a column that it does not take changes nothing
    assert got.plain.a.hits > 0
    assert got.plain.n == len(X)


def test_what_is_hidden_is_said():
    domain = Domain(PARAMETERS, ["sex"], links=[SPOUSE], hidden=["sex"])
    share = estimate(lambda X: X["relationship"] == "Husband", domain, ROWS, batch="frame")
    assert (share.n, share.n_not_comparable, share.hits) == (2, 3, 2)
    assert share.plain is None
    assert "without sex, twins are the same to the model or not allowed" in share.sentence()
    assert verdict(share, 0.1).outcome == "violated"
    assert verdict(estimate(lambda X: X["age"] > 3, domain, ROWS, batch="frame"), 0.9).outcome == "inconclusive"


@pytest.mark.parametrize("options", [{}, {"groups": True}])
def test_rows_are_counted_not_the_labels_of_their_index(options):
    """Frames put together have labels that occur twice: nothing may depend on them."""
    many = pd.concat([ROWS] * 30, ignore_index=True)
    options = {name: pd.Series(np.arange(len(many)) % 40, index=many.index) for name in options}
    expected = estimate(model, DOMAIN, many, **options)
    index = np.arange(len(many)) % 3
    options = {name: values.set_axis(index) for name, values in options.items()}
    share = estimate(model, DOMAIN, many.set_axis(index), **options)
    assert (share.hits, share.n, share.low, share.high) == (expected.hits, expected.n, expected.low, expected.high)
    assert share.cases.index.tolist() == (expected.cases.index % 3).tolist()
    assert share.record.rows.places.tolist() == expected.record.rows.index.tolist()
    assert len(share.to_frame()) == share.hits
    with pytest.raises(DataError, match="groups must have the index of the rows"):
        estimate(model, DOMAIN, many.set_axis(index), groups=pd.Series(np.arange(len(many))))


def test_rounding_is_measured_on_the_rows_where_rows_are_given():
    """The constraints may leave no other input; only what is compared is asked about."""
    domain = Domain([Integer("x", 0, 10**6), Integer("s", 0, 2)], {"s": [0, 1]}, [lambda frame: frame["x"] == 7])
    asked = []

    def model(batch):
        asked.append(batch.copy())
        return batch.sum(axis=1) / 8

    share = estimate(model, domain, np.array([[7, 0], [7, 2]]), output="score", threshold=0.0)
    assert (share.n, share.hits) == (2, 2)
    assert {tuple(row) for batch in asked for row in batch.tolist()} == {(7, 0), (7, 1)}


@pytest.mark.parametrize("method", ["sample", "auto"])
def test_a_small_domain_without_an_allowed_input_is_told_at_once(method):
    looked_at = []

    def never(frame):
        looked_at.append(len(frame))
        return np.zeros(len(frame), dtype=bool)

    domain = Domain([Integer("x", 0, 9), Integer("s", 0, 1)], ["s"], [never])
    with pytest.raises(DomainError, match="the constraints must allow an input, got none of 20: loosen them"):
        estimate(lambda batch: batch[:, 0] / 8, domain, "valid", output="score", threshold=0.0, method=method)
    assert sum(looked_at) < 5000


ROLES = Link("role", "sex", [{"F": "Wife", "M": "Husband"}])


def drawn_people(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    sex, age = rng.choice(["F", "M"], n), rng.integers(18, 80, n)
    role = np.where(rng.random(n) < age / 90, np.where(sex == "M", "Husband", "Wife"), "Single")
    return pd.DataFrame({"age": age, "sex": sex, "role": role, "race": rng.choice(["a", "b", "c"], n)})


def of_role(frame):
    return (frame["age"] > 60) & (frame["role"] == "Husband") | (frame["age"] < 22) & (frame["sex"] == "M")


LINKED = Domain.from_frame(drawn_people(), sensitive=["sex"], links=[ROLES])
DENSITY = Density.fit(LINKED, drawn_people())
FEW = {"n_experiments": 20, "n_samples": 500}


def test_every_input_asked_about_is_drawn_from_it():
    asked = []

    def watched(frame):
        asked.append(frame.copy())
        return of_role(frame)

    share = estimate(watched, LINKED, DENSITY, linked=False, **FEW)
    drawn = DENSITY.sample_codes(10_000, np.random.default_rng(np.random.SeedSequence(0, spawn_key=(SAMPLES, 0))))
    plain = LINKED.decode(drawn)
    hits = of_role(plain.assign(sex="M")) != of_role(plain.assign(sex="F"))
    assert share.hits == int(hits.sum())
    assert not ((plain["sex"] == "F") & (plain["role"] == "Husband")).any()  # links bind what is drawn, plain or not


def test_by_parameter_and_of_two_models():
    domain = Domain.from_frame(drawn_people(), sensitive=["sex", "race"], links=[ROLES])
    density = Density.fit(domain, drawn_people())
    shares = breakdown(of_role, domain, density, **FEW)
    assert shares["race"].hits == 0
    assert shares["sex"].hits > 0
    both = compare(of_role, lambda frame: frame["age"] > 30, domain, density, **FEW)
    assert both.b.hits == 0
    assert both.a.hits > 0
    assert both.n == 10_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "exact"}, "method must be auto or sample for a density"),
        ({"sample_weight": np.ones(3)}, "sample_weight are for a population of rows"),
        ({"groups": np.ones(3)}, "groups are for a population of rows"),
    ],
)
def test_what_does_not_go_with_it(arguments, message):
    with pytest.raises(SettingError, match=message):
        estimate(of_role, LINKED, DENSITY, **arguments)


def test_continuous_numbers_are_no_labels():
    domain = Domain([Integer("age", 0, 99), Integer("sex", 0, 1)], sensitive=["sex"])
    for ask in (search, estimate):
        with pytest.raises(Exception, match="say output='value' and a threshold"):
            ask(lambda X: X[:, 0] / 7 + X[:, 1] / 1000, domain)
        with pytest.raises(Exception, match=r"got 1?[0-9]+ different numbers in"):
            ask(lambda X: 1000 * X[:, 0] + X[:, 1], domain)
    assert estimate(lambda X: X[:, 0].astype(float), domain).hits == 0


def test_rows_reach_the_model_with_the_dtypes_of_the_domain():
    seen = []

    def model(X):
        seen.append(X.dtypes.astype(str).to_dict())
        return np.zeros(len(X), dtype=bool)

    kinds = ["red", "blue"]
    domain = Domain([Category("colour", kinds, dtype="category"), Category("sex", ["f", "m"])], sensitive=["sex"])
    estimate(model, domain, pd.DataFrame({"colour": ["blue", "red"], "sex": ["f", "m"]}))
    assert {kind["colour"] for kind in seen} == {"category"}
    with pytest.raises(Exception, match="'colour' must hold the categories of its parameter, got 'green'"):
        estimate(model, domain, pd.DataFrame({"colour": ["green", "red"], "sex": ["f", "m"]}))


def test_what_was_asked_for_and_not_reached_is_said():
    domain = Domain([Integer("age", 0, 999), Integer("sex", 0, 1)], sensitive=["sex"])

    def model(X):
        return (X[:, 0] < 100) & (X[:, 1] == 1)

    wide = estimate(model, domain, width=0.001, n_experiments=2, method="sample")
    assert [name for name, _ in wide.health] == ["wide-interval"]
    open_ = estimate(model, domain, max_share=0.1, n_experiments=2, method="sample")
    assert [name for name, _ in open_.health] == ["not-settled"]
    assert not estimate(model, domain, max_share=0.5, method="sample").health


def test_max_seconds_ends_a_sample_with_a_valid_interval(monkeypatch):
    clock = iter(np.arange(0.0, 1e6, 0.5))
    monkeypatch.setattr("fairprobe.clock.now", lambda: next(clock))
    domain = Domain([Integer("age", 0, 10**6), Integer("sex", 0, 1)], sensitive=["sex"])
    share = estimate(lambda X: X[:, 0] > X[:, 1] + 10**5, domain, width=1e-9, max_seconds=3.0)
    assert (share.method, [name for name, _ in share.health]) == ("sequential", ["wide-interval"])
    assert 0 < share.n < 10**6


class Flips:
    """Looks at age alone, but each answer is turned with a small chance."""

    def __init__(self, chance, seed=0):
        self.chance = chance
        self.rng = np.random.default_rng(seed)

    def __call__(self, X):
        return (X[:, 0] > 50) ^ (self.rng.random(len(X)) < self.chance)


@pytest.mark.parametrize("chance", [0.1, 1e-3])
def test_noise_is_found_out_in_an_estimate(chance):
    domain = Domain([Integer("age", 0, 99), Integer("sex", 0, 1)], sensitive=["sex"])
    rows = pd.DataFrame({"age": np.arange(5000) % 100, "sex": np.arange(5000) % 2})
    for population in ("domain", rows):
        share = estimate(Flips(chance), domain, population, method="sample", n_experiments=10)
        assert [name for name, _ in share.health] == ["stochastic-model"]
        assert share.has("stochastic-model")
        assert verdict(share, 1e-6).outcome == "inconclusive"
        assert share.value < 5 * chance**2 + 1e-3


def unknown_is_refused(frame):
    """Whoever is of an unknown group is refused; else the group does not matter."""
    return np.where(frame["group"].astype(object).isin(["Unknown", 3]), "no", "yes")


def grouped(values, n=60):
    return pd.DataFrame({"age": np.arange(n) % 40 + 20, "group": values})


LETTERS = np.array(["A", "B", "C"] * 20, dtype=object)
FILTERED = {
    "text": lambda: LETTERS,
    "category": lambda: pd.Categorical(LETTERS, categories=["A", "Unknown", "B", "C"]),
    "ordered": lambda: pd.Categorical(LETTERS, categories=["A", "Unknown", "B", "C"], ordered=True),
    "missing": lambda: pd.Categorical([None, *LETTERS[1:]], categories=["A", "B", "C", "Unknown"]),
    "codes": lambda: np.array([1, 2, 4] * 20),
    "nullable codes": lambda: pd.array([1, 2, 4] * 20, dtype="Int64"),
}


@pytest.mark.parametrize("kind", FILTERED)
def test_what_no_row_has_is_not_compared(kind):
    """The same grouped, however their group is stored, are compared with the groups that there are."""
    rows = grouped(FILTERED[kind]())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        domain = Domain.from_frame(rows, sensitive=["group"])
    assert any("unseen-values" in str(each.message) for each in caught) == (kind != "text")
    assert len(domain.combinations) == 3
    assert estimate(unknown_is_refused, domain, rows, batch="frame").hits == 0
    assert estimate(unknown_is_refused, domain, batch="frame").hits == 0
    assert domain.decode(domain.encode(rows.dropna()))["group"].dtype == rows["group"].dtype
    how = {"populations": ["rows"], "selfcheck": False, "batch": "frame"}
    content = fairprobe.audit(unknown_is_refused, rows, sensitive=["group"], max_share=0.5, **how).content
    assert content["question"]["sensitive"]["group"] == ([1, 2, 4] if "codes" in kind else ["A", "B", "C"])


@pytest.mark.parametrize("kind", ["category", "ordered"])
def test_what_is_listed_is_compared_and_said(kind):
    rows = grouped(FILTERED[kind]())
    with pytest.warns(HealthWarning, match="unseen-values: .* 'group' is compared at 'Unknown', which no row has"):
        domain = Domain.from_frame(rows, sensitive={"group": ["A", "Unknown"]})
    assert estimate(unknown_is_refused, domain, rows).value == 1.0
    given = Ordinal if kind == "ordered" else Category
    parameter = given("group", ["A", "Unknown", "B", "C"], dtype="category")
    with pytest.warns(HealthWarning, match="is compared at 'Unknown'"):
        domain = Domain.from_frame(rows, sensitive=["group"], parameters=[parameter])
    assert estimate(unknown_is_refused, domain, rows).value == 1.0
