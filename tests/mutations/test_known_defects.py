"""Defects of what is known of models, put back one at a time: what a user sees shows each of them."""

import functools
from unittest import mock

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fairprobe import Domain, Integer, estimate
from fairprobe.estimation.exact import walk
from fairprobe.model import known, tables

DOMAIN = Domain([Integer("x", 0, 60_000), Integer("z", 0, 10**4), Integer("s", 0, 1)], ["s"])
ROWS = DOMAIN.sample(2_000, seed=0).to_numpy()


def check_falling():
    """Twins differ where x is in its last sixth, which is a column that falls to the tree."""
    columns = ColumnTransformer([("a", "passthrough", [0, 1, 2])], transformer_weights={"a": -1.0})
    union = FeatureUnion([("a", StandardScaler())], transformer_weights={"a": -2.0})
    for part in (columns, union):
        model = make_pipeline(part, DecisionTreeClassifier()).fit(ROWS, (ROWS[:, 0] > 50_000) & (ROWS[:, 2] == 1))
        assert 0.14 < estimate(model, DOMAIN).value < 0.19


def leave_out_random_families(patch):
    """Nothing is said of random families that the model could contradict."""
    undecided = lambda self, codes: np.full((len(codes), self._plan.ahead.shape[1]), walk.UNDECIDED)  # noqa: E731
    patch.setattr(walk.BoxWalk, "_labels", undecided)


def put_back_ends_alone(patch):
    """Only the ends of a column are looked at, and no random families are asked about."""
    table = tables.Seen.table

    def ends(self, parameter, wanted):
        found = table(self, parameter, wanted)
        is_last = np.arange(len(found.values))[:, None] == len(found.values) - 1
        return tables.LevelTable(found.columns, np.where(is_last, found.values[-1], found.values[0]))

    patch.setattr(tables.Seen, "table", ends)
    leave_out_random_families(patch)


def check_wrapped():
    """The class's own predict says otherwise of one family in a thousand: no share of it is exact."""
    model = DecisionTreeClassifier(max_depth=3).fit(ROWS, ROWS[:, 0] > 30_000)
    original = DecisionTreeClassifier.predict

    @functools.wraps(original)
    def predict(self, rows, check_input=True):
        return original(self, rows) ^ ((rows[:, 2] == 1) & (rows[:, 1] % 1000 == 1) & (rows[:, 0] != 0))

    with mock.patch.object(DecisionTreeClassifier, "predict", predict):
        share = estimate(model, DOMAIN)
    assert share.method == "sample"
    assert share.hits > 0


def put_back_trust(patch):
    """A function is believed to be what it says of itself, which `functools.wraps` copies."""
    patch.setattr(known, "is_shipped", lambda function, place: known.package_of(function.__module__) in known.PACKAGES)


def check_rare_answers():
    """A known class that answers otherwise, where nothing counted is a hit, is not called exact."""
    model = DecisionTreeClassifier(max_depth=3).fit(ROWS, ROWS[:, 0] > 30_000)
    original = DecisionTreeClassifier.predict

    def predict(self, rows, check_input=True):
        return original(self, rows) ^ ((rows[:, 2] == 1) & (rows[:, 1] % 3 == 0))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known, "_is_class_altered", lambda cls: False)
        patch.setattr(DecisionTreeClassifier, "predict", predict)
        with pytest.warns(Warning, match="not-exact"):
            share = estimate(model, DOMAIN)
    assert np.isclose(share.value, 1 / 3, atol=0.05)


MUTATIONS = [
    (put_back_ends_alone, check_falling),
    (put_back_trust, check_wrapped),
    (leave_out_random_families, check_rare_answers),
]


@pytest.mark.parametrize(("put_back", "check"), MUTATIONS)
def test_a_model_taken_for_a_known_one_is_caught(put_back, check, is_caught):
    is_caught(check, put_back, errors=(AssertionError, pytest.fail.Exception))
