"""From real rows: cases are about rows given, with no more changes than allowed; values off the grid are kept."""

import numpy as np
import pandas as pd
import pytest

from fairprobe import Category, Derived, Domain, Integer, Link, Real, search

PARAMETERS = [
    Integer("hours", 0, 99, 5),
    Real("rate", 0, 1, 0.1),
    Category("job", ["a", "b", "c", "d"]),
    Integer("age", 20, 60),
    Category("sex", ["f", "m"]),
]
DOMAIN = Domain(PARAMETERS, ["sex"])
QUICK = {"n_walkers": 50, "n_global": 200, "n_local": 20, "max_inputs": 20_000, "max_cases": 400}


def rows(n=200, seed=0):
    """Some of them off the grid, or with values that are none of the domain's."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "hours": rng.integers(0, 99, n),
            "rate": rng.random(n).round(3),
            "job": rng.choice(["a", "b", "c", "other"], n),
            "age": rng.integers(20, 61, n),
            "sex": rng.choice(["f", "m"], n),
        },
        index=[f"p{i}" for i in range(n)],
    )


def model(X):
    return ((X["job"] == "d") | (X["hours"] > 90)) & (X["sex"] == "m") & (X["rate"] > 0.2)


@pytest.mark.parametrize("max_changes", [0, 1, 2])
def test_no_more_is_changed_than_allowed(max_changes):
    X = rows()
    found = search(model, DOMAIN, start=X, max_changes=max_changes, batch="frame", max_barren=4000, **QUICK)
    assert found.n_cases > (5 if max_changes == 0 else 100)
    assert found.settings.strategy == "nearby"
    origins = found.origins
    assert origins["n_changes"].max() == max_changes
    own = X.loc[origins["row"]].reset_index(drop=True)
    free = ["hours", "rate", "job", "age"]
    differ = (own[free].astype(object) != found.cases[free].astype(object)).sum(axis=1)
    assert differ.tolist() == origins["n_changes"].tolist()
    assert (model(found.cases) != model(found.twins)).all()
    assert (found.cases["rate"] * 10 % 1 > 1e-6).any()  # no step of 0.1
    assert set(found.cases["job"]) & {"other"}


def test_as_if_where_values_are_listed():
    domain = Domain(PARAMETERS, {"age": [25, 45]})
    X = pd.DataFrame({"hours": [40], "rate": [0.5], "job": ["a"], "age": [33], "sex": ["f"]})
    found = search(lambda X: X["age"] > 30, domain, start=X, max_changes=0, batch="frame", max_barren=50, **QUICK)
    assert found.in_words() == ["row 0, as if age 25: age 25 -> 45 changes False to True"]


def test_links_and_what_is_derived_go_along():
    link = Link("job", "sex", [{"m": "a", "f": "b"}])
    domain = Domain(
        [*PARAMETERS, Derived("grade", "job", {"a": 1, "b": 1, "c": 2, "d": 3})],
        ["sex"],
        links=[link],
        constraints=["hours < 95 or job != 'd'"],
    )
    X = rows().assign(grade=1)
    X = X[X["job"] != "other"]
    found = search(lambda X: X["job"] == "a", domain, start=X, max_changes=2, batch="frame", max_barren=4000, **QUICK)
    assert found.n_cases > 50
    assert set(found.cases["job"]) | set(found.twins["job"]) == {"a", "b"}
    assert found.origins["n_changes"].max() <= 2
    assert "start-rows-outside" in dict(found.health)  # a man with the job of a woman, say
    plain = search(lambda X: X["job"] == "a", domain, start=X, max_changes=1, batch="frame", linked=False, **QUICK)
    assert plain.n_cases == 0


def test_which_parameters_did_it():
    domain = Domain([Integer("x", 0, 3), PARAMETERS[-1], Category("race", ["a", "b", "c"])], ["sex", "race"])

    def either(X):
        sex, race = X["sex"] == "m", X["race"] == "c"
        return np.select([X["x"] == 0, X["x"] == 1, X["x"] == 2], [sex, race, sex & race], False)

    found = search(either, domain, batch="frame", n_walkers=10, n_global=100)
    rows = found.cases.assign(sets=found.parameters)[["x", "sets", "sex", "race"]].to_numpy().tolist()
    by_x = {x: rest for x, *rest in rows}
    assert by_x[0][0] == "sex"
    assert by_x[1][0] == "race"
    sets, sex, race = by_x[2]
    expected = {("m", "c"): "sex or race", ("f", "c"): "sex", ("m", "a"): "race", ("m", "b"): "race"}
    assert sets == expected.get((sex, race), "sex x race")
    assert set(found.parameters) <= {"sex", "race", "sex or race", "sex x race"}
