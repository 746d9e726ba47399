"""Toys are what they say, by brute force over the whole domain; the counting model answers as the one in it."""

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import hard_toys
from fairprobe import testing
from fairprobe.testing import CountingModel
from random_domains import every_input

SMALL = {
    "box": testing.box(n_free=2, levels=7, low=2, high=4),
    "box-three-groups": testing.box(n_free=2, levels=5, low=0, high=9, n_groups=3),
    "box-empty": testing.box(n_free=2, levels=5, low=4, high=3),
    "checkerboard": hard_toys.checkerboard(n_free=2, levels=8, every=2),
    "checkerboard-odd": hard_toys.checkerboard(n_free=3, levels=5, every=3),
    "sparse": hard_toys.sparse(n_cases=7, n_free=2, levels=9),
    "never": testing.never(n_free=2, levels=4),
    "odd-one-out": testing.odd_one_out(levels=5),
    "pair": testing.pair(levels=5),
    "score": testing.score(levels=8, threshold=0.5),
    "score-third": testing.score(levels=8, threshold=Fraction(1, 3)),
    "proba": testing.proba(levels=8, threshold=0.25),
    "loans": testing.loans(),
}


def brute_force(toy):
    """The families that are discriminatory, by asking for every input of the domain."""
    domain = toy.domain
    everything = every_input(domain)
    frame = domain.decode(everything)
    batch = frame.to_numpy() if all(p.is_numeric for p in domain.parameters) else frame
    outputs = np.asarray(toy.model(batch))
    by_family = {}
    for row, output in zip(everything.tolist(), outputs.tolist(), strict=True):
        by_family.setdefault(tuple(row[c] for c in domain.free_columns), []).append(output)
    threshold = toy.settings.get("threshold", 0)
    hits = {family for family, answers in by_family.items() if gap(answers, toy.settings.get("output")) > threshold}
    planted = toy.is_case(batch)
    said = {*map(tuple, everything[planted][:, list(domain.free_columns)].tolist())}
    return hits, said, len(by_family)


def gap(answers, output):
    if output is None:
        return float(len(set(answers)) > 1)
    columns = list(zip(*answers, strict=True)) if output == "proba" else [answers]
    return max(max(column) - min(column) for column in columns)


@pytest.mark.parametrize("name", SMALL)
def test_the_share_is_exact(name):
    toy = SMALL[name]
    hits, said, n_families = brute_force(toy)
    assert isinstance(toy.share, Fraction)
    assert toy.share == Fraction(len(hits), n_families)
    assert hits == said
    assert toy.n_cases == len(hits)
    assert toy.domain.n_families == n_families


BOX = testing.box()
ROWS = BOX.domain.sample(200, seed=0)
TREE = DecisionTreeClassifier(random_state=0).fit(ROWS.to_numpy(), BOX.model(ROWS.to_numpy()))


def test_it_fails_from_a_number_of_rows_on():
    model = CountingModel(BOX.model, fail_after=10)
    model(ROWS.to_numpy()[:10])
    for n in (1, 5):
        with pytest.raises(RuntimeError, match="this model fails after 10 rows, got"):
            model(ROWS.to_numpy()[:n])
    assert (model.n_calls, model.n_rows) == (3, 16)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
@pytest.mark.parametrize("wrapped", [BOX.model, TREE])
def test_it_can_be_copied_and_sent(duplicate, wrapped):
    model = CountingModel(wrapped, fail_after=500)
    getattr(model, "predict", model)(ROWS.to_numpy())
    again = duplicate(model)
    assert (again.n_calls, again.n_rows, again.fail_after) == (1, 200, 500)
    getattr(again, "predict", again)(ROWS.to_numpy())
    assert (again.n_rows, model.n_rows) == (400, 200)
