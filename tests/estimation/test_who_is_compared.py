"""Who is compared: listed values, missing values, constraints on twins; and never a pass for want of anything."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from fairprobe import Category, Domain, Integer, estimate, search, verdict

CITIES, COUNTRIES = ["Rome", "Oslo"], ["Italy", "Norway"]


def only_pairs_seen(X):
    return (X["city"].map({"Rome": "Italy", "Oslo": "Norway"}) == X["country"]).to_numpy()


DETERMINED = Domain(
    [Integer("age", 0, 99), Category("city", CITIES), Category("country", COUNTRIES)],
    sensitive=["country"],
    constraints=[only_pairs_seen],
)


def looks_at_country(X):
    return (X["country"] == "Italy").to_numpy()


def test_nothing_to_compare_is_no_pass():
    """Each twin is forbidden, so that nothing is known of a model that looks at nothing else."""
    share = estimate(looks_at_country, DETERMINED, "valid")
    held = verdict(share, 0.5)
    assert held.outcome == "inconclusive"
    assert "0% of the allowed part of the domain could be compared" in held.sentence
    assert "may not use" not in held.sentence
    assert json.loads(json.dumps(share.jsonable()))["value"] is None


# A model is asked as it is used


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
