"""The counting model answers as the wrapped one does, and counts."""

from __future__ import annotations

import copy
import pickle
import time

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeClassifier

from fairprobe import search, testing
from fairprobe.model import Asker
from fairprobe.testing import CountingModel

BOX = testing.box()
ROWS = BOX.domain.sample(200, seed=0)
TREE = DecisionTreeClassifier(random_state=0).fit(ROWS.to_numpy(), BOX.model(ROWS.to_numpy()))


def test_it_counts_calls_and_rows():
    model = CountingModel(BOX.model)
    np.testing.assert_array_equal(model(ROWS.to_numpy()), BOX.model(ROWS.to_numpy()))
    model(ROWS.to_numpy()[:3])
    assert (model.n_calls, model.n_rows) == (2, 203)


def test_every_method_counts():
    model = CountingModel(TREE)
    np.testing.assert_array_equal(model.predict(ROWS.to_numpy()), TREE.predict(ROWS.to_numpy()))
    np.testing.assert_array_equal(model.predict_proba(ROWS.to_numpy()), TREE.predict_proba(ROWS.to_numpy()))
    assert (model.n_calls, model.n_rows) == (2, 400)
    np.testing.assert_array_equal(model.classes_, TREE.classes_)
    assert model.n_features_in_ == 4


def test_it_has_what_the_wrapped_model_has():
    assert not hasattr(CountingModel(BOX.model), "predict")
    assert not hasattr(CountingModel(TREE), "decision_function")
    assert not hasattr(CountingModel(TREE), "feature_names_in_")
    assert hasattr(CountingModel(TREE), "predict_proba")
    with pytest.raises(AttributeError, match="'CountingModel' object has no attribute 'fit'"):
        CountingModel(TREE).fit(ROWS, ROWS)


def test_a_model_fitted_on_a_frame_still_gets_one():
    fitted = Ridge().fit(ROWS[["group", "x1", "x0", "x2"]], ROWS["x0"])
    model = CountingModel(fitted)
    codes = BOX.domain.encode(ROWS)
    answer = Asker(model, BOX.domain, output="value").ask(codes)
    np.testing.assert_array_equal(answer, fitted.predict(ROWS[["group", "x1", "x0", "x2"]]))
    assert model.n_rows == 200


@pytest.mark.parametrize("model", [BOX.model, TREE])
def test_a_search_is_the_same_with_it(model):
    counting = CountingModel(model)
    settings = {"max_inputs": 3000, "n_global": 300, "n_walkers": 20}
    one, two = (search(each, BOX.domain, **settings) for each in (model, counting))
    assert one.to_frame().equals(two.to_frame())
    assert counting.n_rows == two.n_queries


def test_it_fails_from_a_number_of_rows_on():
    model = CountingModel(BOX.model, fail_after=10)
    model(ROWS.to_numpy()[:10])
    for n in (1, 5):
        with pytest.raises(RuntimeError, match="this model fails after 10 rows, got"):
            model(ROWS.to_numpy()[:n])
    assert (model.n_calls, model.n_rows) == (3, 16)


def test_it_takes_its_time():
    begun = time.monotonic()
    CountingModel(BOX.model, delay=0.05)(ROWS.to_numpy())
    assert time.monotonic() - begun >= 0.05


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
@pytest.mark.parametrize("wrapped", [BOX.model, TREE])
def test_it_can_be_copied_and_sent(duplicate, wrapped):
    model = CountingModel(wrapped, fail_after=500)
    getattr(model, "predict", model)(ROWS.to_numpy())
    again = duplicate(model)
    assert (again.n_calls, again.n_rows, again.fail_after) == (1, 200, 500)
    getattr(again, "predict", again)(ROWS.to_numpy())
    assert (again.n_rows, model.n_rows) == (400, 200)
