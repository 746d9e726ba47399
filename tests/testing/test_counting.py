"""The counting model answers as the wrapped one does, and counts."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from fairprobe import testing
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
