"""Every case is asked about again, so a model that answers the same row differently is found out."""

import warnings

import numpy as np
import pytest
from scored import DOMAIN, Linear

from fairprobe import Domain, Integer, search
from fairprobe.errors import HealthWarning, ModelError
from fairprobe.searching import STRATEGIES
from fairprobe.testing import CountingModel

SETTINGS = {"n_walkers": 50, "n_global": 500, "n_local": 40, "max_cases": None, "max_inputs": 6_000}


class Noisy(Linear):
    """One answer in twenty is drawn."""

    def __init__(self):
        self.rng = np.random.default_rng(0)

    def predict(self, X):
        answers = super().predict(X)
        drawn = self.rng.random(len(X)) < 0.05
        return np.where(drawn, self.rng.random(len(X)) < 0.5, answers)

    def is_case(self, X):
        return Linear().is_case(X)


def run(model, **settings):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", HealthWarning)
        found = search(model, DOMAIN, **(SETTINGS | settings))
    return found, [str(warning.message) for warning in caught]


@pytest.mark.parametrize("strategy", list(STRATEGIES))
def test_it_is_found_out_and_most_false_cases_go(strategy):
    """Of 100 inputs 5 are noise by one draw; by four, one in 100,000."""
    model = CountingModel(Noisy())
    found, messages = run(model, strategy=strategy)
    assert [name for name, _ in found.health] == ["stochastic-model"]
    assert any(each.startswith("stochastic-model: the model answers the same row differently") for each in messages)
    assert Noisy().is_case(found.cases.to_numpy()).mean() > 0.97
    assert found.n_queries == model.n_rows > 2 * found.n_judged
    assert found.n_cases == len(found.cases) == len(found.gaps)


@pytest.mark.parametrize("strategy", list(STRATEGIES))
def test_a_model_that_repeats_itself_is_asked_about_each_case_once_more(strategy):
    model = CountingModel(Linear())
    found, messages = run(model, strategy=strategy)
    assert found.n_queries == model.n_rows
    beside = 146  # in other batches, in the end
    assert found.n_queries == 2 * found.n_judged + 2 * found.n_cases + beside
    assert not messages


SMALL = Domain([Integer("age", 0, 99), Integer("years", 0, 99), Integer("sex", 0, 1)], sensitive=["sex"])


def test_limits_hold_while_confirming():
    model = CountingModel(Noisy())
    found, _ = run(model, strategy="anchored", max_queries=9_000, max_inputs=4_000)
    assert found.n_queries == model.n_rows <= 9_000
    slow = CountingModel(Noisy(), delay=0.01)
    found, _ = run(slow, strategy="anchored", max_seconds=0.5)
    assert found.stop_reason == "max-seconds"


@pytest.mark.parametrize("kind", [Linear, Noisy])
def test_a_model_that_fails_while_confirming_leaves_what_was_confirmed(kind):
    """It answers as long as it is searched, and fails in the midst of the last second askings."""
    options = {"strategy": "uniform", "max_seconds": 600}
    whole, _ = run(CountingModel(kind()), **options)
    with pytest.raises(ModelError) as caught:
        run(CountingModel(kind(), fail_after=whole.n_queries - 146 - whole.n_cases), **options)
    assert caught.value.found.n_cases >= whole.n_cases > 0
    assert caught.value.found.n_judged == whole.n_judged


def test_rounding_at_the_boundary_is_no_noise():
    """The label hangs on the last bits of a sum, which hang on the size of the batch; scores show that."""

    class OnTheEdge:
        def decision_function(self, X):
            score = X[:, 0] - 50.0 - 5 * X[:, 2]
            return np.where(score == 0, 1e-13 * (1 if len(X) > 1000 else -1), score)

        def predict(self, X):
            return self.decision_function(X) > 0

    found = search(OnTheEdge(), SMALL, max_inputs=20_000, max_cases=None, strategy="uniform", accelerate="off")
    names = [name for name, _ in found.health]
    assert "stochastic-model" not in names
    assert found.n_cases > 0


@pytest.mark.parametrize("output", ["score", "value"])
def test_last_bits_are_no_cases(output):
    """An output that hangs on the batch's size, and on nothing else, in its last bits."""

    class LastBits:
        def decision_function(self, X):
            return X[:, 0] / 100 + 1e-16 * min(len(X), 500) * X[:, 2] * (X[:, 1] % 3)

        predict = decision_function

    found = search(LastBits(), SMALL, output=output, threshold=0, max_inputs=5000, max_cases=None, strategy="uniform")
    assert found.n_cases == 0
    assert found.resolution > 0
    assert "rounding" in [name for name, _ in found.health]
