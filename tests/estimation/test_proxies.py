"""Proxies: who tells a sensitive column, on planted data whose truth is known."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from fairprobe.errors import DataError, SettingError
from fairprobe.estimation.proxies import TOGETHER, proxies


def planted(n, seed=0, flips=0.2):
    """`copy` is the sex but for some flips, `noise` is nothing, `pair` tells it only together with `key`."""
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, n)
    key = rng.integers(0, 2, n)
    return pd.DataFrame(
        {
            "copy": sex ^ (rng.random(n) < flips),
            "noise": rng.normal(size=n),
            "key": key,
            "pair": key ^ sex,
            "word": rng.choice(["u", "v", "w", None], n),
            "sex": np.where(sex, "m", "f"),
        }
    )


def test_who_tells_it_alone_and_together():
    found = proxies(planted(4000), ["sex"])
    table = found.table.set_index("column")
    assert table.loc["copy", "low"] < 0.8 < table.loc["copy", "high"]  # 1 - flips, by hand
    for name in ("noise", "key", "pair", "word"):
        assert table.loc[name, "low"] < 0.5 < table.loc[name, "high"] + 0.02
    assert table.loc[TOGETHER, "low"] > 0.95
    assert "Alone it is told most by copy 0.8" in found.sentence()
    assert "that it does is not tested here" in found.sentence()
    assert found.jsonable()["table"][0]["column"] == TOGETHER


def test_several_values_and_numbers():
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, 1500)
    X = pd.DataFrame({"years": np.maximum(0, age - 20 + rng.integers(-3, 4, 1500)), "x": rng.random(1500), "age": age})
    X["race"] = rng.choice(["a", "b", "c"], 1500, p=[0.6, 0.3, 0.1])
    X["town"] = np.where(X["race"] == "c", "north", "south")
    table = proxies(X, ["age", "race"]).table.set_index(["sensitive", "column"])
    assert table.loc[("age", "years"), "value"].startswith("above ")
    assert table.loc[("age", "years"), "low"] > 0.95
    assert table.loc[("race", "town"), "value"] == "c"
    assert table.loc[("race", "town"), "auc"] == 1.0
    assert ("race", "age") not in table.index  # one sensitive column is not used to tell another


@pytest.mark.parametrize("copies", [2, 3])
def test_copies_of_rows_tell_nothing(copies):
    """Else the half that is learned from would have the rows that it is tested on."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"sex": rng.choice(["f", "m"], 300), "id": np.arange(300).astype(str), "x": rng.random(300)})
    once, again = proxies(X, ["sex"]), proxies(pd.concat([X] * copies).sample(frac=1, random_state=0), ["sex"])
    assert (again.table["low"] <= 0.5).all()
    assert again.n == once.n == 300


def test_people_who_are_equal_by_design_all_count():
    X = pd.DataFrame({"sex": ["f", "m"] * 50, "town": (["a"] * 2 + ["b"] * 2) * 25})
    assert proxies(X, ["sex"]).n == 100


@pytest.mark.parametrize(
    ("X", "sensitive", "error", "message"),
    [
        (planted(100).to_numpy()[0], ["sex"], DataError, "must have two axes, got the shape"),
        (planted(100), "sex", SettingError, "sensitive must be a list of names, got 'sex'"),
        (planted(100), ["Sex"], SettingError, "got 'Sex': did you mean 'sex'?"),
        (planted(100)[["sex"]], ["sex"], DataError, "need a column that is not sensitive"),
        (planted(100).assign(sex="f"), ["sex"], DataError, "must have two values that 20 rows have each, got 1 values"),
    ],
)
def test_refused(X, sensitive, error, message):
    with pytest.raises(error) as caught:
        proxies(X, sensitive)
    assert message in str(caught.value)


def independent(seed, n=200):
    """Columns of many kinds that have nothing to do with the group."""
    rng = np.random.default_rng([seed, n, 5])
    X = pd.DataFrame({"number": rng.normal(size=n), "tied": rng.poisson(1, n), "seldom": rng.random(n) < 0.08})
    X["town"] = rng.choice([f"town {place}" for place in range(60)], n)
    X["mostly nothing"] = np.where(rng.random(n) < 0.03, rng.normal(size=n), 0)
    X["unknown"] = np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n))
    return X.assign(group=rng.choice(list("abcde"), n, p=np.array([5, 2, 2, 2, 2]) / 13))


def test_nobody_is_called_a_proxy_who_is_none():
    called = sum((proxies(independent(seed), ["group"], seed=seed).table["low"] > 0.5).any() for seed in range(12))
    assert called <= binom.isf(1e-3, 12, 0.025)


def test_together_and_alone_are_of_one_value():
    """Each column's row has the AUC of all together for the value that this column tells best."""
    rng = np.random.default_rng(0)
    race = rng.choice(["a", "b", "c"], 3000, p=[0.5, 0.3, 0.2])
    flips = rng.random((2, 3000)) < np.array([[0.05], [0.25]])
    X = pd.DataFrame({"speech": (race == "a") ^ flips[0], "town": (race == "c") ^ flips[1], "race": race})
    found = proxies(X, ["race"])
    table = found.table.set_index("column")
    assert (table.loc[TOGETHER, "value"], table.loc["town", "value"]) == ("a", "c")
    assert table.loc[TOGETHER, "together"] == table.loc[TOGETHER, "auc"] == table.loc["speech", "together"]
    assert table.loc["town", "auc"] - 0.02 < table.loc["town", "together"] < table.loc[TOGETHER, "auc"]
    alone, together = table.loc["town", ["auc", "together"]]
    assert f"town {alone:.2f} (of race=c, all together {together:.2f})" in found.sentence()


def with_a_rare_value(seed, n=1600, n_rare=24):
    """`speech` tells two common values apart; a third has few rows, and no column tells it."""
    rng = np.random.default_rng([7, seed])
    group = rng.choice(["a", "b"], n, p=[0.7, 0.3]).astype(object)
    X = pd.DataFrame({"speech": rng.normal(size=n) + 0.6 * (group == "b")})
    group[rng.choice(n, n_rare, replace=False)] = "rare"
    towns = {f"town {place}": rng.integers(0, 30, n).astype(str) for place in range(6)}
    return X.assign(**towns, group=group)


def test_a_rare_value_does_not_hide_a_proxy_for_a_common_one():
    """Its AUC by chance is often the largest, and its statistics are farther from the mean than those of the proxy."""
    rows = [proxies(with_a_rare_value(seed), ["group"], seed=seed).table.set_index("column") for seed in range(8)]
    assert sum(table.loc["speech", "low"] > 0.5 for table in rows) >= 7
    assert all(table.loc["speech", "value"] != "rare" for table in rows if table.loc["speech", "low"] > 0.5)
