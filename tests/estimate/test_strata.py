"""Strata: unbiased and valid wherever the boxes came from; narrow where they hold the cases."""

from __future__ import annotations

import itertools
import tracemalloc
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import chdtrc

from chance import SURPRISING
from fairprobe import Category, Domain, Integer, Ordinal, Real, estimate, estimate_strata, propose_strata, search
from fairprobe.errors import SettingError
from fairprobe.estimate.bounds.intervals import clopper_pearson
from fairprobe.estimate.bounds.stratified import strata_bounds
from fairprobe.testing import CountingModel, box, never, odd_one_out, score, sparse

pytestmark = pytest.mark.usefixtures("taken_at_its_word")


class Recorder:
    """Keeps the inputs that a callable model is asked about: the first member of each pair of twins."""

    def __init__(self, model):
        self.model = model
        self.inputs = []

    def __call__(self, X):
        self.inputs += X[: len(X) // 2].tolist()
        return self.model(X)


TOY = box()  # all of x0, x1, x2 from 2 to 4, of 10 each: 2.7%
EXACTLY = [{"x0": (2, 4), "x1": (2, 4), "x2": (2, 4)}]
HALF = [{"x0": (2, 4), "x1": (2, 4), "x2": (2, 3)}, {"x0": [7, 9]}]
ELSEWHERE = [{"x0": (5, 9), "x1": (0, 6)}, {"x0": (0, 1), "x2": [0, 5, 9]}]
EVERYTHING = [{"x0": (0, 2)}, {"x0": (3, 9), "x1": (0, 4)}, {"x0": (3, 9), "x1": (5, 9)}]
STRATA = {"exactly": EXACTLY, "half": HALF, "elsewhere": ELSEWHERE, "everything": EVERYTHING}
each_strata = pytest.mark.parametrize("strata", STRATA.values(), ids=STRATA)


def holds(stratum, row):
    """Whether a row of x0, x1, ... lies in a box."""
    for name, values in stratum.items():
        value = row[int(name[1:])]
        inside = values[0] <= value <= values[1] if isinstance(values, tuple) else value in values
        if not inside:
            return False
    return True


def part(stratum, levels=10):
    """How much of the domain a box is."""
    sizes = [v[1] - v[0] + 1 if isinstance(v, tuple) else len(v) for v in stratum.values()]
    return float(np.prod([size / levels for size in sizes]))


@each_strata
def test_the_share_by_hand(strata):
    """From the inputs asked about: each box's hits by its own part of the domain, and the rest's."""
    recorder = Recorder(TOY.model)
    share = estimate_strata(recorder, TOY.domain, strata, n_samples=5000, seed=1)
    groups = Counter()
    hits = Counter()
    for row in recorder.inputs:
        (place,) = [i for i, stratum in enumerate(strata) if holds(stratum, row)] or [len(strata)]
        groups[place] += 1
        hits[place] += bool(TOY.is_case(np.array([row]))[0])
    weights = [part(stratum) for stratum in strata]
    weights.append(max(0.0, 1 - sum(weights)) if strata is not EVERYTHING else 0.0)
    places = range(len(weights))
    value = sum(weights[i] * hits[i] / groups[i] for i in places if weights[i])
    assert share.value == pytest.approx(value, rel=1e-12)
    counts = [hits[i] for i in places], [groups[i] for i in places]
    _, low, high = strata_bounds(weights, *counts, 0.95)
    assert (share.low, share.high) == pytest.approx((low, high), rel=1e-9)
    _, lower, upper = strata_bounds(weights, *counts, 0.95, one_sided=True)
    assert (share.lower, share.upper) == pytest.approx((lower, upper), rel=1e-9)
    assert share.low <= share.lower <= share.value <= share.upper <= share.high
    assert (share.hits, share.n) == (sum(hits.values()), len(recorder.inputs))
    assert 4990 <= share.n <= 5000
    assert share.n_queries == 2 * share.n
    assert (share.method, share.population, share.seed, share.sensitive) == ("strata", "domain", 1, ("group",))
    assert f"{len(strata)} strata" in share.detail


@each_strata
def test_each_stratum_is_sampled_uniformly(strata):
    recorder = Recorder(TOY.model)
    estimate_strata(recorder, TOY.domain, strata, n_samples=40_000)
    rows = np.array(recorder.inputs)[:, :3]
    every = np.array(np.unravel_index(np.arange(1000), (10, 10, 10))).T
    place_of = {tuple(row): [i for i, stratum in enumerate(strata) if holds(stratum, row)] for row in every.tolist()}
    for place in [*([i] for i in range(len(strata))), []]:
        cells = [row for row, where in place_of.items() if where == place]
        if cells:
            inside = Counter(row for row in map(tuple, rows.tolist()) if place_of[row] == place)
            counts = np.array([inside[cell] for cell in cells])
            expected = counts.sum() / len(cells)
            assert expected >= 5
            assert chdtrc(max(1, len(cells) - 1), ((counts - expected) ** 2 / expected).sum()) > SURPRISING


def test_several_sensitive_parameters():
    toy = odd_one_out()
    share = estimate_strata(toy.model, toy.domain, [{"x0": (0, 2), "x1": (0, 2)}], n_samples=3000, favourable="yes")
    assert share.worse_off == "sex=1, race=3"
    assert (share.outcomes.sum(axis=1) == share.hits).all()
    assert share.n_queries == 10 * share.n


def repeated(strata, n_repetitions, n_samples=500, toy=TOY, **options):
    return [
        estimate_strata(toy.model, toy.domain, strata, n_samples=n_samples, seed=seed, **options)
        for seed in range(n_repetitions)
    ]


def check_unbiased(shares, truth):
    """The mean is within 4.9 standard errors: farther with a chance of 1 in a million."""
    values = np.array([share.value for share in shares])
    spread = values.std(ddof=1) / np.sqrt(len(values))
    assert abs(values.mean() - truth) <= 4.9 * spread + 1e-12


def check_valid(shares, truth, confidence=0.95):
    """A false alarm has a chance below 1 in 10,000, for each of the three."""
    truth *= 1 - 1e-12  # the exact strata end at the share itself, but for rounding
    for misses in (
        sum(not share.low <= truth <= share.high for share in shares),
        sum(share.lower > truth for share in shares),
        sum(share.upper < truth for share in shares),
    ):
        assert stats.binom.sf(misses - 1, len(shares), 1 - confidence) > 1e-4


@each_strata
def test_unbiased_and_valid_wherever_the_cases_lie(strata):
    shares = repeated(strata, 20)
    check_unbiased(shares, float(TOY.share))
    check_valid(shares, float(TOY.share))


@pytest.mark.slow
@each_strata
@pytest.mark.parametrize(("n_samples", "confidence"), [(20, 0.6), (20, 0.95), (500, 0.95)])
def test_unbiased_and_valid_wherever_the_cases_lie_often(strata, n_samples, confidence):
    shares = repeated(strata, 500, n_samples, confidence=confidence)
    check_unbiased(shares, float(TOY.share))
    check_valid(shares, float(TOY.share), confidence)


@pytest.mark.slow
def test_valid_for_strewn_cases():
    """Cases all over, of which a box holds a few: 12 of 1,000 families."""
    toy = sparse(n_cases=12, n_free=3, levels=10)
    shares = repeated([{"x0": (0, 2)}, {"x0": (5, 5), "x1": (0, 4)}], 500, toy=toy)
    check_unbiased(shares, float(toy.share))
    check_valid(shares, float(toy.share))


def test_other_outputs():
    toy = score()
    share = estimate_strata(
        toy.model, toy.domain, [{"x0": (5, 7)}], n_samples=2000, favourable="highest", **toy.settings
    )
    assert share.value == pytest.approx(3 / 8)  # all of the box, none of the rest
    assert share.worse_off == "group=0"
    assert share.threshold == 0.5


def test_no_hits():
    share = estimate_strata(never().model, never().domain, EXACTLY, n_samples=10_000)
    assert share.value == share.low == share.lower == 0
    assert 0 < share.upper < share.high < 0.002
    assert share.outcomes is None
    assert share.sentence().startswith("none in 10,000: with 95% confidence fewer than ")


def test_constraints_do_not_matter():
    """The share is of the whole domain."""
    domain = Domain(TOY.domain.parameters, TOY.domain.sensitive, [lambda rows: rows["x0"] > 8])
    share = estimate_strata(TOY.model, domain, EXACTLY, n_samples=2000)
    assert share.value == pytest.approx(0.027)


def test_seeds():
    first, again, other = (
        estimate_strata(TOY.model, TOY.domain, HALF, n_samples=2000, seed=seed) for seed in (1, 1, 2)
    )
    assert (first.value, first.low, first.hits) == (again.value, again.low, again.hits)
    assert first.hits != other.hits
    fresh = estimate_strata(TOY.model, TOY.domain, HALF, n_samples=2000, seed=None)
    replayed = estimate_strata(TOY.model, TOY.domain, HALF, n_samples=2000, seed=fresh.seed)
    assert (fresh.value, fresh.hits) == (replayed.value, replayed.hits)


def test_every_way_to_sample_draws_from_a_stream_of_its_own(monkeypatch):
    """Strata are fixed before the inputs that judge them are drawn: at equal seeds too, these are other inputs."""
    drawn = []
    sample_codes = Domain.sample_codes

    def recorded(domain, n, rng):
        codes = sample_codes(domain, n, rng)
        drawn.append({tuple(row) for row in codes.tolist()})
        return codes

    wide = Domain([Integer("x0", 0, 99_999), Integer("x1", 0, 99_999), Integer("s", 0, 1)], ["s"])
    cases = wide.sample(500, seed=5)
    monkeypatch.setattr(Domain, "sample_codes", recorded)
    propose_strata(wide, cases)
    estimate_strata(lambda X: X[:, 2], wide, [{"x0": [0]}], n_samples=500)
    estimate(lambda X: X[:, 2], wide, method="sample", n_experiments=1, n_samples=500)
    search(lambda X: X[:, 2], wide, strategy="uniform", max_cases=None, max_inputs=500)
    assert len(drawn) >= 4
    for one, other in itertools.combinations(drawn, 2):
        assert not one & other


def test_memory_does_not_grow_with_n():
    peaks = []
    for n_samples in (50_000, 50_000, 500_000):
        tracemalloc.start()
        estimate_strata(TOY.model, TOY.domain, HALF, n_samples=n_samples)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < 1.5 * peaks[1]


# What a box may be

KINDS = Domain(
    [
        Integer("age", 20, 59),
        Integer("step", 0, 100, 10),
        Real("rate", 0, 1, 0.1),
        Real("gap", 0, 1, 0.25, missing=True),
        Category("job", ["clerk", "nurse", "smith"]),
        Ordinal("grade", ["C", "B", "A"]),
        Category("owner", [False, True]),
        Category("sex", ["F", "M"]),
    ],
    sensitive=["sex"],
)

BOXES = {
    "integers": ({"age": (30, 39)}, lambda rows: rows["age"].between(30, 39), 1 / 4),
    "one": ({"age": (30, 30)}, lambda rows: rows["age"] == 30, 1 / 40),
    "listed": ({"age": [30, 50]}, lambda rows: rows["age"].isin([30, 50]), 2 / 40),
    "steps": ({"step": (20, 40)}, lambda rows: rows["step"].isin([20, 30, 40]), 3 / 11),
    "reals": ({"rate": (0.1, 0.3)}, lambda rows: rows["rate"].between(0.05, 0.35), 3 / 11),
    "numpy": ({"rate": (np.float64(0.1), np.float64(0.3))}, lambda rows: rows["rate"].between(0.05, 0.35), 3 / 11),
    "not missing": ({"gap": (0, 1)}, lambda rows: rows["gap"].notna(), 5 / 6),
    "missing": ({"gap": [None, 0.5]}, lambda rows: rows["gap"].isna() | (rows["gap"] == 0.5), 2 / 6),
    "words": ({"job": ["clerk", "smith"]}, lambda rows: rows["job"] != "nurse", 2 / 3),
    "words in a tuple": ({"job": ("clerk", "smith")}, lambda rows: rows["job"] != "nurse", 2 / 3),
    "ordinals": ({"grade": ("C", "B")}, lambda rows: rows["grade"] != "A", 2 / 3),
    "ends of ordinals": ({"grade": ["C", "A"]}, lambda rows: rows["grade"] != "B", 2 / 3),
    "truth": ({"owner": [True]}, lambda rows: rows["owner"], 1 / 2),
    "several": (
        {"age": (20, 29), "job": ["nurse"]},
        lambda rows: (rows["age"] < 30) & (rows["job"] == "nurse"),
        1 / 12,
    ),
    "all": ({}, lambda rows: rows["age"] > 0, 1),
}


@pytest.mark.parametrize(("stratum", "inside", "size"), BOXES.values(), ids=BOXES)
def test_boxes_of_all_kinds(stratum, inside, size):
    """A model that discriminates in the box and nowhere else: its share is the box's part of the domain, exactly."""

    def model(rows):
        return np.asarray(inside(rows), dtype=bool) & (rows["sex"] == "F").to_numpy()

    share = estimate_strata(model, KINDS, [stratum], n_samples=2000)
    assert share.value == pytest.approx(size, rel=1e-9)


@pytest.mark.parametrize(
    ("strata", "message"),
    [
        ([], "strata must hold one box at least, got none"),
        ([{"sex": ["F"]}], "a stratum names parameters that are not sensitive, got 'sex'"),
        ([{"height": (1, 2)}], "a stratum names parameters that are not sensitive, got 'height'"),
        ([{"age": (20, 30)}, {"age": (30, 40)}], "strata must not overlap"),
        ([{"age": (20, 30)}, {"job": ["nurse"]}], "strata must not overlap"),
        ([{"age": (20, 30)}, {"age": (20, 30)}], "strata must not overlap"),
        ([{"age": (20, 30)}, {"age": (31, 40)}, {"age": [20, 59]}], "strata must not overlap"),
        ([{}, {"age": (20, 30)}], "strata must not overlap"),
        ([{"age": (10, 30)}], "a stratum's values must lie in the domain of 'age'"),
        ([{"age": [30, 99]}], "a stratum's values must lie in the domain of 'age'"),
        ([{"age": []}], "a stratum's values must lie in the domain of 'age'"),
        ([{"job": ["pilot"]}], "a stratum's values must lie in the domain of 'job'"),
        ([{"rate": (0.1, 0.33)}], "a stratum's values must lie in the domain of 'rate'"),
        ([{"age": (40, 30)}], r"a stratum's range is \(low, high\) for 'age'"),
        ([{"age": (20, 30, 40)}], r"a stratum's range is \(low, high\) for 'age'"),
        ([{"age": 30}], r"a stratum has \(low, high\) or a list of values for 'age'"),
        ([{"job": "nurse"}], r"a stratum has \(low, high\) or a list of values for 'job'"),
    ],
)
def test_bad_strata(strata, message):
    model = CountingModel(lambda rows: rows["sex"].tolist())
    with pytest.raises(SettingError, match=message):
        estimate_strata(model, KINDS, strata, n_samples=100)
    assert model.n_rows == 0


@pytest.mark.parametrize("strata", [{"age": (20, 30)}, [("age", 20, 30)], ["age"], None, 5])
def test_strata_are_a_list_of_boxes(strata):
    with pytest.raises(SettingError):
        estimate_strata(lambda rows: rows["sex"].tolist(), KINDS, strata, n_samples=100)


def test_a_rest_too_thin_to_be_sampled():
    """All but one of 10,000: leaving the boxes out would take for ever, so it is refused at once."""
    domain = Domain([Integer("x", 0, 9999), Integer("s", 0, 1)], ["s"])
    with pytest.raises(SettingError, match=r"strata must leave nothing of the domain or 0\.001 of it at least, got 0"):
        estimate_strata(lambda X: X[:, 1], domain, [{"x": (0, 9998)}])
    assert estimate_strata(lambda X: X[:, 1], domain, [{"x": (0, 9999)}], n_samples=100).value == 1
    assert estimate_strata(lambda X: X[:, 1], domain, [{"x": (0, 9989)}], n_samples=100).value == pytest.approx(1)


@pytest.mark.parametrize("options", [{"confidence": 1}, {"n_samples": 0}, {"n_samples": 1.5}, {"seed": -1}])
def test_bad_settings(options):
    with pytest.raises(SettingError):
        estimate_strata(TOY.model, TOY.domain, EXACTLY, **options)


@pytest.mark.parametrize("n_samples", [2, 5])
def test_few_inputs_still_make_valid_bounds(n_samples):
    share = estimate_strata(TOY.model, TOY.domain, EXACTLY, n_samples=n_samples)
    assert share.low <= 0.027 <= share.high


# Proposals


def cases_of(toy, n=2000, seed=0):
    """Some of its cases, as if found."""
    rows = toy.domain.sample(40 * n, seed=seed)
    return rows[toy.is_case(rows.to_numpy())].head(n)


def test_a_box_of_cases_is_proposed():
    strata = propose_strata(TOY.domain, cases_of(TOY), margin=0)
    rows = cases_of(TOY, seed=1).to_numpy()
    held = np.mean([any(holds(stratum, row) for stratum in strata) for row in rows.tolist()])
    assert held > 0.95
    assert sum(map(part, strata)) < 2 * 0.027


def two_boxes(X):
    first = (X[:, 0] < 10) & (X[:, 1] < 10)
    second = (X[:, 0] >= 70) & (X[:, 0] < 80) & (X[:, 1] >= 85)
    return (first | second) & (X[:, 2] == 1)


def test_proposals_are_disjoint_and_hold_most_cases():
    domain = Domain([Integer("x0", 0, 99), Integer("x1", 0, 99), Integer("s", 0, 1)], ["s"])
    found = search(two_boxes, domain, strategy="uniform", max_cases=None, max_inputs=20_000)
    strata = propose_strata(domain, found.cases)
    rows = [(x, y) for x in range(100) for y in range(100)]
    places = [sum(holds(stratum, row) for stratum in strata) for row in rows]
    assert max(places) == 1
    is_case = two_boxes(np.array([(*row, 1) for row in rows]))
    assert np.mean(np.array(places)[is_case]) > 0.95
    assert np.mean(places) < 2 * is_case.mean()
    share = estimate_strata(two_boxes, domain, strata, n_samples=20_000)
    assert share.low <= is_case.mean() <= share.high
    plain = estimate(two_boxes, domain, method="sample", n_experiments=20, n_samples=1000)
    assert share.width < plain.width


def test_proposals_of_all_kinds_of_parameters():
    def is_case(rows):
        return (rows["age"] < 30) & (rows["job"] == "nurse") & (rows["grade"] != "A") & (rows["rate"] > 0.45)

    def model(rows):
        return np.asarray(is_case(rows) & (rows["sex"] == "F"))

    found = search(model, KINDS, strategy="uniform", max_cases=None, max_inputs=20_000)
    strata = propose_strata(KINDS, found.cases)
    assert strata
    assert all("sex" not in stratum for stratum in strata)
    share = estimate_strata(model, KINDS, strata, n_samples=20_000)
    truth = 1 / 4 * 1 / 3 * 2 / 3 * 6 / 11
    assert share.low <= truth <= share.high
    assert share.width < estimate(model, KINDS, method="sample", n_experiments=20).width


@pytest.mark.parametrize("max_strata", [1, 3, 10])
def test_so_many_strata_at_most(max_strata):
    toy = sparse(n_cases=50, n_free=3, levels=20)
    found = search(toy.model, toy.domain, strategy="uniform", max_cases=None, max_inputs=50_000)
    strata = propose_strata(toy.domain, found.cases, max_strata=max_strata)
    assert 1 <= len(strata) <= max_strata
    share = estimate_strata(toy.model, toy.domain, strata, n_samples=5000)
    assert share.low <= toy.share <= share.high


def test_the_same_cases_give_the_same_strata():
    assert propose_strata(TOY.domain, cases_of(TOY)) == propose_strata(TOY.domain, cases_of(TOY))


def test_few_cases():
    strata = propose_strata(TOY.domain, cases_of(TOY).head(1))
    share = estimate_strata(TOY.model, TOY.domain, strata, n_samples=2000)
    assert share.low <= 0.027 <= share.high


def test_cases_all_over_can_be_used_too():
    """Where nearly all is a case, the proposal may be the whole domain, but never what estimate_strata refuses."""
    domain = Domain([Integer("x0", 0, 49), Integer("x1", 0, 49), Integer("s", 0, 1)], ["s"])

    def model(X):
        return (X[:, 0] + X[:, 1] > 0) & (X[:, 2] == 1)

    found = search(model, domain, strategy="uniform", max_cases=None, max_inputs=5000)
    strata = propose_strata(domain, found.cases)
    assert estimate_strata(model, domain, strata, n_samples=2000).value > 0.99


def test_no_cases():
    with pytest.raises(SettingError, match="strata are proposed from cases that lie in the domain, got none"):
        propose_strata(TOY.domain, cases_of(TOY).head(0))
    outside = pd.DataFrame({"x0": [99], "x1": [0], "x2": [0], "group": [0]})
    with pytest.raises(SettingError, match="strata are proposed from cases that lie in the domain, got none"):
        propose_strata(TOY.domain, outside)


@pytest.mark.parametrize("options", [{"max_strata": 0}, {"margin": -1}, {"margin": "wide"}, {"margin": np.nan}])
def test_bad_settings_of_a_proposal(options):
    with pytest.raises(SettingError):
        propose_strata(TOY.domain, cases_of(TOY), **options)


# Rare shares

QUERIES = 10_000_000

RARE = {
    "5 of 50, five times": box(n_free=5, levels=50, low=10, high=14),
    "10 of 100, five times": box(n_free=5, levels=100, low=40, high=49),
    "22 of 1000, three times": box(n_free=3, levels=1000, low=300, high=321),
    "5 of 34, six times": box(n_free=6, levels=34, low=10, high=14),
}


def plain_width(toy):
    """Of the interval that plain sampling gives for as many queries, at the hits to be expected."""
    n = QUERIES // 2
    low, high = clopper_pearson(round(float(toy.share) * n), n, 0.95)
    return high - low


def check_narrow(name, toy, share, n_queries):
    assert n_queries <= QUERIES
    assert share.low <= toy.share * (1 + 1e-12)
    assert toy.share <= share.high * (1 + 1e-12)
    ratio = plain_width(toy) / share.width
    print(f"\n{name}: {ratio:.2f} times narrower than plain sampling, {n_queries:,} queries")  # noqa: T201
    assert ratio >= 5


@pytest.mark.slow
@pytest.mark.parametrize("name", RARE)
def test_rare_shares_with_strata_given_are_five_times_narrower(name):
    toy = RARE[name]
    assert float(toy.share) == pytest.approx(1e-5, rel=0.1)
    rule = toy.is_case
    strata = [{f"x{column}": (rule.low, rule.high) for column in range(rule.n_free)}]
    share = estimate_strata(toy.model, toy.domain, strata, n_samples=(QUERIES - 1_000_000) // 2)
    check_narrow(name, toy, share, share.n_queries + 1_000_000)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", RARE)
def test_rare_shares_with_strata_from_a_search_are_five_times_narrower(name, seed):
    """10 million queries with the search's: the strata are as the search proposes them, by default."""
    toy = RARE[name]
    found = search(toy.model, toy.domain, max_cases=None, max_queries=1_000_000, seed=seed)
    assert found.n_cases > 100
    strata = propose_strata(toy.domain, found.cases)
    n_samples = (QUERIES - found.n_queries) // 2
    share = estimate_strata(toy.model, toy.domain, strata, n_samples=n_samples, seed=seed)
    check_narrow(name, toy, share, share.n_queries + found.n_queries)


@pytest.mark.slow
def test_rare_shares_are_valid_where_half_of_the_cases_lie_outside():
    """150 repetitions of 400,000 inputs at a share of 1e-5; a false alarm has a chance below 1 in 10,000."""
    toy = RARE["5 of 50, five times"]
    strata = [{f"x{column}": (10, 14) for column in range(4)} | {"x4": (0, 12)}]
    shares = repeated(strata, 150, 400_000, toy=toy)
    check_unbiased(shares, float(toy.share))
    check_valid(shares, float(toy.share))
