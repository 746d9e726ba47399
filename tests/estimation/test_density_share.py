"""The share of a density: of inputs drawn from it, within rules and links."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairprobe import Density, Domain, Link, breakdown, compare, estimate
from fairprobe.errors import SettingError
from fairprobe.estimation.estimation import plan
from fairprobe.estimation.populations import SAMPLES

ROLES = Link("role", "sex", [{"F": "Wife", "M": "Husband"}])


def people(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    sex, age = rng.choice(["F", "M"], n), rng.integers(18, 80, n)
    role = np.where(rng.random(n) < age / 90, np.where(sex == "M", "Husband", "Wife"), "Single")
    return pd.DataFrame({"age": age, "sex": sex, "role": role, "race": rng.choice(["a", "b", "c"], n)})


def model(frame):
    return (frame["age"] > 60) & (frame["role"] == "Husband") | (frame["age"] < 22) & (frame["sex"] == "M")


DOMAIN = Domain.from_frame(people(), sensitive=["sex"], links=[ROLES])
DENSITY = Density.fit(DOMAIN, people())
SMALL = {"n_experiments": 20, "n_samples": 500}


def test_every_input_asked_about_is_drawn_from_it():
    asked = []

    def watched(frame):
        asked.append(frame.copy())
        return model(frame)

    share = estimate(watched, DOMAIN, DENSITY, linked=False, **SMALL)
    drawn = DENSITY.sample_codes(10_000, np.random.default_rng(np.random.SeedSequence(0, spawn_key=(SAMPLES, 0))))
    plain = DOMAIN.decode(drawn)
    hits = model(plain.assign(sex="M")) != model(plain.assign(sex="F"))
    assert share.hits == int(hits.sum())
    assert not ((plain["sex"] == "F") & (plain["role"] == "Husband")).any()  # links bind what is drawn, plain or not


def test_by_parameter_and_of_two_models():
    domain = Domain.from_frame(people(), sensitive=["sex", "race"], links=[ROLES])
    density = Density.fit(domain, people())
    shares = breakdown(model, domain, density, **SMALL)
    assert shares["race"].hits == 0
    assert shares["sex"].hits > 0
    both = compare(model, lambda frame: frame["age"] > 30, domain, density, **SMALL)
    assert both.b.hits == 0
    assert both.a.hits > 0
    assert both.n == 10_000


def test_a_plan():
    planned = plan(DOMAIN, DENSITY, **SMALL)
    assert (planned.how, planned.n_inputs) == ("sample", 10_000)


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
        estimate(model, DOMAIN, DENSITY, **arguments)
