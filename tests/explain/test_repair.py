from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairprobe import Category, Density, Domain, Integer, Real, search
from fairprobe.domain.nearest import Gower
from fairprobe.errors import DataError, DomainError, SettingError
from fairprobe.explain.repairing import repair
from fairprobe.testing import CountingModel
from small_worlds import WORLDS, World


def brute_force(world, case, gower):
    """The fewest changes that end a case, and the least distance with so many: one family after the other."""
    domain = world.domain
    sensitive = list(domain.sensitive_columns)
    (own,) = world.keys_at(case[None])
    ends = [
        key
        for key, members in world.families.items()
        if key not in world.cases
        and any(np.array_equal(np.array(codes)[sensitive], case[sensitive]) for codes, _ in members)
    ]
    return min(
        (sum(a != b for a, b in zip(key, own, strict=True)), float(gower.distance(np.array([key]), np.array([own]))[0]))
        for key in ends
    )


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("part", [0.2, 0.9])
def test_it_is_minimal(name, seed, part):
    world = World(name, seed, part)
    cases = world.some_cases(40)
    repaired = repair(cases, world.model, world.domain, batch="frame")
    assert (repaired.n_cases, repaired.n_gone, repaired.n_unrepaired) == (len(cases), 0, 0)
    assert repaired.is_minimal.all()
    domain, gower = world.domain, Gower(world.domain)
    codes, after = domain.encode(cases), domain.encode(repaired.repaired)
    for place, key in enumerate(world.keys_at(after)):
        expected = brute_force(world, codes[place], gower)
        assert (repaired.n_changes[place], repaired.distance[place]) == pytest.approx(expected)
        assert key in world.families
        assert key not in world.cases
    assert domain.allows(after).all()
    sensitive = list(domain.sensitive_columns)
    assert np.array_equal(codes[:, sensitive], after[:, sensitive])
    assert repaired.parameters.sum() == repaired.n_changes.sum()
