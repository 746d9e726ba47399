"""Proxies: who tells a sensitive column, on planted data whose truth is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairprobe.errors import DataError, SettingError
from fairprobe.estimate.proxies import TOGETHER, proxies


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
    assert "alone most by copy 0.8" in found.sentence()
    assert "that it does is not tested here" in found.sentence()
    assert found.summary()["table"][0]["column"] == TOGETHER


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


@pytest.mark.slow
def test_the_intervals_hold():
    """Of 200 data sets, the truth is in the interval of `copy` at 95% for two columns at least 90% of the time."""
    held = 0
    for seed in range(200):
        X = planted(600, seed, flips=0.3)[["copy", "noise", "sex"]]
        table = proxies(X, ["sex"], seed=seed).table.set_index("column")
        held += (table.loc["copy", "low"] <= 0.7 <= table.loc["copy", "high"]) and table.loc["noise", "low"] <= 0.5
    assert held >= 180


def test_the_same_seed_gives_the_same():
    X = planted(500)
    pd.testing.assert_frame_equal(proxies(X, ["sex"]).table, proxies(X, ["sex"]).table)
    assert proxies(X, ["sex"], max_rows=200).n == 200


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
