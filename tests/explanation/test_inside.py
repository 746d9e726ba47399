"""The nodes and coefficients that tell twins apart."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from benchmarks.label_worlds import made_evidence
from fairprobe import Category, Domain, Integer, Link
from fairprobe.explanation.inside import TOP, _trees, _View, inside_of
from fairprobe.subjects.fair_svm import FairSVM
from fairprobe.testing.toys import CountingModel

DOMAIN = Domain(
    [
        Integer("x", 0, 19),
        Category("job", ["clerk", "farmer", "nurse", "smith", "judge"]),
        Category("sex", ["Female", "Male"]),
    ],
    ["sex"],
)
NUMBERS = Domain([Integer("x", 0, 19), Integer("z", 0, 9), Integer("sex", 0, 2)], ["sex"])


def data(domain=DOMAIN, n=600, seed=0):
    """Labels that hang on sex in the middle of x, with noise."""
    rng = np.random.default_rng(seed)
    X = domain.decode(domain.sample_codes(n, rng))
    odd = X["sex"].isin(["Female", 0]) & X["x"].between(5, 14)
    y = ((X["x"] >= 10) ^ odd ^ (rng.random(n) < 0.1)).astype(int).to_numpy()
    return X, y


def piped(final, listed=None):
    encoder = make_column_transformer(
        (listed or OneHotEncoder(sparse_output=False), ["job", "sex"]), (StandardScaler(), ["x"])
    )
    return make_pipeline(encoder, final)


def evidence_of(model, domain=DOMAIN, X=None, y=None, **settings):
    if X is None:
        X, y = data(domain)
    return made_evidence(model.fit(X, y), domain, n=500, **settings)


def members_of(evidence):
    """The members of all cases, as a frame."""
    families = evidence.domain.families
    return evidence.domain.decode(families.of(evidence.cases.codes).rows)


TREES = {
    "tree": DecisionTreeClassifier(random_state=0),
    "forest": RandomForestClassifier(7, random_state=0),
    "extra": ExtraTreesClassifier(5, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=9, learning_rate=0.5, random_state=0),
}


def plain_trees(final):
    return [final.tree_] if hasattr(final, "tree_") else [each.tree_ for each in np.ravel(final.estimators_)]


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("domain", [NUMBERS, DOMAIN], ids=["array", "pipeline"])
def test_by_the_trees_own_paths(name, domain):
    X, y = data(domain)
    model = TREES[name] if domain is NUMBERS else piped(TREES[name])
    evidence = evidence_of(model, domain, X.to_numpy() if domain is NUMBERS else X, y)
    inside = inside_of(evidence)
    members = members_of(evidence)
    final = model if domain is NUMBERS else model[-1]
    rows = np.asarray(members if domain is NUMBERS else model[:-1].transform(members), dtype=np.float32)
    columns = [2] if domain is NUMBERS else [5, 6]
    masses, parted, passed = {}, {}, np.zeros(len(rows))
    for number, tree in enumerate(plain_trees(final)):
        paths = tree.decision_path(rows).toarray()
        for node in np.flatnonzero(np.isin(tree.feature, columns)):
            masses[number, node] = paths[:, node].mean()
            passed += paths[:, node]
            ways = [
                paths[:, child].reshape(len(domain.families), -1).any(axis=0)
                for child in (tree.children_left[node], tree.children_right[node])
            ]
            parted[number, node] = (ways[0] & ways[1]).mean()
    assert inside.n_members == len(rows) > 100
    (total,) = inside.totals
    assert (total.parameter, total.n_nodes) == ("sex", len(masses))
    assert total.n_trees == len({number for number, _ in masses})
    assert total.mass == pytest.approx((passed > 0).mean())
    assert total.per_member == pytest.approx(passed.mean())
    assert inside.n_trees == len(plain_trees(final))
    strongest = sorted(masses, key=lambda key: (-parted[key], -masses[key], *key))[:TOP]
    assert [(each.tree, each.node) for each in inside.nodes] == strongest
    assert [each.mass for each in inside.nodes] == pytest.approx([masses[key] for key in strongest])
    assert [each.parted for each in inside.nodes] == pytest.approx([parted[key] for key in strongest])
    names = X.columns if domain is NUMBERS else model[:-1].get_feature_names_out()
    for node in inside.nodes:
        tree = plain_trees(final)[node.tree]
        assert node.condition == f"{names[tree.feature[node.node]]} <= {tree.threshold[node.node]:.6g}"
        # The path in words leads there: as many conditions as it is deep, and whoever fits them all passes the node.
        frame = pd.DataFrame(rows, columns=[str(each) for each in names])
        fits = np.ones(len(rows), dtype=bool)
        conditions = [each for each in node.path.split(" and ") if each]
        assert len(conditions) == node.depth
        for condition in conditions:
            feature, sign, threshold = condition.rsplit(" ", 2)
            below = frame[feature] <= float(threshold)
            fits &= below if sign == "<=" else ~below
        assert fits.mean() == pytest.approx(node.mass)


def test_who_goes_which_way():
    inside = inside_of(evidence_of(piped(TREES["tree"])))
    assert {(each.left, each.right) for each in inside.nodes} <= {("Female", "Male"), ("Male", "Female")}
    X, y = data(NUMBERS)
    inside = inside_of(evidence_of(TREES["tree"], NUMBERS, X, y))
    assert {(each.left, each.right) for each in inside.nodes} <= {("0", "1, 2"), ("0, 1", "2")}
    assert inside.table["parameter"].eq("sex").all()
    assert "split on sex" in inside.sentences()[0]
    assert "sends sex" in inside.sentences()[1]
    json.dumps(inside.summary(), allow_nan=False)


def as_categories(X):
    return X.astype({"job": "category", "sex": "category"})


@pytest.mark.parametrize("form", ["numbers", "ordinal", "categories"])
def test_boosting_by_histograms_is_read_as_it_answers(form):
    X, y = data(n=1500)
    final = HistGradientBoostingClassifier(max_iter=8, max_leaf_nodes=8, min_samples_leaf=5)
    domain, model = DOMAIN, piped(final)
    if form == "ordinal":
        model = piped(final.set_params(categorical_features=[0, 1]), OrdinalEncoder())
    if form == "categories":
        X = as_categories(X)
        domain, model = Domain.from_frame(X, sensitive=["sex"]), final.set_params(categorical_features="from_dtype")
    evidence = evidence_of(model, domain, X, y)
    inside = inside_of(evidence)
    view = _View(evidence)
    rows = view.seen.rows(view.members)
    final = view.seen.final
    scores = np.full(len(rows), float(np.ravel(final._baseline_prediction)[0]))
    for tree, (predictor,) in zip(_trees(final), final._predictors, strict=True):
        at = np.zeros(len(rows), dtype=np.int64)
        while (tree.left[at] >= 0).any():
            inner = tree.left[at] >= 0
            left = tree.goes_left(at[inner], rows[inner, tree.column[at[inner]]])
            at[inner] = np.where(left, tree.left[at[inner]], tree.right[at[inner]])
        scores += predictor.nodes["value"][at]
    members = domain.decode(view.members)
    assert np.allclose(scores, model.decision_function(members))
    assert inside.n_trees == 8
    assert inside.totals[0].n_nodes == len(inside.nodes) > 0
    assert {(each.left, each.right) for each in inside.nodes} <= {("Female", "Male"), ("Male", "Female")}
    feature = inside.nodes[0].condition.split(" ")[0]
    assert feature.endswith({"numbers": ("sex_Female", "sex_Male")}.get(form, ("sex",)))
    assert (" in (" in inside.nodes[0].condition) == (form != "numbers")


def test_a_vote_of_trees():
    X, y = data(NUMBERS)
    parts = [("tree", TREES["tree"]), ("forest", TREES["forest"]), ("boosting", TREES["boosting"])]
    inside = inside_of(evidence_of(VotingClassifier(parts), NUMBERS, X.to_numpy(), y))
    assert inside.n_trees == 1 + 7 + 9
    histograms = HistGradientBoostingClassifier(max_iter=3)
    mixed = VotingClassifier([*parts, ("histograms", histograms)], voting="soft")
    assert inside_of(evidence_of(mixed, NUMBERS, X.to_numpy(), y)).n_trees == 1 + 7 + 9 + 3
    with_linear = VotingClassifier([*parts, ("linear", LogisticRegression(max_iter=1000))])
    assert inside_of(evidence_of(with_linear, NUMBERS, X.to_numpy(), y)) is None


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor(random_state=0),
        RandomForestRegressor(3, random_state=0),
        GradientBoostingRegressor(n_estimators=4),
        HistGradientBoostingRegressor(max_iter=4),
        Ridge(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_regressors(model):
    X, y = data(NUMBERS)
    evidence = evidence_of(model, NUMBERS, X, y + 3.0 * X["sex"], output="value", threshold=0.5)
    inside = inside_of(evidence)
    assert len(inside.table)
    assert evidence.oracle.asker.n_queries == 0
    if isinstance(model, Ridge):
        assert inside.weights[0].outcome is None


@pytest.mark.parametrize(
    "model",
    [LogisticRegression(max_iter=1000), RidgeClassifier(), SGDClassifier(random_state=0), LinearSVC(random_state=0)],
    ids=lambda model: type(model).__name__,
)
def test_linear_models(model):
    evidence = evidence_of(piped(model))
    inside = inside_of(evidence)
    names = evidence.model[:-1].get_feature_names_out().tolist()
    assert sum(each.parameter == "sex" for each in inside.weights) == 2
    rows = evidence.model[:-1].transform(members_of(evidence)) if evidence.n_cases else np.zeros((1, len(names)))
    coefficients = np.ravel(model.coef_)
    for each in inside.weights:
        column = names.index(each.feature)
        assert each.coefficient == coefficients[column]
        assert each.effect == pytest.approx(abs(coefficients[column] * np.ptp(rows[:, column])))
        assert (each.parameter == "sex") == ("sex" in each.feature)
        assert each.outcome == 1
    assert inside.table["feature"].str.contains("sex").tolist()[:2] == [True, True]
    assert any("has the coefficient" in sentence for sentence in inside.sentences())
    json.dumps(inside.summary(), allow_nan=False)


def test_a_linear_model_of_three_classes():
    X, _ = data(NUMBERS)
    y = np.select([X["x"] < 7, X["x"] < 7 + 4 * X["sex"]], ["a", "b"], "c")
    model = LogisticRegression(max_iter=3000)
    inside = inside_of(evidence_of(model, NUMBERS, X, y))
    mine = [each for each in inside.weights if each.parameter == "sex"]
    assert Counter(each.outcome for each in mine) == Counter("abc")
    assert {each.coefficient for each in mine} == set(model.coef_[:, 2])


def test_the_subject_that_is_linear():
    X, y = data(NUMBERS)
    inside = inside_of(evidence_of(FairSVM("sex"), NUMBERS, X, y))
    assert inside.model == "FairSVM"
    assert inside.weights[0].feature == "sex"


def test_links_change_what_twins_differ_in():
    domain = Domain(
        [
            Integer("x", 0, 9),
            Category("role", ["Husband", "Wife", "Single"]),
            Category("sex", ["Female", "Male"]),
        ],
        ["sex"],
        links=[Link("role", "sex", [{"Male": "Husband", "Female": "Wife"}])],
    )
    rng = np.random.default_rng(0)
    X = domain.decode(domain.sample_codes(500, rng))
    y = ((X["x"] >= 5) ^ (X["role"] == "Wife")).astype(int)
    encoder = make_column_transformer((OneHotEncoder(sparse_output=False), ["role", "sex"]), remainder="passthrough")
    inside = inside_of(evidence_of(make_pipeline(encoder, TREES["tree"]), domain, X, y))
    assert {each.parameter: each.n_nodes > 0 for each in inside.totals} == {"sex": False, "role": True}
    hidden = domain.hiding(["sex"])
    encoder = make_column_transformer((OneHotEncoder(sparse_output=False), ["role"]), remainder="passthrough")
    inside = inside_of(evidence_of(make_pipeline(encoder, TREES["tree"]), hidden, X[["x", "role"]], y))
    assert [each.parameter for each in inside.totals] == ["role"]
    assert inside.n_members > 0


def test_members_that_are_forbidden_are_not_counted():
    domain = NUMBERS.with_constraints(["sex != 2 or x < 10"])
    X, y = data(NUMBERS)
    evidence = evidence_of(TREES["tree"], domain, X, y)
    assert inside_of(evidence).n_members == int(evidence.cases.present.sum()) < 3 * evidence.n_cases


def test_without_cases_and_without_nodes():
    X, y = data(NUMBERS)
    X["sex"] = 0
    evidence = evidence_of(DecisionTreeClassifier(max_depth=3), NUMBERS, X, y)
    inside = inside_of(evidence)
    assert (evidence.n_cases, inside.n_members, inside.nodes) == (0, 0, ())
    assert inside.totals[0].n_nodes == 0
    assert inside.table.empty
    assert inside.sentences() == [f"0 of {inside.n_nodes} nodes, in 0 of 1 trees, split on sex"]
    assert inside_of(evidence_of(LogisticRegression(max_iter=1000), NUMBERS, X, y)).weights[0].effect == 0.0


def test_what_is_not_known_is_not_looked_into():
    X, y = data(NUMBERS)

    class Own(DecisionTreeClassifier):
        pass

    assert inside_of(evidence_of(Own(), NUMBERS, X, y)) is None
    assert inside_of(evidence_of(GaussianNB(), NUMBERS, X, y)) is None
    assert inside_of(evidence_of(make_pipeline(PCA(2), DecisionTreeClassifier()), NUMBERS, X, y)) is None
    assert inside_of(made_evidence(lambda X: X[:, 0] > 3, NUMBERS, n=50)) is None
    fitted = DecisionTreeClassifier().fit(X, y)
    assert inside_of(made_evidence(CountingModel(fitted), NUMBERS, n=50)) is None
    fitted.predict = lambda rows, check_input=True: np.zeros(len(rows))
    assert inside_of(made_evidence(fitted, NUMBERS, n=50)) is None
