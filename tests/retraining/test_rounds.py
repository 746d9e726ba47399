"""Rounds: when one is accepted, which is the best, and which no other beats."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted import DOMAIN, Planted, cells, rows, settings_of

from fairprobe.estimation.compare import Comparison
from fairprobe.retraining.judging import Judge, Loss
from fairprobe.retraining.parts import LabelledRows
from fairprobe.retraining.recipes import Recipe
from fairprobe.retraining.rounds import STEP, Round, best_of, decide, front_of, left_of

SHARE = Judge(DOMAIN, LabelledRows(*rows(20, 0)), 100, 0, settings_of()).judge(Planted(cells(0, 40))).shares["domain"]


def change(low, high):
    return Comparison(SHARE, SHARE, (low + high) / 2, low, high, 0.5, 0, 0, 100)


LOWER, HIGHER, UNSURE, LEVEL = change(0.01, 0.03), change(-0.03, -0.01), change(-0.02, 0.02), change(0.0, 0.0)


def loss(value, spread=0.004):
    return Loss(value, value - spread, value + spread, 1000, 0.99)


def rule(limit=0.01, prove=False, least=0.0, accept="shown"):
    settings = settings_of(
        labels="mean", augment="flip", max_accuracy_loss=limit, max_seconds=None, prove_accuracy=prove, accept=accept
    )
    return lambda changes, loss, accuracy: decide(settings, changes, loss, accuracy, least)


@pytest.mark.parametrize(
    ("domain", "on_rows", "accepted", "why"),
    [
        (LOWER, LOWER, True, "the share of the domain and the rows is shown to be lower"),
        (LOWER, UNSURE, True, "the share of the domain is shown to be lower"),
        (UNSURE, LOWER, True, "the share of the rows is shown to be lower"),
        (LOWER, HIGHER, False, "the share of the rows is shown to be higher"),
        (HIGHER, LOWER, False, "the share of the domain is shown to be higher"),
        (HIGHER, HIGHER, False, "the share of the domain and the rows is shown to be higher"),
        (HIGHER, UNSURE, False, "the share of the domain is shown to be higher"),
        (UNSURE, UNSURE, False, "no share is shown to be lower"),
        (LEVEL, LEVEL, False, "no share is shown to be lower"),
        (change(0.0, 0.02), UNSURE, False, "no share is shown to be lower"),
    ],
)
def test_shares_decide(domain, on_rows, accepted, why):
    got = rule()({"domain": domain, "rows": on_rows}, loss(0.0), 0.9)
    assert got[0] is accepted
    assert got[1].startswith(why)


@pytest.mark.parametrize(
    ("rule", "loss", "accuracy", "accepted", "why"),
    [
        (rule(0.01), loss(0.0), 0.9, True, "is shown to be within"),
        (rule(0.01), loss(-0.2), 0.9, True, "is shown to be within"),
        (rule(0.01), loss(0.006), 0.9, True, "is shown to be within"),
        (rule(0.01), loss(0.008), 0.9, True, "is not shown to be within"),
        (rule(0.01), loss(0.01), 0.9, True, "is not shown to be within"),
        (rule(0.01), loss(0.0101), 0.9, False, "1.01 points of accuracy are lost, above the limit of 1"),
        (rule(0.01, prove=True), loss(0.008), 0.9, False, "up to 1.20 points of accuracy may be lost, above the limit"),
        (rule(0.01, prove=True), loss(0.006), 0.9, True, "is shown to be within"),
        (rule(0.0), loss(0.001), 0.9, False, "0.10 points of accuracy are lost, above the limit of 0"),
        (rule(0.0), loss(0.0), 0.9, True, "is not shown to be within"),
        (rule(1.0), loss(0.9), 0.05, True, "is shown to be within"),
        (rule(0.01, least=0.8), loss(0.0), 0.79, False, "the accuracy of 79% is more than the limit of 1 below"),
        (rule(0.01, least=0.8), loss(0.0), 0.8, True, "is shown to be within"),
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
    st.booleans(),
    st.floats(0, 1),
)
def test_the_rule_in_one_line(changes, lost, accuracy, limit, prove, least):
    named = dict(zip(("domain", "valid", "rows"), changes, strict=True))
    accepted, why = rule(limit, prove, least)(named, loss(lost), accuracy)
    enough = (loss(lost).high if prove else lost) <= limit and lost <= limit and accuracy >= least
    assert accepted == (LOWER in changes and HIGHER not in changes and enough)
    assert why


@pytest.mark.parametrize(
    ("domain", "on_rows", "accepted"),
    [(change(-0.01, 0.011), HIGHER, True), (LEVEL, LOWER, False), (HIGHER, LOWER, False)],
)
def test_the_papers_rule_looks_at_the_domains_estimate_alone(domain, on_rows, accepted):
    got, why = rule(1.0, True, 0.0, "paper")({"domain": domain, "rows": on_rows}, loss(0.5), 0.5)
    assert got is accepted
    assert why.startswith(f"the estimated share of the domain is {'' if accepted else 'not '}lower")


@pytest.mark.parametrize(("limit", "prove", "least"), [(0.01, False, 0.0), (0.022, True, 0.0), (0.5, False, 0.95)])
def test_the_papers_rule_keeps_the_limit_on_accuracy_too(limit, prove, least):
    got, why = rule(limit, prove, least, "paper")({"domain": LOWER, "rows": LOWER}, loss(0.02), 0.9)
    assert not got
    assert "accuracy" in why


# The front and the best


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


@given(ROUNDS)
def test_the_best_is_the_most_accurate_of_those_that_leave_the_least(tried):
    best = best_of(tried)
    accepted = [each for each in tried if each.accepted]
    if not accepted:
        assert best is None
        return
    least = min(int(each.left / STEP) for each in accepted)
    near = [each for each in accepted if int(each.left / STEP) == least]
    assert any(best is each for each in near)
    assert best.accuracy == max(each.accuracy for each in near)
    assert best.left == min(each.left for each in near if each.accuracy == best.accuracy)


@given(ROUNDS)
def test_a_round_that_is_not_the_best_when_it_comes_never_will_be(tried):
    """So the model of the best so far is all that must be kept."""
    kept = None
    for n, each in enumerate(tried, start=1):
        if best_of(tried[:n]) is each:
            kept = each
    assert kept is best_of(tried)


@given(ROUNDS)
def test_no_accepted_round_beats_the_best(tried):
    best = best_of(tried)
    assert best is None or not any(beats(other, best) for other in tried if other.accepted)


# What is left


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


# In words


def test_figures_for_json():
    summary = a_round(2, 0.5, 0.75).jsonable()
    assert (summary["round"], summary["augment"], summary["left"], summary["accuracy"]) == (2, "flip", 0.5, 0.75)
    assert [summary[f"{name}_domain"] for name in ("share", "low", "high")] == [SHARE.value, SHARE.low, SHARE.high]
    cases = [Recipe(parts, 10.0).uses_cases for n in (1, 2) for parts in itertools.combinations(("case", "flip"), n)]
    assert cases == [True, False, True]
