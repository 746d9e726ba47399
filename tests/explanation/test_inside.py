"""The nodes and coefficients that tell twins apart."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from benchmarks.label_worlds import made_evidence
from fairprobe import Category, Domain, Integer, Link
from fairprobe.explanation.inside import TOP, inside_of
from fairprobe.testing.toys import CountingModel
from fairprobe.wording import percent

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


TREE = DecisionTreeClassifier(random_state=0)


@pytest.mark.parametrize("domain", [NUMBERS, DOMAIN], ids=["array", "pipeline"])
def test_by_the_trees_own_paths(domain):
    X, y = data(domain)
    model = TREE if domain is NUMBERS else piped(TREE)
    evidence = evidence_of(model, domain, X.to_numpy() if domain is NUMBERS else X, y)
    inside = inside_of(evidence)
    members = members_of(evidence)
    rows = np.asarray(members if domain is NUMBERS else model[:-1].transform(members), dtype=np.float32)
    columns = [2] if domain is NUMBERS else [5, 6]
    tree = TREE.tree_
    paths = tree.decision_path(rows).toarray()
    masses, parted, passed = {}, {}, np.zeros(len(rows))
    for node in np.flatnonzero(np.isin(tree.feature, columns)).tolist():
        masses[node] = paths[:, node].mean()
        passed += paths[:, node]
        children = (tree.children_left[node], tree.children_right[node])
        ways = [paths[:, child].reshape(len(domain.families), -1).any(axis=0) for child in children]
        parted[node] = (ways[0] & ways[1]).mean()
    assert inside.n_members == len(rows) > 100
    n_inner, passing = int((tree.children_left >= 0).sum()), percent((passed > 0).mean())
    total = f"{len(masses)} of {n_inner} nodes split on sex; {passing} of the cases' members pass at least one."
    assert inside.sentences()[0] == total
    strongest = sorted(masses, key=lambda node: (-parted[node], -masses[node], node))[:TOP]
    assert inside.table["node"].tolist() == strongest
    assert inside.table["mass"].tolist() == pytest.approx([masses[node] for node in strongest])
    assert inside.table["parted"].tolist() == pytest.approx([parted[node] for node in strongest])
    names = X.columns if domain is NUMBERS else model[:-1].get_feature_names_out()
    for node in inside.table.itertuples():
        assert node.condition == f"{names[tree.feature[node.node]]} <= {tree.threshold[node.node]:.6g}"


def ways(inside):
    return {*zip(inside.table["left"], inside.table["right"], strict=True)}


def test_who_goes_which_way():
    assert ways(inside_of(evidence_of(piped(TREE)))) <= {("Female", "Male"), ("Male", "Female")}
    inside = inside_of(evidence_of(TREE, NUMBERS, *data(NUMBERS)))
    assert ways(inside) <= {("0", "1, 2"), ("0, 1", "2")}
    assert inside.table["parameter"].eq("sex").all()
    assert "split on sex" in inside.sentences()[0]
    assert "it sends sex" in inside.sentences()[1]
    json.dumps(inside.jsonable(), allow_nan=False)


@pytest.mark.parametrize("model", [DecisionTreeRegressor(random_state=0), Ridge()])
def test_regressors(model):
    X, y = data(NUMBERS)
    evidence = evidence_of(model, NUMBERS, X, y + 3.0 * X["sex"], output="value", threshold=0.5)
    inside = inside_of(evidence)
    assert len(inside.table)
    assert evidence.oracle.asker.n_queries == 0
    if isinstance(model, Ridge):
        assert inside.table["outcome"].tolist() == [None] * 3


@pytest.mark.parametrize(
    "model",
    [LogisticRegression(max_iter=1000), RidgeClassifier(), LinearSVC(random_state=0)],
    ids=lambda model: type(model).__name__,
)
def test_linear_models(model):
    evidence = evidence_of(piped(model))
    inside = inside_of(evidence)
    names = evidence.model[:-1].get_feature_names_out().tolist()
    assert (inside.table["parameter"] == "sex").sum() == 2
    rows = evidence.model[:-1].transform(members_of(evidence)) if evidence.n_cases else np.zeros((1, len(names)))
    coefficients = np.ravel(model.coef_)
    for each in inside.table.itertuples():
        column = names.index(each.feature)
        assert each.coefficient == coefficients[column]
        assert each.effect == pytest.approx(abs(coefficients[column] * np.ptp(rows[:, column])))
        assert (each.parameter == "sex") == ("sex" in each.feature)
        assert each.outcome == 1
    assert inside.table["feature"].str.contains("sex").tolist()[:2] == [True, True]
    assert any("has the coefficient" in sentence for sentence in inside.sentences())
    json.dumps(inside.jsonable(), allow_nan=False)


def test_links_change_what_twins_differ_in():
    domain = Domain(
        [Integer("x", 0, 9), Category("role", ["Husband", "Wife", "Single"]), Category("sex", ["Female", "Male"])],
        ["sex"],
        links=[Link("role", "sex", [{"Male": "Husband", "Female": "Wife"}])],
    )
    X = domain.decode(domain.sample_codes(500, np.random.default_rng(0)))
    y = ((X["x"] >= 5) ^ (X["role"] == "Wife")).astype(int)
    for compared, columns in ((domain, ["role", "sex"]), (domain.hiding(["sex"]), ["role"])):
        encoder = make_column_transformer((OneHotEncoder(sparse_output=False), columns), remainder="passthrough")
        evidence = evidence_of(make_pipeline(encoder, TREE), compared, X[["x", *columns]], y)
        inside = inside_of(evidence)
        told = [sentence for sentence in inside.sentences() if " nodes split on " in sentence]
        assert {each.partition(" split on ")[2].split(";")[0].rstrip("."): each[:2] != "0 " for each in told} == {
            name: name == "role" for name in columns
        }
        assert inside.n_members == int(evidence.cases.exist.sum())


def test_without_cases_and_without_nodes():
    X, y = data(NUMBERS)
    X["sex"] = 0
    evidence = evidence_of(DecisionTreeClassifier(max_depth=3), NUMBERS, X, y)
    inside = inside_of(evidence)
    assert (evidence.n_cases, inside.n_members) == (0, 0)
    assert inside.table.empty
    (sentence,) = inside.sentences()
    assert re.fullmatch(r"0 of \d nodes split on sex\.", sentence)
    assert inside_of(evidence_of(LogisticRegression(max_iter=1000), NUMBERS, X, y)).table["effect"][0] == 0.0


def test_what_is_not_known_is_not_looked_into():
    X, y = data(NUMBERS)

    class Own(DecisionTreeClassifier):
        pass

    assert inside_of(evidence_of(Own(), NUMBERS, X, y)) is None
    for other in (GaussianNB(), RandomForestClassifier(3)):
        assert inside_of(evidence_of(other, NUMBERS, X, y)) is None
    assert inside_of(evidence_of(make_pipeline(PCA(2), DecisionTreeClassifier()), NUMBERS, X, y)) is None
    assert inside_of(made_evidence(lambda X: X[:, 0] > 3, NUMBERS, n=50)) is None
    fitted = DecisionTreeClassifier().fit(X, y)
    assert inside_of(made_evidence(CountingModel(fitted), NUMBERS, n=50)) is None
    fitted.predict = lambda rows, check_input=True: np.zeros(len(rows))
    assert inside_of(made_evidence(fitted, NUMBERS, n=50)) is None
