"""An estimate by several workers: the same figures, and bounds that hold when some of it is lost."""

import numpy as np
import pytest

from fairprobe import estimate, testing
from fairprobe.errors import HealthWarning, RunError
from fairprobe.estimation.bounds import intervals
from fairprobe.estimation.bounds.sequence import ConfidenceSequence
from fairprobe.estimation.estimate_run import JudgingTask

BOX = testing.box(n_free=5, levels=20, low=2, high=12)
SAMPLE = {"method": "sample", "n_experiments": 200}


def figures(share):
    return {name: value for name, value in share.jsonable().items() if name != "seconds"}


@pytest.mark.parametrize(
    "options",
    [{"n_experiments": 100}, {"width": 0.02}, {"max_share": 0.2}, {"population": "rows"}, {"method": "exact"}],
    ids=str,
)
def test_two_processes_estimate_the_same(warm_workers, options):
    options = {"method": "sample", **options}
    toy = testing.box(n_free=3, levels=20) if options["method"] == "exact" else BOX
    if options.get("population") == "rows":
        options["population"] = toy.domain.sample(30_000, seed=3)
    one, two = (estimate(toy.model, toy.domain, n_jobs=n_jobs, **options) for n_jobs in (1, 2))
    assert figures(one) == figures(two)
    assert one.cases is None or one.cases.equals(two.cases)


@pytest.fixture
def lossy(monkeypatch):
    """The second shard of every estimate fails whenever it is run."""
    judge = JudgingTask.__call__

    def fail(self, shard, seconds, report):
        return judge(self, shard, seconds, report) if shard != 1 else 1 / 0

    monkeypatch.setattr(JudgingTask, "__call__", fail)
    return monkeypatch


N_LOST = 10_000
"""A batch of inputs with one twin each."""


def test_what_is_lost_counts_both_ways(lossy):
    with pytest.warns(HealthWarning, match="incomplete: 10,000 inputs were left out.* shard 1 failed 3 times: ZeroDiv"):
        share = estimate(BOX.model, BOX.domain, engine="processes", **SAMPLE)
    lossy.undo()
    whole = estimate(BOX.model, BOX.domain, **SAMPLE)
    assert (share.n, share.n_lost) == (190_000, N_LOST)
    assert share.low == intervals.clopper_pearson(share.hits, 200_000, 0.95)[0]
    assert share.high == intervals.clopper_pearson(share.hits + N_LOST, 200_000, 0.95)[1]
    assert share.lower == intervals.lower_bound(share.hits, 200_000, 0.95)
    assert share.upper == intervals.upper_bound(share.hits + N_LOST, 200_000, 0.95)
    assert share.low < whole.low < whole.high < share.high
    assert share.mean_low is None
    assert "10,000 inputs are lost, because shards kept failing; the interval counts them both ways" in share.sentence()


def test_what_is_lost_counts_both_ways_in_a_sequence(lossy):
    share = estimate(BOX.model, BOX.domain, engine="processes", width=0.1, n_experiments=200, method="sample")
    assert share.n_lost == 0  # it was over before
    share = estimate(BOX.model, BOX.domain, engine="processes", width=0.002, n_experiments=200, method="sample")
    assert share.method == "sequential"
    assert share.n_lost == N_LOST
    assert share.high - share.low > N_LOST / 200_000


@pytest.mark.parametrize("hits", [0, 3, 40])
def test_the_interval_of_what_would_have_been_lies_within(hits):
    """Whatever the lost inputs are: hits, misses, or not comparable."""
    rng = np.random.default_rng(hits)
    lost = ConfidenceSequence()
    lost.update(hits, 500)
    lost.lose(60)
    for _ in range(200):
        n = int(rng.integers(0, 61))
        known = ConfidenceSequence()
        known.update(hits, 500)
        known.update(int(rng.integers(0, n + 1)), n)
        assert lost.low <= known.low <= known.high <= lost.high


def test_an_exact_share_does_not_do_with_less(monkeypatch):
    monkeypatch.setattr(JudgingTask, "__call__", lambda self, shard, seconds, report: 1 / 0 if shard == 0 else [])
    toy = testing.box(n_free=2, levels=20)
    with pytest.raises(RunError, match="an exact share needs every input, got 400 families without an answer: shard 0"):
        estimate(toy.model, toy.domain, engine="processes", method="exact")


def test_weighted_rows_do_not_do_with_less(monkeypatch):
    monkeypatch.setattr(JudgingTask, "__call__", lambda self, shard, seconds, report: 1 / 0)
    rows = BOX.domain.sample(50, seed=1)
    with pytest.raises(RunError, match=r"no row may be left out where .* alike, got 50 without an answer"):
        estimate(BOX.model, BOX.domain, rows, sample_weight=np.ones(50), engine="processes")


class EndedError(Exception):
    """In the middle of an estimate."""


ALONE = {"engine": "processes"}
"""In this process, where rows asked are counted, but as workers do it."""


@pytest.mark.parametrize(
    ("options", "first", "then"),
    [
        ({}, {"n_jobs": 2}, ALONE),
        ({"population": "rows"}, {}, {"n_jobs": 2}),
        ({"width": 0.003}, {}, ALONE),
        ({"method": "exact"}, ALONE, {}),
    ],
)
def test_a_stored_estimate_is_taken_up_by_other_workers(warm_workers, tmp_path, options, first, then):
    """Begun by one process, by two, or by one without a thread of its own, and gone on with by another of them."""
    options = {**SAMPLE, **options}
    toy = testing.box(n_free=3, levels=30) if options["method"] == "exact" else BOX
    if options.get("population") == "rows":
        options["population"] = toy.domain.sample(90_000, seed=3)
    whole = figures(estimate(toy.model, toy.domain, **options))
    asked = []

    def model(X):
        asked.append(len(X))
        return toy.model(X)

    def end(status):
        if status.figures["n"] > 25_000:
            raise EndedError

    store = {"store": tmp_path, "model_id": "box"}  # what it has been asked is no part of it
    with pytest.raises(EndedError):
        estimate(model, toy.domain, progress=end, **options, **first, **store)
    assert list((tmp_path / "shards").glob("0*.parquet"))
    asked.clear()
    share = estimate(model, toy.domain, **options, **then, **store)
    assert figures(share) == whole
    assert then == {"n_jobs": 2} or sum(asked) < share.n_queries - 20_000
    asked.clear()
    assert figures(estimate(model, toy.domain, **options, **store)) == whole
    assert sum(asked) <= 2000 + 146  # the canaries, and what is asked in other batches
