"""Stand-ins give the model's own labels, for every kind of model."""

import numpy as np
import pytest
from made import ALL, TWO_CLASSES, agrees, check, fitted
from scipy.sparse import csr_matrix
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fairprobe import Category, Domain, Integer, Ordinal, Real, subjects
from fairprobe.datasets import census_domain, load_census
from fairprobe.model import Asker
from fairprobe.standins import compile_stand_in

DOMAIN = Domain(
    [
        Integer("race", 0, 4),
        Integer("age", 17, 90),
        Real("rate", 0, 1, 0.1),
        Integer("sex", 0, 1),
        Integer("pay", 0, 99),
    ],
    sensitive=["sex", "race"],
)
MIXED = Domain(
    [
        Category("colour", [30, 10, 20]),
        Real("height", -2, 2, 0.05),
        Integer("wide", 0, 10**6, 7),
        Ordinal("rank", [0.5, 0.25, 4]),
        Category("truth", [True, False]),
    ],
    sensitive=["rank", "colour", "truth"],
)
DOMAINS = {"numbers": DOMAIN, "mixed": MIXED}


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("name", ALL)
@pytest.mark.thinned(2)
def test_any_kind(name, domain):
    check(fitted(ALL[name](), DOMAINS[domain]), DOMAINS[domain])
    if name not in TWO_CLASSES:
        check(fitted(ALL[name](), DOMAINS[domain], n_classes=3), DOMAINS[domain])


@pytest.mark.parametrize("names", [[0, 1], [-1.0, 2.0], [False, True], ["no", "yes"]])
@pytest.mark.parametrize("name", ["tree", "forest", "vote", "kernel"])
def test_labels_of_any_type(name, names):
    check(fitted(ALL[name](), DOMAIN, names=names), DOMAIN)


@pytest.mark.parametrize("n_trees", [8, 16, 40])
def test_ties_that_rounding_decides(n_trees):
    # Probabilities whose sums are even on paper: which is ahead depends on the order of the trees.
    domain = Domain([Integer("s", 0, 2), Integer("a", 0, 5)], sensitive=["s"])
    rng = np.random.default_rng(0)
    model = RandomForestClassifier(n_trees, max_depth=1, random_state=0)
    model.fit(domain.sample_codes(50, rng), np.arange(50) % 2)
    seen = set()
    for _ in range(40):
        half = rng.random(n_trees // 2)
        for member, part in zip(model.estimators_, rng.permutation([*half, *(1 - half)]), strict=True):
            member.tree_.value[:] = [[1 - part, part]]
        seen |= set(check(model, domain, n=5).ravel())
    assert seen == {0, 1}


@pytest.mark.parametrize("weights", [None, [1, 1, 1, 1], [0.1, 0.2, 0.3, 0.6], [2, 0, 1, 1]])
def test_ties_in_votes(weights):
    members = [(str(depth), DecisionTreeClassifier(max_depth=depth, random_state=depth)) for depth in (1, 2, 3, 9)]
    for n_classes in (2, 3):
        check(fitted(VotingClassifier(members, weights=weights), DOMAIN, n_classes=n_classes), DOMAIN)


def test_scores_of_exactly_0():
    domain = Domain([Integer("s", 0, 1), Integer("a", -9, 9), Integer("b", -9, 9)], sensitive=["s"])
    rows = np.array([[0.0, 1, 0], [0, -1, 0]])
    check(SVC(kernel="linear").fit(rows, [0, 1]), domain)
    check(SVC(gamma=0.5).fit(rows, [0, 1]), domain)


def test_scores_near_0_are_computed_in_double_precision():
    domain = Domain([Integer("s", 0, 1), Real("a", -1, 1, 1e-7)], sensitive=["s"])
    model = SVC(gamma=0.7).fit(np.array([[0.0, 1], [1.0, 1], [0, -1], [1, -1]]), [0, 0, 1, 1])
    middle = domain["a"].levels // 2
    codes = np.stack([np.zeros(201, dtype=np.int64), np.arange(middle - 100, middle + 101)], axis=1)
    scores = model.decision_function(Asker(model, domain).form.rows(codes))
    assert 0 < np.abs(scores[np.abs(scores) > 0]).min() < 1e-6
    assert agrees(compile_stand_in(model, domain), Asker(model, domain), codes[np.abs(scores) > 1e-12])


SENSITIVE = pytest.mark.parametrize("sensitive", [["sex"], ["race", "sex"]])


@pytest.mark.parametrize("name", ["decision-tree", "random-forest", "ensemble"])
@SENSITIVE
@pytest.mark.thinned(2)
def test_a_subject(name, sensitive):
    answers = check(subjects.load(name), Domain(census_domain().parameters, sensitive), n=3000)
    assert (answers[0] != answers[1]).any()


@SENSITIVE
def test_the_svm_on_some_rows(sensitive):
    """All of them take libsvm too long to learn, and what it learns then too long to ask."""
    X, y = load_census()
    model = subjects.make("svm").fit(X.to_numpy()[:2000], y.to_numpy()[:2000])
    check(model, Domain(census_domain().parameters, sensitive), n=300)


SMALL = Domain([Integer("s", 0, 1), Integer("a", 0, 20), Integer("b", 0, 20)], sensitive=["s"])
CODES = SMALL.sample_codes(80, np.random.default_rng(0))
LABELS = (CODES[:, 0] * 9 + CODES[:, 1] > CODES[:, 2]).astype(int)


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor(),
        GradientBoostingClassifier(n_estimators=3),
        SVC(kernel="poly"),
        SVC(kernel="sigmoid"),
        SVC(gamma=0.0),
        LogisticRegression(),
        VotingClassifier([("a", DecisionTreeClassifier()), ("b", DecisionTreeClassifier())], weights=[1, -2]),
        VotingClassifier([("a", SVC(kernel="poly")), ("b", LogisticRegression())]),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_model_of_another_kind(model):
    assert compile_stand_in(model.fit(CODES, LABELS), SMALL) is None


@pytest.mark.parametrize(
    ("model", "rows", "labels"),
    [
        (DecisionTreeClassifier(), CODES, np.column_stack([LABELS, 1 - LABELS])),
        (RandomForestClassifier(3), CODES, np.column_stack([LABELS, 1 - LABELS])),
        (SVC(), CODES, CODES[:, 1] % 3),
        (SVC(), csr_matrix(CODES), LABELS),
    ],
    ids=["tree of many labels", "forest of many labels", "kernel of three classes", "sparse kernel"],
)
def test_what_a_kind_cannot_do(model, rows, labels):
    assert compile_stand_in(model.fit(rows, labels), SMALL) is None


@pytest.mark.parametrize(
    "parameter", [Integer("a", 0, 20, missing=True), Category("a", ["x", "y"]), Category("a", [0, 1], missing=True)]
)
def test_a_parameter_that_is_no_plain_number(parameter):
    domain = Domain([Integer("s", 0, 1), parameter, Integer("b", 0, 20)], sensitive=["s"])
    assert compile_stand_in(DecisionTreeClassifier().fit(CODES, LABELS), domain) is None
