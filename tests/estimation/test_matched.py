"""Matched twins: people moved to another group by what rows tell, on planted data whose truth is known."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairprobe import Category, Domain
from fairprobe.errors import DataError, SettingError
from fairprobe.estimation.independence import association
from fairprobe.estimation.matched import matched_share
from fairprobe.estimation.matching import Binned, GroupMove


def people(n=1500, seed=0, groups=("f", "m"), missing=0.0):
    """Income depends on the group, debt on income; "role" names married men and women; "noise" depends on nothing."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, len(groups), n)
    married = rng.random(n) < 0.5
    X = pd.DataFrame({"income": np.round(30 + 5 * rng.normal(size=n) + 5 * (group > 0))})
    X["debt"] = np.round(X["income"] / 2 + rng.normal(size=n), 1)
    X["married"] = np.where(married, "yes", "no")
    X["role"] = np.where(married, np.where(group > 0, "Husband", "Wife"), "Single")
    X["noise"] = np.where(rng.random(n) < missing, np.nan, rng.integers(0, 9, n))
    X["region"] = pd.Categorical(rng.choice(["north", "south", "east"], n))
    return X.assign(group=np.array(groups)[group])


def rich(X):
    return np.where(X["income"] > 32, "yes", "no")


def estimated(X, model=rich, **settings):
    domain = Domain.from_frame(X, ["group"], hidden=["group"])
    return matched_share(model, domain, X, batch="frame", **{"keep": [], "n_draws": 8, **settings})


def transport_of(X, keep=()):
    domain = Domain.from_frame(X, ["group"], hidden=["group"])
    columns = [Binned.of(domain[name], X[name]) for name in X if name != "group"]
    group = (X["group"] != X["group"].min()).to_numpy().astype(np.int64)
    return GroupMove.learn(columns, group, keep), columns, group


def moved_frame(X, columns, codes):
    return pd.DataFrame({c.name: X[c.name].array.take(c.firsts[codes[:, i]]) for i, c in enumerate(columns)})


def test_the_share_is_the_planted_one():
    X = people(4000)
    found = estimated(X, favourable="yes", rows_are="held-out", n_draws=20)
    # A woman who earns 28 to 32, or a man who earns 33 to 37, would be on the other side at the other's place.
    lowest = np.where(X["group"] == "f", 28, 33)
    truth = ((X["income"] >= lowest) & (X["income"] < lowest + 5)).mean()
    assert abs(found.value - truth) < 0.04
    assert found.low < truth < found.high
    assert (found.worse_off, found.pairs[0].worse) == ("f", pytest.approx(1, abs=0.05))
    assert found.pairs[0].reproduced > 0.8
    assert len(found.people) == (found.flips >= 0.9).sum() > 300
    assert found.people["income"].between(28, 37).all()
    rate = (X.loc[X["group"] == "f", "income"] > 32).mean()
    assert found.rates.set_index("group").loc["f", "rate"] == pytest.approx(rate)
    assert found.ratio[1] < found.ratio[0] < found.ratio[2] < 1
    assert "association, not a cause" in found.text()
    assert found.jsonable()["pairs"][0]["groups"] == ["f", "m"]


def test_what_moves_and_what_does_not():
    X = people(4000)
    transport, columns, _ = transport_of(X)
    twins = moved_frame(X, columns, transport.draw(np.arange(len(X)), np.random.default_rng(0)))
    is_open = {columns[edges.column].name for edges in transport.edges if edges.is_open}
    assert is_open == {"income", "role"}  # debt depends on the group through income alone
    for name in ("married", "noise", "region"):
        assert twins[name].equals(X[name].astype(twins[name].dtype))
    swapped = X["role"].replace({"Husband": "Wife", "Wife": "Husband"})
    assert (twins["role"] == swapped).all()  # nobody is both a woman and a husband
    apart = (twins["income"] - X["income"]).groupby(X["group"]).mean()
    assert apart.to_dict() == pytest.approx({"f": 5, "m": -5}, abs=0.5)
    assert (twins["debt"] - twins["income"] / 2).std() < 1.3  # moved alone, it would be 2.8


