"""What ends a search: each limit alone and together, met exactly, never exceeded."""

import time

import pytest
from sklearn.ensemble import RandomForestClassifier

from fairprobe import Domain, search, testing
from fairprobe.errors import SettingError
from fairprobe.searching import STRATEGIES
from fairprobe.testing import CountingModel

pytestmark = pytest.mark.usefixtures("taken_at_its_word")

BOX = testing.box(n_free=5, levels=20, low=2, high=12)  # 5 % of 3.2 million families
STRATEGY = pytest.mark.parametrize("strategy", list(STRATEGIES))


def run(toy=BOX, model=None, **settings):
    options = {"max_cases": None, "n_walkers": 30, "n_global": 200, "n_local": 20, "seed": 1} | settings
    return search(toy.model if model is None else model, toy.domain, **options, **toy.settings)


def is_prefix(short, long):
    return not short.n_cases or short.to_frame().equals(long.to_frame().iloc[: short.n_cases])


@STRATEGY
@pytest.mark.parametrize("n", [1, 2, 57, 500])
@pytest.mark.thinned(3)
def test_max_cases_is_met_exactly(strategy, n):
    """The last case was the last input judged: with one input fewer it is missing."""
    found = run(strategy=strategy, max_cases=n)
    assert (found.n_cases, found.stop_reason) == (n, "max-cases")
    assert run(strategy=strategy, max_inputs=found.n_judged).n_cases == n
    assert found.n_judged == 1 or run(strategy=strategy, max_inputs=found.n_judged - 1).n_cases == n - 1
    assert is_prefix(found, run(strategy=strategy, max_cases=n + 100))


@STRATEGY
@pytest.mark.parametrize("n", [1, 199, 200, 201, 230, 4321])
@pytest.mark.thinned(3)
def test_max_inputs_is_met_exactly(strategy, n):
    model = CountingModel(BOX.model)
    found = run(strategy=strategy, max_inputs=n, model=model)
    assert (found.n_judged, found.stop_reason) == (n, "max-inputs")
    assert found.n_queries == model.n_rows == 2 * n
    assert is_prefix(found, run(strategy=strategy, max_inputs=5000))


CONSTRAINED = testing.Toy(
    BOX.model,
    Domain(BOX.domain.parameters, ["group"], [lambda rows: (rows["x0"] < 15) | (rows["group"] == 0)]),
    None,
    None,
)
"""Members of the second group are allowed only below 15: families of one or two."""


@STRATEGY
@pytest.mark.parametrize("n", [2, 3, 399, 402, 3333])
@pytest.mark.parametrize("shard_inputs", [150, 1_000_000])
@pytest.mark.parametrize("toy", [BOX, CONSTRAINED], ids=["all", "constrained"])
@pytest.mark.thinned(6)
def test_max_queries_is_never_exceeded(strategy, n, shard_inputs, toy):
    """Where families differ in size the limit may be missed by what one input more would have cost."""
    model = CountingModel(toy.model)
    found = run(toy, strategy=strategy, max_queries=n, model=model, shard_inputs=shard_inputs)
    assert found.n_queries == model.n_rows
    assert n - 2 < found.n_queries <= n
    assert found.stop_reason == "max-queries"


def test_fewer_queries_than_a_family_takes():
    with pytest.raises(SettingError, match="max_queries must be at least 10, what one input and its twins take, got 9"):
        run(testing.odd_one_out(), max_queries=9)


@STRATEGY
def test_max_seconds(strategy):
    begun = time.monotonic()
    found = run(strategy=strategy, max_seconds=0.1)
    assert found.stop_reason == "max-seconds"
    assert 0.1 <= found.seconds <= time.monotonic() - begun
    assert is_prefix(found, run(strategy=strategy, max_inputs=found.n_judged))


def slow_rows(X):
    time.sleep(0.001 * len(X))
    return BOX.model(X)


def test_max_seconds_with_a_slow_model_ends_within_a_batch():
    found = run(model=slow_rows, max_seconds=0.4, n_global=100_000)
    assert found.stop_reason == "max-seconds"
    assert 0 < found.n_judged < 1000  # not the whole of what was to be sampled
    assert found.n_queries == 2 * found.n_judged


@STRATEGY
def test_nothing_found(strategy):
    found = run(testing.never(n_free=8), strategy=strategy, max_barren=3210)
    assert found.stop_reason == "nothing-found"
    assert (found.n_judged, found.n_cases, found.yield_, found.cases.shape) == (3210, 0, 0.0, (0, 9))


@pytest.mark.parametrize("shard_inputs", [700, 1_000_000])
@STRATEGY
@pytest.mark.thinned(2)
def test_nothing_new(strategy, shard_inputs):
    """One input in 244 is a case: after so many barren inputs the search ends, exactly."""
    toy = testing.box(n_free=6, levels=30, low=0, high=11)

    def again(**limits):
        options = {"shard_inputs": shard_inputs, "n_walkers": 5, "n_global": 20, "n_local": 2}
        return run(toy, strategy=strategy, **options, **limits)

    found = again(max_barren=600)
    assert found.stop_reason == "nothing-new"
    assert found.n_cases > 0
    for fewer, n_missing in ((600, 0), (601, 1)):
        before = again(max_barren=None, max_inputs=found.n_judged - fewer)
        assert before.n_cases == found.n_cases - n_missing


@STRATEGY
def test_exhausted(strategy):
    toy = testing.box(n_free=2, levels=9, low=3, high=5)
    found = run(toy, strategy=strategy)
    assert found.stop_reason == "exhausted"
    assert found.n_cases == toy.n_cases == 9
    assert found.n_inputs == toy.domain.n_families == 81
    assert found.yield_ == pytest.approx(float(toy.share))
    one_less = run(toy, strategy=strategy, max_inputs=found.n_judged - 1)
    assert one_less.n_inputs == 80


LIMITS = {"max_cases": 60, "max_inputs": 1234, "max_queries": 2001, "max_barren": 40}


@STRATEGY
@pytest.mark.parametrize("shard_inputs", [300, 1_000_000])
@pytest.mark.thinned(2)
def test_of_several_limits_the_first_met_counts(strategy, shard_inputs):
    off = {"max_cases": None, "max_barren": None}
    how = {"strategy": strategy, "shard_inputs": shard_inputs}
    alone = [run(**how, **(off | {name: value})) for name, value in LIMITS.items()]
    together = run(**how, **LIMITS)
    first = min(alone, key=lambda found: found.n_judged)
    assert (together.stop_reason, together.n_judged) == (first.stop_reason, first.n_judged)
    assert together.to_frame().equals(first.to_frame())


def test_what_a_stand_in_proposes_is_confirmed_in_time(monkeypatch):
    """A clock of our own: the stand-in answers at once, the model takes a millisecond a case."""
    from fairprobe.searching import shard

    seconds = [0.0]

    def tick():
        seconds[0] += 1e-4
        return seconds[0]

    def slowly(oracle, screen, waiting):
        assert screen is not None
        seconds[0] += 1e-3 * len(waiting.keys)
        return plain(oracle, screen, waiting)

    plain = shard.confirm
    monkeypatch.setattr(shard, "confirm", slowly)
    monkeypatch.setattr("fairprobe.clock.now", tick)
    X = BOX.domain.sample(4000, seed=0).to_numpy()
    forest = RandomForestClassifier(12, random_state=0).fit(X, BOX.model(X))
    found = run(model=forest, max_seconds=2.0, n_walkers=1000, max_barren=None)
    assert found.n_cases > 100
    assert seconds[0] < 2.0 + 3 * shard.SLICE_SECONDS
