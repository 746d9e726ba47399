"""`estimate` against toys whose share is known, and against slow counts in plain Python."""

import json
import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from fairprobe import Domain, Integer, Real, estimate
from fairprobe.errors import DomainError, HealthWarning, ModelError, SettingError
from fairprobe.estimation.exact import Solved, solve, solving, walk
from fairprobe.model import asking
from fairprobe.model.tables import UnfitError
from fairprobe.testing import CountingModel, box, loans, never

pytestmark = pytest.mark.usefixtures("taken_at_its_word")


@pytest.fixture
def rows_sent(monkeypatch):
    """The rows of each batch that any model is sent: a model whose own methods were replaced would not be solved."""
    rows = []
    plain = asking.checked_answer
    monkeypatch.setattr(asking, "checked_answer", lambda raw, n, *more: rows.append(n) or plain(raw, n, *more))
    return rows


def test_queries_of_solving_and_of_an_attempt_in_vain_are_counted(census_tree, rows_sent, monkeypatch):
    """A query is one row sent to the model, whatever for."""
    tree, domain = census_tree
    share = estimate(tree, domain)
    assert share.method == "exact"
    assert share.n_queries == sum(rows_sent) > 0
    rows_sent.clear()
    monkeypatch.setattr(walk.BoxWalk, "confirm", _not_confirmed)
    share = estimate(tree, domain, method="exact", n_experiments=3)
    assert (share.method, share.detail) == ("sample", "not confirmed")
    assert share.n_queries == sum(rows_sent) > share.n * len(domain.combinations)


def _not_confirmed(self, domain):
    raise UnfitError("not confirmed")


def large_domain(**options):
    return Domain([Integer("x", 0, 10**9), Integer("y", 0, 9), Integer("s", 0, 1)], ["s"], **options)


def above(X):
    return X[:, 1] + X[:, 2] > 5


def test_not_exact_warns_and_samples():
    domain = large_domain()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        share = estimate(above, domain, method="exact", n_experiments=3)
    (warning,) = caught
    assert warning.category is HealthWarning
    assert str(warning.message).startswith("not-exact: ")
    assert str(warning.message).endswith("; sampled instead")
    assert share.method == "sample"
    assert share.n == 3000
    assert share.detail
    assert share.detail in str(warning.message)
    assert warning.filename == __file__, "the warning is about the line that called estimate"


@pytest.mark.parametrize("output", ["score", "value"])
def test_scores_are_not_solved(output):
    with pytest.warns(HealthWarning, match=r"^not-exact: the domain has 20,000,000,020 inputs, over the 2,000,000"):
        share = estimate(above, large_domain(), method="exact", output=output, threshold=0.5, n_experiments=3)
    assert share.method == "sample"


def test_a_domain_too_large_to_be_written_as_a_float():
    """10^360 inputs: nothing here needs that number as a float."""
    wide = [Real(f"x{number}", 0, 10**12 - 1, 1.0) for number in range(30)]
    domain = Domain([*wide, Integer("s", 0, 1)], ["s"])
    share = estimate(lambda X: X[:, -1], domain, output="score", threshold=0.5, n_experiments=2)
    assert share.value == 1


@pytest.mark.parametrize("width", [0.5, 0.05, 0.01])
@pytest.mark.parametrize("toy", [box(), box(low=0, high=9), never()], ids=["box", "always", "never"])
def test_it_stops_as_soon_as_the_interval_is_narrow(toy, width):
    share = estimate(toy.model, toy.domain, method="sample", width=width)
    assert share.method == "sequential"
    assert share.width <= width
    assert share.n < 100_000
    assert (share.low, share.high) == (share.lower, share.upper)
    assert share.low <= toy.share <= share.high
    assert share.n_queries == share.n * 2


@pytest.mark.parametrize(("max_share", "is_above"), [(0.01, True), (0.026, True), (0.028, False), (0.1, False)])
def test_it_stops_as_soon_as_the_side_of_a_limit_is_known(max_share, is_above):
    toy = box()  # 2.7%
    told = []
    share = estimate(
        toy.model,
        toy.domain,
        method="sample",
        max_share=max_share,
        progress=lambda status: told.append(tuple(status.figures.values())),
    )
    assert share.method == "sequential"
    assert (share.low > max_share, share.high <= max_share) == (is_above, not is_above)
    for _, _, low, high in told[:-1]:
        assert low <= max_share < high
    assert told[-1] == (share.n, share.hits, share.low, share.high)


@pytest.mark.parametrize("method", ["sample", "exact"])
def test_worse_off_is_who_gets_the_favourable_outcome_least_often(method):
    toy = loans()
    share = estimate(toy.model, toy.domain, method=method, favourable="lend", n_experiments=10)
    assert share.worse_off == "sex=Female"
    assert share.outcomes.loc["sex=Female"].to_dict() == {"lend": 0, "refuse": share.hits}
    assert estimate(toy.model, toy.domain, favourable="refuse").worse_off == "sex=Male"
    assert estimate(toy.model, toy.domain).worse_off is None


def figures(share):
    summary = share.jsonable()
    del summary["seconds"]
    return json.dumps(summary), None if share.history is None else share.history.tolist()


SETTINGS = [
    {"method": "sample", "n_experiments": 5},
    {"method": "sample", "width": 0.01},
    {"method": "sample", "max_share": 0.02},
    {"method": "exact"},
]


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_fresh_seed_is_recorded_and_gives_the_same_share_again(settings):
    toy = box()
    first, second = (estimate(toy.model, toy.domain, seed=None, **settings) for _ in range(2))
    assert first.seed != second.seed
    assert (first.record is None) or first.record.hits.tolist() != second.record.hits.tolist()
    assert figures(estimate(toy.model, toy.domain, seed=first.seed, **settings)) == figures(first)


