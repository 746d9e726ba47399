"""Models whose answer to a row depends on the rows asked with it: they are found out, and nothing passes."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairprobe import Domain, Integer, estimate, search
from fairprobe.estimation.verdict import verdict
from fairprobe.model.asking import Asker
from fairprobe.model.measuring import unsteadiness

DOMAIN = Domain([Integer("age", 17, 90), Integer("hours", 1, 99), Integer("sex", 0, 1)], sensitive=["sex"])
CHECK = "batch-dependent-model"


def standardised(X):
    X = np.asarray(X, dtype=float)
    return (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-9)


def guarded(X):
    """Scaled within the batch, but for a single row."""
    return standardised(X) if len(X) > 1 else (np.asarray(X, dtype=float) - [53, 50, 0.5]) / [21, 28, 0.5]


def in_order(X):
    return np.cumsum(np.asarray(X, dtype=float), axis=0) % 7


WAYS = [standardised, guarded, in_order]
OUTPUTS = [("label", None, 0.6), ("label", None, 1.7), ("score", 0.05, 0.6)]


def model_of(way, output, level=0.6):
    """A score out of what the batch is made to, or a label: for most ways, of a fraction of the rows."""

    def model(X):
        score = way(X)[:, :2].sum(axis=1)
        return score if output == "score" else score > level

    return model


def names_of(result):
    return [name for name, _ in result.health]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("output", "threshold", "level"), OUTPUTS)
def test_shares_say_so_and_do_not_pass(way, output, threshold, level):
    model, options = model_of(way, output, level), {"output": output, "threshold": threshold}
    rows = DOMAIN.sample(300, seed=1)
    for population, more in (("domain", {"n_experiments": 1, "method": "sample"}), (rows, {"rows_are": "held-out"})):
        share = estimate(model, DOMAIN, population, **options, **more)
        assert CHECK in names_of(share)
        said = verdict(share, 0.5)
        assert said.outcome == "inconclusive"
        assert "depends on the rows that it is asked with" in said.sentence


def network(X):
    """In single precision: the last digits depend on the size of the batch."""
    rng = np.random.default_rng(0)
    inner, outer = (rng.normal(size=size).astype(np.float32) for size in ((3, 300), 300))
    return np.maximum(np.asarray(X, dtype=np.float32) @ inner, 0) @ outer


def words(X):
    return np.where(np.asarray(X)[:, 0] > 50, "yes", "no")


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (network, {"output": "score", "threshold": 0.1}),
        (lambda X: network(X) > 50, {}),
        (words, {}),
        (lambda X: np.zeros(len(X)), {"output": "score", "threshold": 0.1}),
    ],
)
def test_rounding_is_no_dependence(model, options):
    share = estimate(model, DOMAIN, n_experiments=1, batch="array", **options)
    assert not {CHECK, "stochastic-model"} & {*names_of(share)}


def test_a_model_that_draws_is_not_said_to_depend_on_its_batch():
    rng = np.random.default_rng(0)
    share = estimate(lambda X: rng.random(len(X)) > 0.5, DOMAIN, n_experiments=1)
    assert names_of(share) == ["stochastic-model"]
    share = estimate(lambda X: rng.normal(size=len(X)), DOMAIN, n_experiments=1, output="score", threshold=100.0)
    assert names_of(share) == ["stochastic-model"]  # though it has no hit


def test_the_queries_that_it_takes():
    def asked(model, limit=None):
        asker = Asker(model, DOMAIN)
        unsteadiness(asker, limit)
        return asker.n_queries

    known = make_pipeline(StandardScaler(), LogisticRegression()).fit([[20, 1, 0], [60, 1, 1]], [0, 1])
    assert asked(known) == 0  # its class is known to answer row by row
    assert asked(words) == 146
    assert 146 < asked(model_of(standardised, "label")) <= 2 * 146
    for limit in (1, 10, 100, 1000):
        assert asked(model_of(standardised, "label"), limit) <= limit / 5
    found = search(words, DOMAIN, max_queries=1000)
    assert found.n_queries <= 1000
