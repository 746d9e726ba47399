"""The search is the paper's: input by input with one walker, and by the design's rule with many."""

import numpy as np
import pandas as pd
import pytest
from reference_search import Recording, Reference

import hard_toys
from fairprobe import Category, Domain, Integer, Ordinal, Real, search, testing
from fairprobe.searching import Walk

NAMES = ["uniform", "random", "semi-directed", "fully-directed"]

SMALL = [Integer("x0", 0, 3), Integer("x1", 0, 2), Integer("group", 0, 1)]  # every second move meets a bound
MANY_MOVES = [
    Integer("x0", 0, 30, moves=(-10, -1, 1, 10)),
    Integer("x1", 0, 30, moves=(-3, 1, 2)),
    Integer("group", 0, 1),
]
WIDE_MOVES = [Integer("x0", 0, 8, moves=(-7, -1, 1, 20)), Integer("x1", 0, 300), Integer("group", 0, 1)]
pytestmark = pytest.mark.usefixtures("taken_at_its_word")

KINDS = [
    Category("x0", list(range(9)), moves=(-4, -1, 1, 2)),
    Category("x1", list(range(7))),
    Ordinal("x2", [0, 1, 2, 3, 4]),
    Real("x3", 0, 9, 0.5),
    Integer("x4", 6, 6),
    Integer("group", 0, 1),
]


def on(parameters, rule):
    return testing.Toy(rule, Domain(parameters, ["group"]), None, None)


def diagonal(X):
    return (np.abs(X[:, 0] - X[:, 1]) <= 2) & (X[:, -1] == 1)


def low_corner(X):
    return (X[:, 0] + X[:, 1] < 5) & (X[:, -1] == 1)


TOYS = {
    "box": testing.box(n_free=4, levels=10, low=2, high=6),
    "three-groups": testing.box(n_free=3, levels=12, low=1, high=6, n_groups=3),
    "checkerboard": hard_toys.checkerboard(n_free=3, levels=15, every=3),
    "loans": testing.loans(),
    "odd-one-out": testing.odd_one_out(levels=30),
    "pair": testing.pair(levels=30),
    "score": testing.score(levels=64),
    "proba": testing.proba(levels=64),
    "small": on(SMALL, low_corner),
    "many-moves": on(MANY_MOVES, diagonal),
    "wide-moves": on(WIDE_MOVES, diagonal),
    "kinds": on(KINDS, low_corner),
}


def compare(toy, **settings):
    """Search and reference from the same draws, and everything that must be the same."""
    recording = Recording(toy.model, toy.domain)
    batch = None if all(p.is_numeric for p in toy.domain.parameters) else "frame"
    options = {"n_global": 60, "n_local": 25, "max_inputs": 500 if batch is None else 200, "seed": 0} | settings
    found = search(recording, toy.domain, max_cases=None, max_barren=None, batch=batch, **options, **toy.settings)
    reference = Reference(toy.domain, toy.model, **options, **toy.settings).run()
    free = list(toy.domain.free_columns)
    judged = [tuple(row[c] for c in free) for row in reference.judged]
    assert recording.families()[: len(judged)] == judged
    assert found.n_judged == len(judged)
    assert found.n_inputs == len(set(judged))
    assert found.n_cases == len(reference.cases)
    for position, frame in enumerate((found.cases, found.twins)):
        codes = np.array([pair[position] for pair in reference.cases], dtype=np.int64)
        pd.testing.assert_frame_equal(frame, toy.domain.decode(codes.reshape(-1, len(toy.domain.names))))
    return found, reference


@pytest.mark.parametrize("strategy", NAMES)
@pytest.mark.parametrize("name", TOYS)
@pytest.mark.thinned(3)
def test_one_walker_is_the_papers_algorithm(name, strategy):
    found, reference = compare(TOYS[name], strategy=strategy, n_walkers=1)
    assert found.n_cases > 0
    assert found.stop_reason == ("exhausted" if len(reference.seen) == TOYS[name].domain.n_families else "max-inputs")


@pytest.mark.parametrize("strategy", NAMES[2:])
@pytest.mark.parametrize(("delta_v", "delta_pr"), [(0.0, 0.0), (0.05, 0.05), (0.4, 2.0), (3.0, 0.001)])
def test_steps_of_any_size_clip_and_normalise(strategy, delta_v, delta_pr):
    compare(TOYS["many-moves"], strategy=strategy, n_walkers=1, delta_v=delta_v, delta_pr=delta_pr)


@pytest.mark.parametrize("strategy", NAMES)
@pytest.mark.parametrize("name", TOYS)
@pytest.mark.thinned(3)
def test_walkers_in_lockstep(name, strategy):
    compare(TOYS[name], strategy=strategy, n_walkers=8, n_local=12)


@pytest.mark.parametrize("n_walkers", [1, 8])
@pytest.mark.parametrize("toy", ["box", "many-moves", "kinds"])
@pytest.mark.parametrize("strategy", NAMES[1:])
def test_probabilities_in_the_end(monkeypatch, strategy, toy, n_walkers):
    made, plain = [], Walk.__init__
    monkeypatch.setattr(Walk, "__init__", lambda self, *given: made.append(self) or plain(self, *given))
    _, reference = compare(TOYS[toy], strategy=strategy, n_walkers=n_walkers, delta_v=0.01, delta_pr=0.01)
    (walk,) = made
    np.testing.assert_allclose(walk.down, list(reference.sigma_v.values()), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(walk.choose, list(reference.sigma_pr.values()), rtol=1e-9)
    assert walk.choose.sum() == pytest.approx(1)
    assert (set(walk.down) == {0.5}) == (strategy == "random")
    assert (len({*walk.choose.round(12)}) > 1) == (strategy == "fully-directed")


@pytest.mark.parametrize("strategy", NAMES)
@pytest.mark.parametrize("n_walkers", [1, 8])
def test_every_shard_has_its_own_draws_and_starts_afresh(strategy, n_walkers):
    toy = TOYS["kinds"]
    recording = Recording(toy.model, toy.domain)
    settings = {"strategy": strategy, "n_walkers": n_walkers, "n_global": 60, "n_local": 25, "seed": 5}
    found = search(recording, toy.domain, max_cases=None, max_inputs=750, shard_inputs=300, **settings)
    judged, cases, known, n_inputs = [], [], set(), 0
    for shard, quota in enumerate((300, 300, 150)):
        part = Reference(toy.domain, toy.model, shard=shard, max_inputs=quota, known=known, **settings).run()
        free = [tuple(row[c] for c in toy.domain.free_columns) for row in part.judged]
        judged += free
        n_inputs += len(set(free))
        cases += [case for case, _ in part.cases]
    assert recording.families() == judged
    assert found.n_judged == 750
    assert found.n_inputs == n_inputs
    assert toy.domain.encode(found.cases).tolist() == [list(case) for case in cases]