NAN = float("nan")
BAD = {
    "confidence must be a number between 0 and 1, both excluded, got": [
        ("confidence", value) for value in (0, 1, 95, -0.5, NAN, "95%", None)
    ],
    "width must lie between 0 and 1, got": [("width", value) for value in (0, -0.1, 1, NAN, "narrow")],
    "max_share must be at least 0 and below 1, got": [("max_share", value) for value in (-0.1, 1, NAN, "1%")],
    "n_samples must be a whole number of at least 1, got": [("n_samples", value) for value in (0, 10.5)],
    "n_experiments must be a whole number of at least 1, got": [("n_experiments", value) for value in (0, -1)],
    "exact_limit must": [("exact_limit", "all")],
    "method must be one of auto, sample, exact; got": [("method", value) for value in ("guess", None)],
    "population must be 'domain', 'valid', a frame of rows or a Density, got": [
        ("population", value) for value in ("everyone", "density", "rows")
    ],
    "seed must be a whole number of at least 0, got": [("seed", value) for value in (-1, 0.5)],
    "output='score' needs a threshold": [("output", "score")],
    "output must be one of": [("output", "rank")],
    "threshold must": [("threshold", -1)],
    "batch must be": [("batch", "list")],
}


@pytest.mark.parametrize("message", BAD)
def test_bad_settings(message):
    toy = box()
    for name, value in BAD[message]:
        with pytest.raises(SettingError, match=message):
            estimate(toy.model, toy.domain, **{name: value})


def nothing(rows):
    return np.zeros(len(rows), dtype=bool)


def one_in_a_million(rows):
    return rows["x"] < 1000


@pytest.mark.parametrize("constraint", [nothing, one_in_a_million])
@pytest.mark.parametrize("options", [{}, {"width": 0.1}, {"method": "sample"}])
def test_a_part_too_thin_to_be_sampled(constraint, options):
    domain = large_domain(constraints=[constraint])
    with pytest.raises(DomainError, match="the constraints must allow 1 in 10,000 inputs at least"):
        estimate(above, domain, "valid", **options)


def test_a_failing_model_raises_a_model_error():
    toy = box()
    with pytest.raises(ModelError, match="this model fails after 30,000 rows"):
        estimate(CountingModel(toy.model, fail_after=30_000), toy.domain, method="sample")


def peak(action):
    tracemalloc.start()
    action()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


def test_memory_does_not_grow_with_n():
    toy = box()

    def run(n_samples, **options):
        options = {"method": "sample", "n_experiments": 20, "n_samples": n_samples, **options}
        return lambda: estimate(toy.model, toy.domain, **options)

    run(2000)()  # imports and tables
    for options in ({}, {"width": 1e-5}):
        assert peak(run(20_000, **options)) < 1.5 * peak(run(2000, **options))


WIDE = Domain([*(Integer(name, 0, 9_999) for name in "xyz"), Integer("sex", 0, 1)], sensitive=["sex"])


@pytest.mark.usefixtures("taken_at_its_word")
def test_a_domain_is_enumerated_if_sampling_would_ask_as_many_rows():
    toy = box()  # 2,000 inputs, 2 members a family
    assert toy.domain.size == 2000
    few, enough = CountingModel(toy.model), CountingModel(toy.model)
    assert estimate(few, toy.domain, n_experiments=1, n_samples=999).method == "sample"
    assert few.n_rows == 2 * 999
    assert estimate(enough, toy.domain, n_experiments=1, n_samples=1000).method == "exact"
    assert enough.n_rows == 2000
    assert estimate(toy.model, toy.domain, n_experiments=1, n_samples=1, method="exact").method == "exact"
    assert estimate(toy.model, toy.domain, exact_limit=1999).method == "sample"


def grown(model, seed=0, n=3_000):
    rng = np.random.default_rng(seed)
    X = WIDE.sample(n, seed=seed).to_numpy(dtype=np.float64)
    return model.fit(X, (X @ [1, -1, 1, 2_000] + rng.normal(0, 4_000, n) > 5_000).astype(int))


def test_a_forest_is_not_tried_where_it_would_take_longer():
    model = grown(RandomForestClassifier(100, random_state=0))
    n_leaves = sum(tree.tree_.n_leaves for tree in model.estimators_)
    share = estimate(model, WIDE, n_experiments=10)
    assert share.method == "sample"
    assert share.detail == (
        f"100 trees with {n_leaves:,} leaves may take longer to count than to sample: 20,000 boxes are allowed"
    )
    assert share.n_queries == 2 * share.n


@pytest.mark.parametrize(("n_boxes", "is_solved"), [(20_000, True), (300, True), (30, False)])
def test_boxes_are_limited(n_boxes, is_solved, monkeypatch):
    """The trees have some 200 leaves and cut the domain into more than 30 boxes and fewer than 300."""
    monkeypatch.setattr(solving, "QUICK_BOXES", n_boxes)
    model = grown(RandomForestClassifier(2, max_depth=5, max_features=1, random_state=0))
    solved = solve(model, WIDE, quickly=True)
    assert isinstance(solved, Solved) == is_solved
    if not is_solved:
        assert solved.n_queries == 0, "the leaves tell beforehand"
