from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairprobe import Category, Domain, Integer, search
from fairprobe.domain.nearest import Gower, coordinates, nearest_rows
from fairprobe.errors import DataError, SettingError
from fairprobe.explain.fewest import are_ordered
from fairprobe.explain.shrinking import shrink
from fairprobe.testing import CountingModel
from small_worlds import WORLDS, World


def brute_force(world, case, row, gower):
    """The fewest differences to the row, and the least distance with so many: one family after the other."""
    ordered = are_ordered(world.domain)

    def may(place, value):
        one, other = row[place], case[place]
        if ordered[place] and gower.last[place] not in (one, other):
            return min(one, other) <= value <= max(one, other)
        return value in (one, other)

    return min(
        (sum(a != b for a, b in zip(key, row, strict=True)), far(gower, key, row))
        for key in world.cases
        if all(may(place, value) for place, value in enumerate(key))
    )


def far(gower, one, other):
    return float(gower.distance(np.array([one]), np.array([other]))[0])


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("seed", range(6))
def test_it_is_minimal(name, seed):
    world = World(name, seed)
    rng = np.random.default_rng(seed)
    places = [place for place, key in enumerate(world.keys) if min(key) >= 0]
    row_codes = world.inputs[rng.choice(places, 4)]
    rows = world.domain.decode(row_codes).set_axis(["p", "q", "r", "s"])
    cases = world.some_cases(40)
    shrunk = shrink(cases, world.model, world.domain, towards=rows, batch="frame")
    assert shrunk.n_cases == len(cases) > 2
    assert shrunk.n_gone == 0
    codes = world.domain.encode(cases)
    nearest, distances = nearest_rows(world.domain, codes, row_codes)
    assert shrunk.rows.tolist() == rows.index[nearest].tolist()
    assert shrunk.before["distance"].tolist() == pytest.approx(distances.tolist())
    row_keys, case_keys = world.keys_at(row_codes), world.keys_at(codes)
    gower = Gower(world.domain, coordinates(world.domain, row_codes))
    assert shrunk.is_minimal.all()
    for place, key in enumerate(world.keys_of(shrunk.cases)):
        row = row_keys[nearest[place]]
        assert key in world.cases
        assert world.keys_of(shrunk.twins.iloc[[place]]) == [key]
        assert (shrunk.n_changes[place], shrunk.distance[place]) == pytest.approx(
            brute_force(world, case_keys[place], row, gower)
        )
        assert sum(a != b for a, b in zip(key, row, strict=True)) == shrunk.n_changes[place]
    assert world.domain.allows(world.domain.encode(shrunk.cases)).all()
    assert world.domain.allows(world.domain.encode(shrunk.twins)).all()
    assert (world.model(shrunk.cases) == shrunk.outputs["case"]).all()
    assert (world.model(shrunk.twins) == shrunk.outputs["twin"]).all()
    assert (shrunk.outputs["case"] != shrunk.outputs["twin"]).all()
