"""When "auto" is exact: only for classes known exactly, and only where counts foresee that it takes no longer."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from chance import SURPRISING
from fairprobe import Domain, Integer, estimate
from fairprobe.estimation.exact import Solved, solve, solving
from fairprobe.testing import CountingModel, box

WIDE = Domain(
    [Integer("x", 0, 9_999), Integer("y", 0, 9_999), Integer("z", 0, 9_999), Integer("sex", 0, 1)], sensitive=["sex"]
)
ROWS = WIDE.sample(400, seed=1).to_numpy(dtype=np.float64)
LABELS = (ROWS[:, 1] > 5_000).astype(int)


# Only classes that are known exactly


def with_rule(labels, X):
    """Who is a woman with x below 20, which are 0.2% of the domain, is refused whatever the rest says."""
    X = np.asarray(X)
    return np.where((X[:, 0] < 20) & (X[:, 3] == 0), 2, labels)


class Ruled:
    """Adds the rule to what the class would say."""

    def predict(self, X, *args, **options):
        return with_rule(super().predict(X, *args, **options), X)


class RuledLogistic(Ruled, LogisticRegression):
    pass


def without_sex(model):
    """Fitted on rows that differ in y alone, so that nothing but the rule looks at the sex."""
    constant = ROWS.copy()
    constant[:, [0, 2, 3]] = 5_000, 0, 0
    return model.fit(constant, LABELS)


def replaced(model):
    plain = model.predict
    model.predict = lambda X, **options: with_rule(plain(X, **options), X)
    return model


LOOKALIKES = {
    "subclass of a linear classifier": lambda: without_sex(RuledLogistic()),
    "predict of a pipeline replaced": lambda: replaced(without_sex(make_pipeline(StandardScaler(), RidgeClassifier()))),
}
"""More of these in tests/model/test_known.py."""


@pytest.mark.parametrize("method", ["auto", "exact"])
@pytest.mark.parametrize("make", LOOKALIKES.values(), ids=LOOKALIKES)
def test_what_only_looks_known_is_sampled_and_its_rule_found(make, method):
    share = estimate(make(), WIDE, method=method, confidence=1 - SURPRISING, n_experiments=40)
    assert share.method == "sample"
    assert share.low <= 0.002 <= share.high
    assert share.hits > 0
    assert "known" in share.detail


# Enumerating, by counts


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


# Solving, by counts


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


def test_a_model_that_does_not_test_the_sensitive_parameter_is_solved_at_once():
    model = without_sex(GradientBoostingClassifier(n_estimators=20, random_state=0))
    share = estimate(model, WIDE)
    assert (share.method, share.value) == ("exact", 0)


@pytest.mark.parametrize(("n_boxes", "is_solved"), [(20_000, True), (300, True), (30, False)])
def test_boxes_are_limited(n_boxes, is_solved, monkeypatch):
    """The trees have some 200 leaves and cut the domain into more than 30 boxes and fewer than 300."""
    monkeypatch.setattr(solving, "QUICK_BOXES", n_boxes)
    model = grown(RandomForestClassifier(2, max_depth=5, max_features=1, random_state=0))
    solved = solve(model, WIDE, quickly=True)
    assert isinstance(solved, Solved) == is_solved
    if not is_solved:
        assert solved.n_queries == 0, "the leaves tell beforehand"
