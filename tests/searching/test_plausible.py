"""Within a density: nothing is judged that is less plausible than asked, whatever the strategy."""

import numpy as np
import pandas as pd
import pytest

from fairprobe import Density, Derived, Domain, Integer, Link, search
from fairprobe.errors import DomainError, SettingError
from fairprobe.searching import STRATEGIES
from fairprobe.searching.shard import _Shard

QUICK = {"n_walkers": 60, "n_global": 300, "n_local": 30, "max_inputs": 2500, "max_cases": None}
ROLES = Link("role", "sex", [{"F": "Wife", "M": "Husband"}])


def people(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    sex, age = rng.choice(["F", "M"], n), rng.integers(18, 80, n)
    role = np.where(rng.random(n) < age / 90, np.where(sex == "M", "Husband", "Wife"), "Single")
    pay = np.where(rng.random(n) < 0.3, 0, np.minimum(99, age + rng.integers(0, 20, n)))
    return pd.DataFrame({"age": age, "sex": sex, "role": role, "pay": pay, "town": rng.integers(0, 40, n)})


def model(frame):
    """Pays men more, in a narrow band of ages; and, where nobody is, all of them."""
    band = (frame["age"] > 40) & (frame["age"] < 55) & (frame["town"] < 20)
    nobody = (frame["age"] < 25) & (frame["pay"] > 60)
    return (band | nobody) & (frame["sex"] == "M")


DOMAIN = Domain.from_frame(people(), sensitive=["sex"])


@pytest.fixture(scope="module")
def density():
    return Density.fit(DOMAIN, people())


@pytest.fixture
def judged(monkeypatch):
    batches = []
    plain = _Shard._judge

    def judge(self, members):
        batches.append(members.codes.copy())
        return plain(self, members)

    monkeypatch.setattr(_Shard, "_judge", judge)
    return batches


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("least", [0.05, 0.4])
def test_nothing_below_is_judged(density, judged, strategy, least):
    found = search(model, DOMAIN, strategy=strategy, density=density, min_plausibility=least, **QUICK)
    assert found.n_cases > 20
    assert min(density.plausibility_of(codes).min() for codes in judged) >= least
    said = found.plausibility
    assert said["case"].min() >= least
    assert said["case"].tolist() == density.plausibility(found.cases).tolist()
    assert said["twin"].tolist() == density.plausibility(found.twins).tolist()
    assert ((found.cases["age"] > 40) & (found.cases["age"] < 55)).all()
    # None costs a query: those that were judged took two each, and the cases two more.
    assert found.n_queries <= 2 * (found.n_judged + found.n_cases) + 2000


def test_rows_that_are_less_plausible_are_left_out_and_counted(density, judged):
    rows = people(500, seed=5)
    likely = density.plausibility(rows) >= 0.3
    found = search(model, DOMAIN, density=density, min_plausibility=0.3, start=rows, **QUICK)
    assert found.start.n_implausible == int((~likely).sum())
    assert found.start.frame.index.tolist() == rows.index[likely].tolist()
    assert min(density.plausibility_of(codes).min() for codes in judged) >= 0.3


def test_no_row_is_plausible_enough(density):
    odd = pd.DataFrame({"age": [18, 19], "sex": "M", "role": "Wife", "pay": [95, 96], "town": 3})
    with pytest.raises(SettingError, match=r"a row to start from reaches, got 0.05: the highest among 2 rows is 0"):
        search(model, DOMAIN, density=density, start=odd, **QUICK)


def test_what_is_no_density(density):
    with pytest.raises(SettingError, match=r"density must be a fairprobe.Density, got DataFrame: see Density.fit"):
        search(model, DOMAIN, density=people(), **QUICK)
    other = Domain.from_frame(people().drop(columns="town"), sensitive=["sex"])
    with pytest.raises(DomainError, match="a density must be of the domain that it is used with"):
        search(model, other, density=density, **QUICK)


@pytest.mark.parametrize("strategy", ["fully-directed", "anchored", "genetic"])
def test_rules_and_links_bind_too(judged, strategy):
    ranks = {"Single": 0, "Husband": 1, "Wife": 1}
    rows = people().assign(rank=lambda frame: frame["role"].map(ranks))
    domain = Domain.from_frame(
        rows,
        sensitive=["sex"],
        parameters=[Derived("rank", "role", ranks)],
        constraints=["pay == 0 or town > 2", lambda frame: frame["rank"] >= 0],
        links=[ROLES],
    )
    density = Density.fit(domain, rows)
    found = search(model, domain, strategy=strategy, density=density, **QUICK)
    assert found.n_cases > 20
    assert ((found.cases["pay"] == 0) | (found.cases["town"] > 2)).all()
    assert not ((found.cases["sex"] == "F") & (found.cases["role"] == "Husband")).any()
    assert (found.cases["rank"] == found.cases["role"].map(ranks)).all()
    inputs = np.concatenate(judged)
    assert domain.allows(inputs).all()
    assert density.plausibility_of(inputs).min() >= 0.05
    twins = found.twins
    assert not ((twins["sex"] == "F") & (twins["role"] == "Husband")).any()


def test_rows_with_a_few_changes_stay_plausible(judged):
    rows = people().astype({"pay": float})
    rows.loc[::5, "pay"] += 0.5  # off the grid
    domain = Domain([*DOMAIN.parameters[:3], Integer("pay", 0, 99), Integer("town", 0, 39)], sensitive=["sex"])
    density = Density.fit(domain, rows)
    found = search(model, domain, start=rows, max_changes=2, density=density, min_plausibility=0.2, **QUICK)
    assert found.n_cases > 20
    assert found.origins["n_changes"].max() <= 2
    assert (found.cases["pay"] % 1 != 0).any()
    assert found.plausibility["case"].min() >= 0.2
    outside = rows.assign(town=1000)
    with pytest.raises(SettingError, match="the highest among 2,000 rows is 0"):
        search(model, domain, start=outside, max_changes=2, density=density, **QUICK)