@settings(max_examples=15, deadline=None)
@given(
    st.integers(0, 10**6), st.sets(st.sampled_from(["income", "role", "married", "noise"])), st.sampled_from([0, 0.2])
)
def test_kept_columns_stay_and_values_occur(seed, keep, missing):
    X = people(300, seed, missing=missing)
    transport, columns, _ = transport_of(X, keep)
    some = np.random.default_rng(seed).permutation(300)[:100]
    codes, again = (transport.resampled(rng := np.random.default_rng(seed)).draw(some, rng) for _ in range(2))
    assert (codes == again).all()
    twins, own = moved_frame(X, columns, codes), X.iloc[some].reset_index(drop=True)
    for name in twins:
        assert twins[name].isin(X[name].unique()).all()
        assert twins[name].dtype == X[name].dtype
        assert name not in keep or twins[name].equals(own[name])


def test_rows_at_once_are_as_one_by_one():
    """A number moves to the value at the same rank in the other group, found here without bins, row by row."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.integers(0, 40, 800), "group": rng.choice(["a", "b"], 800)})
    X.loc[X["group"] == "b", "x"] = (X["x"] * 1.5 + 3).round().astype(int)
    transport, columns, group = transport_of(X)
    (step,) = transport.steps
    noise, codes = rng.random((3, 800)), columns[0].codes
    at_once = step.moved(columns, codes[:, None], codes[:, None], group, np.arange(800), noise)
    values = np.unique(X["x"])
    for row in range(0, 800, 7):
        own, others = (np.sort(X["x"][group == each]) for each in (group[row], 1 - group[row]))
        below, equal = (own < X["x"][row]).sum(), (own == X["x"][row]).sum()
        expected = others[int((below + noise[1, row] * equal) / len(own) * len(others))]
        assert abs(values[at_once[row]] - expected) <= 2  # groups lean on all rows by half a row


def test_as_many_as_possible_keep_a_category():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 20_000)
    draw = [rng.choice(["u", "v", "w"], 20_000, p=p) for p in ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5])]
    X = pd.DataFrame({"town": np.where(group, draw[1], draw[0]), "group": np.where(group, "m", "f")})
    transport, columns, _ = transport_of(X)
    twins = moved_frame(X, columns, transport.draw(np.arange(len(X)), np.random.default_rng(0)))
    assert (twins["town"] == X["town"]).mean() == pytest.approx(0.7, abs=0.02)  # 1 - the distance of the distributions
    assert (twins["town"][group == 0] == "w").mean() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("n_strata", [1, 40])
def test_the_test_of_an_edge_holds_its_error(n_strata):
    rng = np.random.default_rng(0)
    p_values = []
    for _ in range(400):
        strata, other = np.arange(400) % n_strata, rng.integers(0, 2, 400)
        p_values.append(association(np.minimum(rng.geometric(0.3, 400), 8), other, strata))
    assert np.mean(np.array(p_values) < 0.05) < 0.09
    assert association(other * 2, other, np.zeros(400, dtype=np.int64)) < 1e-10


def test_a_coin_moves_nobody():
    X = people(1500).drop(columns=["role", "group"])
    coins = [np.random.default_rng([7, seed]).choice(["heads", "tails"], len(X)) for seed in range(4)]
    found = sorted((estimated(X.assign(group=coin)) for coin in coins), key=lambda each: each.value)
    assert found[2].value == 0 <= found[3].value < 0.05
    assert "No column was found to depend on group: these twins equal the people" in found[0].sentence()


def test_each_pair_of_groups_has_its_own_share():
    X = people(2500, groups=("a", "b", "c"))
    X.loc[:9, "group"] = "d"
    found = estimated(X)
    shares = {pair.groups: pair.value for pair in found.pairs}
    assert shares["b", "c"] < 0.01 < shares["a", "c"]
    assert len(shares) == 3
    for name in ("value", "low", "high"):
        assert getattr(found, name) == max(getattr(pair, name) for pair in found.pairs)
    assert "d (10 rows)" in dict(found.health)["small-group"]
    assert found.flips[:10].isna().all()


def test_a_placebo_shows_what_few_rows_do():
    """The group changes the income of the married alone, and the model looks at that of the others."""
    X = people(400).drop(columns=["debt", "role"])
    group, married = X["group"] == "m", X["married"] == "yes"
    X["income"] = X["income"] - 5 * group + 8 * (group & married)
    found = estimated(X, lambda X: (X["income"] < 31) & (X["married"] == "no"))
    assert found.value > 0.01 > found.low == 0
    assert found.has("noisy-twins")
    assert estimated(people(3000)).pairs[0].floor < 0.02


def test_any_index_and_a_seed():
    X = people(600)
    plain, doubled = estimated(X), estimated(X.set_axis([7] * len(X)))
    assert plain.jsonable() == doubled.jsonable()
    assert plain.flips.to_list() == doubled.flips[7].to_list() != estimated(X, seed=1).flips.to_list()


def test_weights_groups_and_training_rows():
    X = people(900)
    heavy = estimated(X, sample_weight=np.where(X["income"].between(28, 37), 1.0, 0.001))
    assert heavy.value > estimated(X).value + 0.1
    twice, each = pd.concat([X, X]), np.tile(np.arange(len(X)), 2)
    wide, short = estimated(twice, groups=each), estimated(twice)
    assert wide.high - wide.value > 1.2 * (short.high - short.value)
    assert "count of training rows" in estimated(X, rows_are="training").sentence()


def test_twins_that_no_constraint_allows_are_not_compared():
    X = people(900)
    domain = Domain.from_frame(X, ["group"], hidden=["group"]).with_constraints(["group != 'm' or income > 1000"])
    settings = {"keep": [], "output": "value", "threshold": 2, "batch": "frame", "n_draws": 5}
    found = matched_share(lambda X: X["income"] * 1.0, domain, X, **settings)
    assert found.flips[X["group"] == "f"].isna().all()
    assert found.flips[X["group"] == "m"].mean() == found.value > 0.9
    assert found.n == (X["group"] == "m").sum() == pytest.approx(900 * found.comparable)


def test_what_could_be_wrong_is_said():
    X = people(900)
    assert estimated(X, keep=None).has("keep-not-said")
    named = estimated(X.rename(columns={"noise": "ageAtEntry"}), keep=None)
    assert (named.keep, named.has("keep-not-said")) == (("ageAtEntry",), False)
    kept = estimated(X, keep=["income", "role"], favourable="yes")
    assert kept.has("kept-not-shared")
    assert kept.has("difference-not-reproduced")
    assert estimated(X[:200]).has("weak-tests")
    assert estimated(X.assign(group=X["group"].where(X.index % 5 > 0))).has("rows-left-out")
    assert estimated(X, lambda X: np.random.default_rng().random(len(X)) > 0.5).unsteady


def parity(n_columns):
    """Rows whose group is the parity of some columns: each alone says nothing about it."""
    X = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (1500, n_columns)), columns=list("xyz")[:n_columns])
    return X.assign(group=np.where(X.sum(axis=1) % 2, "odd", "even"))


def test_groups_that_only_edges_not_found_would_explain_are_refused():
    found = estimated(parity(3), lambda X: X["x"] > 0)
    assert np.isnan(found.value)
    assert (found.low, found.high, len(found.people), found.has("no-edge")) == (0, 1, 0, True)
    assert "of the draws" not in found.text()
    assert "say nothing here" in found.sentence()
    assert estimated(parity(2), lambda X: (X["x"] + X["y"]) % 2).value > 0.95  # the edge shows, given a parent


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"keep": "income"}, SettingError, "keep must be a list of columns, got 'income'"),
        ({"keep": ["Income"]}, SettingError, "got 'Income': did you mean 'income'?"),
        ({"keep": ["income", "debt", "married", "role", "noise", "region"]}, SettingError, "must leave a column"),
        ({"attribute": "role"}, SettingError, "must be a sensitive column that the model does not take, one of group"),
        ({"favourable": "rich"}, SettingError, "one of 'no', 'yes'; got 'rich'"),
        ({"sample_weight": [-1.0] * 100}, DataError, "must be finite and not negative"),
    ],
)
def test_refused(changes, error, message):
    with pytest.raises(error) as caught:
        estimated(people(100), **changes)
    assert message in str(caught.value)


def test_refused_groups():
    X = people(100)
    with pytest.raises(DataError, match="two values of 'group' with 30 rows each, got 90 of f, 10 of m"):
        estimated(X.assign(group=np.repeat(["f", "m"], [90, 10])))
    domain = Domain([Category("a", ["x", "y"]), Category("b", ["y", "z"])], ["a", "b"], hidden=["a", "b"])
    with pytest.raises(SettingError, match="which are a, b; got None"):
        matched_share(rich, domain, pd.DataFrame({"a": ["x"], "b": ["y"]}))
