"""Files that follow no rule: fitted models whose numbers lead out of them, and pickles that do as they like."""

import functools
import json
import pickle
import re

import numpy as np
import pytest
import skops.io
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier


@functools.cache
def rows():
    X = np.random.default_rng(0).integers(0, 6, (200, 3)).astype(float)
    return X, (X[:, 0] + X[:, 1] > 5).astype(int)


def widened(tree, n_columns=101):
    """The same tree, which says that it takes more columns, and looks at the last of them."""
    make, (_, *arguments), state = tree.__reduce__()
    nodes = state["nodes"].copy()
    nodes["feature"][0] = n_columns - 1
    made = make(n_columns, *arguments)
    made.__setstate__({**state, "nodes": nodes})
    return made


def tree_of_other_columns():
    model = DecisionTreeClassifier(random_state=0).fit(*rows())
    model.tree_ = widened(model.tree_)
    return model


def tree_that_takes_any_width():
    model = tree_of_other_columns()
    del model.n_features_in_
    return model


def tree_that_says_it_takes_more():
    """In a forest that takes three: it does not ask its trees again."""
    model = RandomForestClassifier(3, random_state=0).fit(*rows())
    model.estimators_[1].tree_ = widened(model.estimators_[1].tree_)
    model.estimators_[1].n_features_in_ = 101
    return model


def isolation_forest():
    model = IsolationForest(n_estimators=3, max_features=2, random_state=0).fit(rows()[0])
    model.estimators_[0].tree_ = widened(model.estimators_[0].tree_)
    model.estimators_[0].n_features_in_ = 101
    return model


def histograms_of_other_columns():
    model = HistGradientBoostingClassifier(max_iter=3).fit(*rows())
    model._n_features = 6000
    for trees in model._predictors:
        trees[0].nodes["feature_idx"][~trees[0].nodes["is_leaf"].astype(bool)] = 5999
    return model


def histograms_of_large_categories():
    model = HistGradientBoostingClassifier(max_iter=3, categorical_features=[1]).fit(*rows())
    mapper = model._bin_mapper
    mapper.bin_thresholds_[int(np.argmax(mapper.is_categorical_))] = np.array([0.0, 1.0, 4_000_000_000.0])
    return model


def histograms_in_fitting():
    model = histograms_of_other_columns()
    model._in_fit = True
    return model


def boosting_of_repeated_columns():
    model = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(*rows())
    model.estimators_ = np.tile(model.estimators_, (1, 40))
    return model


def boosting_that_repeats_its_count_too():
    model = boosting_of_repeated_columns()
    model.n_trees_per_iteration_ = 40
    return model


def machine_of_fewer_columns():
    model = SVC().fit(*rows())
    model.support_vectors_ = model.support_vectors_[:, :2].copy()
    return model


def neighbours_of_fewer_columns():
    model = KNeighborsClassifier(algorithm="brute").fit(*rows())
    model._fit_X = model._fit_X[:, :2].copy()
    return model


def classes_of_no_bytes():
    model = DecisionTreeClassifier().fit(*rows())
    model.classes_ = np.ndarray((10_000,), "S0")
    return model


SKOPS = (
    classes_of_no_bytes,
    tree_of_other_columns,
    tree_that_takes_any_width,
    tree_that_says_it_takes_more,
    isolation_forest,
    histograms_of_other_columns,
    histograms_of_large_categories,
    histograms_in_fitting,
    boosting_of_repeated_columns,
    boosting_that_repeats_its_count_too,
    machine_of_fewer_columns,
    neighbours_of_fewer_columns,
)
"""Each reads, or writes, beside its own memory when it is asked."""


def write_skops(make, path):
    skops.io.dump(make(), path)


def lightgbm_with_linear_leaves(path):
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=3, num_leaves=4, verbose=-1, linear_tree=True, n_jobs=1).fit(*rows())
    text = re.sub(r"(\nleaf_features=.*?)\d+( *\n)", r"\g<1>9\2", model.booster_.model_to_string())
    assert text != model.booster_.model_to_string()
    write_trees(path, text)
    return path


def write_trees(path, text):
    """A file of LightGBM whose trees are as long as it says."""
    head, *trees = text.partition("\nend of trees")[0].split("\nTree=")
    sizes = " ".join(str(len(f"Tree={tree}") + 1) for tree in trees)
    head = "\n".join(f"tree_sizes={sizes}" if line.startswith("tree_sizes=") else line for line in head.split("\n"))
    path.write_text("\nTree=".join([head, *trees]) + "\nend of trees" + text.partition("\nend of trees")[2])


def xgboost_of_other_weights(path):
    xgboost = pytest.importorskip("xgboost")
    X, y = rows()
    booster = xgboost.train({"booster": "gblinear", "objective": "binary:logistic"}, xgboost.DMatrix(X, y), 2)
    content = json.loads(bytes(booster.save_raw("json")))
    content["learner"]["gradient_booster"]["model"]["weights"] = [1.0]
    path.write_text(json.dumps(content))
    return path


def bagging_of_many_processes():
    return BaggingClassifier(DecisionTreeClassifier(), n_estimators=24, n_jobs=1).fit(*rows()).set_params(n_jobs=24)


class Written:
    """Pickled, it is an object of three columns whose `predict` runs some code, which sets `answer`."""

    def __init__(self, code, loading=""):
        self.code = code
        self.loading = loading

    def __reduce__(self):
        lines = "\n    ".join(self.code.splitlines())
        made = f"{self.loading}\ndef predict(self, X):\n    answer = [0] * len(X)\n    {lines}\n    return answer\n"
        return eval, (f"(exec({made!r}, space := {{}}), type('M', (), {{'predict': space['predict']}})())[1]",)


def write_pickle(path, code, loading=""):
    path.write_bytes(pickle.dumps(Written(code, loading)))
    return path
