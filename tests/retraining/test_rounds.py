"""Rounds: when one is accepted, which is the best, and which no other beats."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted import DOMAIN, Planted, cells, rows, settings_of

from fairprobe.estimation.compare import Comparison
from fairprobe.retraining.augmenting import Recipe
from fairprobe.retraining.judging import Loss, assessed
from fairprobe.retraining.parts import LabelledRows
from fairprobe.retraining.rounds import Round, decide, front_of, left_of

SHARE = assessed(Planted(cells(0, 40)), DOMAIN, LabelledRows(DOMAIN, *rows(20, 0)), 100, 0, settings_of()).shares[
    "domain"
]


def change(low, high):
    return Comparison(SHARE, SHARE, (low + high) / 2, low, high, 0.5, 0, 0, 100)


LOWER, HIGHER, UNSURE, LEVEL = change(0.01, 0.03), change(-0.03, -0.01), change(-0.02, 0.02), change(0.0, 0.0)


def loss(value, spread=0.004):
    return Loss(value, value - spread, value + spread, 1000, 0.99)


def rule(limit=0.01, least=0.0, accept="shown"):
    settings = settings_of(labels="mean", augment="flip", max_accuracy_loss=limit, max_seconds=None, accept=accept)
    return lambda changes, loss, accuracy: decide(settings, changes, loss, accuracy, least)


@pytest.mark.parametrize(
    ("rule", "loss", "accuracy", "accepted", "why"),
    [
        (rule(0.01), loss(0.0), 0.9, True, "is shown to be within"),
        (rule(0.01), loss(0.01), 0.9, True, "is not shown to be within"),
        (rule(0.01), loss(0.0101), 0.9, False, "1.01 points of accuracy are lost, above the limit of 1"),
        (rule(0.01, least=0.8), loss(0.0), 0.79, False, "the accuracy of 79% is more than the limit of 1 below"),
    ],
)
def test_accuracy_decides(rule, loss, accuracy, accepted, why):
    got = rule({"domain": LOWER, "rows": LOWER}, loss, accuracy)
    assert got[0] is accepted
    assert why in got[1]


@given(
    st.lists(st.sampled_from([LOWER, HIGHER, UNSURE, LEVEL]), min_size=3, max_size=3),
    st.floats(-0.05, 0.05),
    st.floats(0, 1),
    st.floats(0, 0.04),
    st.floats(0, 1),
)
def test_the_rule_in_one_line(changes, lost, accuracy, limit, least):
    named = dict(zip(("domain", "valid", "rows"), changes, strict=True))
    accepted, why = rule(limit, least)(named, loss(lost), accuracy)
    enough = lost <= limit and accuracy >= least
    assert accepted == (LOWER in changes and HIGHER not in changes and enough)
    assert why


def a_round(number, left, accuracy, accepted=True):
    return Round(
        number=number, recipe=Recipe(("flip",), 10.0), n_added=number, shares={"domain": SHARE},
        changes={"domain": LOWER}, accuracy=accuracy, loss=loss(0.0), left=left, accepted=accepted, why="", seconds=0.0,
    )  # fmt: skip


COARSE = st.integers(0, 8).map(lambda k: k / 100)  # so that many are level or nearly so
ROUNDS = st.lists(st.tuples(COARSE, COARSE, st.booleans()), max_size=10).map(
    lambda drawn: [a_round(i, *figures) for i, figures in enumerate(drawn, start=1)]
)


def beats(one, other):
    """In both, and strictly so in one of them."""
    level = (one.left, one.accuracy) == (other.left, other.accuracy)
    return one.left <= other.left and one.accuracy >= other.accuracy and not level


@given(ROUNDS)
def test_no_round_beats_one_of_the_front(tried):
    front = front_of(tried)
    expected = {(each.left, each.accuracy) for each in tried if not any(beats(other, each) for other in tried)}
    assert {(each.left, each.accuracy) for each in front} == expected
    assert len(front) == len(expected), "rounds that are level in both stand there once"
    assert [each.left for each in front] == sorted(each.left for each in front)
    assert all(any(each is other for other in tried) for each in front)


def judged(**shares):
    """Hits of 1,000 by population."""
    return SimpleNamespace(
        shares={name: SimpleNamespace(hits=hits, value=hits / 1000) for name, hits in shares.items()}
    )


@pytest.mark.parametrize(
    ("first", "new", "left"),
    [
        ({"domain": 100, "rows": 200}, {"domain": 50, "rows": 20}, 0.3),
        ({"domain": 100, "rows": 0}, {"domain": 25, "rows": 7}, 0.25),
        ({"domain": 100, "rows": 50}, {"domain": 0, "rows": 0}, 0.0),
        ({"domain": 100, "valid": 10, "rows": 50}, {"domain": 100, "valid": 20, "rows": 0}, 1.0),
        ({"domain": 0, "rows": 0}, {"domain": 3, "rows": 0}, 1.0),
    ],
)
def test_left_is_the_mean_over_populations_that_had_any(first, new, left):
    assert left_of(judged(**first), judged(**new)) == pytest.approx(left)
