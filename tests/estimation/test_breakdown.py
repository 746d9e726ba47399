"""`breakdown`: the share for each sensitive parameter alone and together, in one pass, against plain Python."""

import numpy as np
import pandas as pd
import pytest

from fairprobe import Category, Domain, Integer, breakdown, causal_score, causal_search, estimate
from fairprobe.errors import SettingError
from fairprobe.testing import CountingModel, odd_one_out

pytestmark = pytest.mark.usefixtures("taken_at_its_word")

SIZES = {"x": 5, "sex": 2, "y": 4, "race": 3}
DOMAIN = Domain([Integer(name, 0, size - 1) for name, size in SIZES.items()], sensitive=["sex", "race"])


def arbitrary(X):
    """Any answers, but the same for the same row."""
    return (X @ [7, 5, 3, 11]) % 8 < 3


POPULATIONS = {
    "domain": ("domain", {}),
    "sample": ("domain", {"method": "sample", "n_experiments": 3}),
    "valid": ("valid", {}),
    "rows": (DOMAIN.sample(70, seed=0), {}),
}


@pytest.mark.parametrize(("population", "options"), POPULATIONS.values(), ids=POPULATIONS)
def test_all_sets_take_one_pass(population, options):
    one, all_sets = CountingModel(arbitrary), CountingModel(arbitrary)
    estimate(one, DOMAIN, population, **options)
    shares = breakdown(all_sets, DOMAIN, population, **options)
    assert all_sets.n_rows == one.n_rows
    assert all_sets.n_calls == one.n_calls
    assert {share.n_queries for share in shares.values()} == {one.n_rows}


def test_sets_can_be_chosen():
    shares = breakdown(arbitrary, DOMAIN, sets=["race", ("race", "sex")])
    assert list(shares) == ["race", "sex x race"]
    whole = breakdown(arbitrary, DOMAIN)
    assert [share.hits for share in shares.values()] == [whole["race"].hits, whole["sex x race"].hits]


@pytest.mark.parametrize("sets", [[["x"]], [["sex", "age"]], [[]], [""], ["sex", "x"], []])
def test_a_set_names_sensitive_parameters(sets):
    rule = "sets must each name some of sex, race; got" if sets else "sets must hold one set of sensitive parameters"
    with pytest.raises(SettingError, match=rule):
        breakdown(arbitrary, DOMAIN, sets=sets)


@pytest.mark.parametrize("options", [{}, {"method": "sample", "n_experiments": 5}])
def test_worse_off_of_one_parameter_is_one_of_its_values(options):
    """Only sex 1 of race 3 is refused: of sexes 1, of races 3, of both the two."""
    toy = odd_one_out(odd=(1, 3))
    shares = breakdown(toy.model, toy.domain, favourable="yes", **options)
    worse_off = {name: share.worse_off for name, share in shares.items()}
    assert worse_off == {"sex": "sex=1", "race": "race=3", "sex x race": "sex=1, race=3"}


def test_what_is_listed_may_be_numbers_where_a_value_that_is_held_is_none():
    """The model gets an array of objects, as it would if nothing were listed."""
    domain = Domain([Category("code", ["x", 1, 2]), Integer("s", 0, 1)], {"code": [1, 2], "s": None})
    rows = pd.DataFrame({"code": ["x", 1], "s": [0, 1]}).astype({"code": object})

    def model(batch):
        return np.array([code == "x" and s == 1 for code, s in batch.tolist()])

    shares = breakdown(model, domain, rows, batch="array")
    assert {name: (share.n, share.hits) for name, share in shares.items()} == {
        "code": (2, 0),
        "s": (2, 1),
        "code x s": (2, 0),
    }


SMALL = [Integer("x", 0, 9)]
LARGE = [Integer("x", 0, 10**9)]  # too many inputs to be enumerated


def of_bits(free, names="abc"):
    return Domain([*free, *(Integer(name, 0, 1) for name in names)], sensitive=list(names))


def both_bits(X):
    """1 if a and b are: a alone changes it where b is 1, both_bits together always; c never does."""
    return X[:, 1] & X[:, 2]


@pytest.mark.parametrize("free", [SMALL, LARGE], ids=["exact", "sampled"])
def test_scores_of_the_sets_given(free):
    sets = ["a", "b", "c", ("a", "b"), ("a", "b", "c")]
    scores = causal_score(both_bits, of_bits(free), sets=sets)
    truth = {"a": 0.5, "b": 0.5, "c": 0, "a x b": 1, "a x b x c": 1}
    assert list(scores) == list(truth)
    for name, share in scores.items():
        assert share.low <= truth[name] <= share.high
        assert share.width <= 0.02
        assert share.method == ("exact" if free is SMALL else "sequential")


def test_no_hits_are_no_reason_to_stop_at_once():
    """Themis stops after 11 inputs without a hit and says that its error is 0."""
    share = causal_score(lambda X: X[:, 0] > 7, of_bits(LARGE, "a"), error=0.001)["a"]
    assert share.hits == 0
    assert share.value == 0
    assert 0 < share.high <= 0.002
    assert share.n > 2000


@pytest.mark.parametrize("free", [SMALL, LARGE], ids=["exact", "sampled"])
@pytest.mark.parametrize(("min_share", "found"), [(0.4, ["a", "b"]), (0.95, ["a x b"])])
def test_the_smallest_sets_above_a_threshold(free, min_share, found):
    sets = causal_search(both_bits, of_bits(free), min_share=min_share)
    assert list(sets) == found
    for share in sets.values():
        assert share.lower > min_share


def test_the_confidence_is_split_over_all_sets_there_are():
    sets = causal_search(both_bits, of_bits(LARGE), min_share=0.6, confidence=0.93)
    assert sets["a x b"].confidence == pytest.approx(0.99)


@pytest.mark.parametrize("value", [-0.1, 1, np.nan, "much", None])
def test_an_error_and_a_threshold_are_fractions(value):
    with pytest.raises(SettingError, match=r"error must be above 0 and below 0\.5, got"):
        causal_score(both_bits, of_bits(SMALL), error=value)
    with pytest.raises(SettingError, match="min_share must be at least 0 and below 1, got"):
        causal_search(both_bits, of_bits(SMALL), min_share=value)
