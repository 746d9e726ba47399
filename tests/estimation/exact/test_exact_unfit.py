"""What does not fit is said, and what looks like it would but does not is noticed."""

import re

import numpy as np
import pytest
from exact_truth import Sum, assert_counted, known_as, training_rows
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from chance import SURPRISING
from fairprobe import Derived, Domain, Integer, Real, estimate
from fairprobe.errors import HealthWarning, ModelError
from fairprobe.estimation.exact import NotSolved, Solved, linear, plan, solve, solving, trees
from fairprobe.model import tables

DOMAIN = Domain([Integer("s", 0, 1), Integer("x", 0, 9), Integer("y", 0, 9), Integer("z", 0, 9)], sensitive=["s"])


def fitted(model, domain=DOMAIN, n_classes=2):
    X, y = training_rows(domain, 0, n=500, n_classes=n_classes)
    numeric = all(parameter.is_numeric for parameter in domain.parameters)
    return model.fit(X.to_numpy(dtype=np.float64) if numeric else X, y)


@pytest.fixture(scope="module", autouse=True)
def own_classes_are_known():
    """Beyond what is known of a class, its answers are tried: that shows only if a wrong one is let in."""
    own = dict.fromkeys(("Shifted", "Bent", "Endless"), f"{__name__}:linear")
    own |= dict.fromkeys(("Mixing", "Carrying"), f"{__name__}:columnwise")
    with known_as(Sum=f"{Sum.__module__}:linear", **own):
        yield


def reason(model, domain=DOMAIN):
    answer = solve(model, domain)
    assert isinstance(answer, NotSolved)
    return answer.reason


class OwnTree(DecisionTreeClassifier):
    """A subclass, which may predict anything."""


REASONS = {
    "SVC is not a kind of model that can be solved": lambda: fitted(SVC(kernel="linear")),
    "OwnTree is a subclass of DecisionTreeClassifier, which may answer otherwise": lambda: fitted(OwnTree()),
    "function is not a kind of model that can be solved": lambda: lambda X: X[:, 0],
    "RidgeClassifier is not a kind": lambda: fitted(RidgeClassifier(), n_classes=3),
    "a vote is solved where all that vote are trees, got RandomForestClassifier": lambda: fitted(
        VotingClassifier([("forest", RandomForestClassifier(2))])
    ),
    "gradient boosting is solved if it starts from a constant": lambda: fitted(
        GradientBoostingClassifier(init=DecisionTreeClassifier(max_depth=2), n_estimators=2)
    ),
}


@pytest.mark.parametrize("words", REASONS)
def test_other_kinds_of_models(words):
    assert words in reason(REASONS[words]())


class Shifted(Sum):
    """Labels by another bound than 0."""

    def predict(self, X):
        return self.classes_[(self.decision_function(X) > 3).astype(int)]


class Bent(Sum):
    """Scores that are no sums."""

    def decision_function(self, X):
        return np.abs(super().decision_function(X))


class Endless(Sum):
    """Scores that are not all numbers."""

    def __init__(self):
        super().__init__()
        self.coef_[0, 2] = np.inf

    def decision_function(self, X):
        return Sum().decision_function(X)


def test_models_that_only_look_linear():
    assert isinstance(solve(Sum(), DOMAIN), Solved)
    assert reason(Shifted()) == "the model's labels are not its second class where the score is above 0, else its first"
    assert reason(Bent()) == "the model's scores are not the sums that its coefficients give"
    with np.errstate(invalid="ignore"):
        assert reason(Endless()) == "a linear classifier is solved if every input has a finite score"


def test_a_tree_that_does_not_predict_what_its_nodes_say(monkeypatch):
    read_right = trees._votes
    monkeypatch.setattr(trees, "_votes", lambda tree: read_right(tree)[:, ::-1])
    assert "labels are not those that its trees, walked here" in reason(fitted(DecisionTreeClassifier()))


@pytest.mark.parametrize("estimator", [LogisticRegression(), GradientBoostingClassifier(n_estimators=2)])
def test_a_model_that_takes_no_missing_values_says_so(estimator):
    domain = Domain([Integer("x", 0, 9, missing=True), Integer("s", 0, 1)], sensitive=["s"])
    X, y = training_rows(domain, 0)
    with pytest.raises(ModelError, match="contains NaN"):
        solve(estimator.fit(X.fillna(0).to_numpy(), y), domain)


@pytest.mark.parametrize("step", [PCA(2), FunctionTransformer(np.sqrt), make_pipeline(MinMaxScaler(), PCA(1))])
def test_preprocessing_that_is_not_known(step):
    model = fitted(make_pipeline(make_column_transformer((step, slice(0, 3))), DecisionTreeClassifier()))
    assert "is not known column by column" in reason(model)


class Mixing(MinMaxScaler):
    """Mixes its columns, as no transformer let in should."""

    def transform(self, X):
        own = super().transform(X)
        return own + own[:, ::-1]


class Carrying(MinMaxScaler):
    """The same where two parameters are far from their first levels at once."""

    def transform(self, X):
        own = super().transform(X)
        return own + (own[:, [1]] * own[:, [2]] > 0)


@pytest.mark.parametrize("step", [Mixing(), Carrying()], ids=["mixing", "carrying"])
def test_columns_that_depend_on_several_parameters(step):
    assert "depend" in reason(fitted(make_pipeline(step, DecisionTreeClassifier())))


LIMITS = [
    (plan, "MAX_ENTRIES", "combinations of sensitive values make"),
    (plan, "MAX_BITS", "sets of its levels make"),
    (tables, "MAX_TABLE", "that can be looked at one by one"),
    (tables, "MAX_CELLS", "numbers of a table"),
    (solving, "MAX_BOXES", "the boxes that the trees cut the domain into"),
    (linear, "MAX_LOOKUPS", "look-ups of sums"),
]


@pytest.mark.parametrize(("module", "limit", "words"), LIMITS)
def test_limits(monkeypatch, module, limit, words):
    trees = make_pipeline(OneHotEncoder(), DecisionTreeClassifier())
    model = Sum() if module is linear else fitted(trees)
    assert isinstance(solve(model, DOMAIN), Solved)
    monkeypatch.setattr(module, limit, 5)
    assert words in reason(model)
    assert re.search("over the 5 |exceed the limit of 5", reason(model))


NUMBERS = ([1, 2], slice(1, 3), [False, True, True, False], np.array([1, -2]))
NAMES = (["x", "y"], slice("x", "y"), lambda frame: ["x", "y"])

BINS = KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf")


@pytest.mark.parametrize(
    ("scaler", "columns"), [(BINS, [1]), *((StandardScaler(), columns) for columns in (*NUMBERS, *NAMES))]
)
def test_columns_of_a_transformer(scaler, columns):
    X, y = training_rows(DOMAIN, 0, n=500)
    prepare = make_column_transformer((scaler, columns), remainder="passthrough")
    rows = X if any(columns is each for each in NAMES) else X.to_numpy(dtype=np.float64)
    model = make_pipeline(prepare, DecisionTreeClassifier(random_state=0)).fit(rows, y)
    assert_counted(solve(model, DOMAIN), model, DOMAIN)


SMALL = Domain([Integer("s", 0, 1), Integer("x", 0, 9, missing=True), Integer("y", 0, 9)], sensitive=["s"])
WIDE = Domain([Integer("s", 0, 1), Integer("x", 0, 60_000), Real("y", 0.0, 1.0, 0.001)], sensitive=["s"])

PREPARE = {
    "union": lambda: FeatureUnion(
        [("a", StandardScaler()), ("b", MinMaxScaler())], transformer_weights={"a": -0.5, "b": 2}
    ),
    "nought": lambda: FeatureUnion([("a", RobustScaler()), ("b", MinMaxScaler())], transformer_weights={"a": 0.0}),
    "twice": lambda: make_pipeline(
        FeatureUnion([("a", StandardScaler())], transformer_weights={"a": -1}),
        ColumnTransformer([("b", MinMaxScaler(), [0, 1, 2])], transformer_weights={"b": -3}),
    ),
}


@pytest.mark.parametrize("prepare", PREPARE.values(), ids=PREPARE)
@pytest.mark.parametrize("final", [DecisionTreeClassifier(random_state=0), RandomForestClassifier(3, random_state=0)])
def test_columns_that_fall(prepare, final):
    X, y = training_rows(SMALL, 0, n=500)
    model = make_pipeline(prepare(), final).fit(X.to_numpy(dtype=np.float64, na_value=np.nan), y)
    assert_counted(solve(model, SMALL), model, SMALL)


def test_what_is_confirmed_is_said():
    X, y = training_rows(WIDE, 3, n=500)
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X.to_numpy(dtype=np.float64), y)
    share = estimate(model, WIDE, method="exact")
    assert share.method == "exact"
    assert share.detail == (
        "solved for the model's tree; the model agreed on all of 300 random families, so with 95% confidence it "
        "answers otherwise on fewer than 0.99%"
    )
    assert share.n_queries >= 2 * tables.N_RANDOM


@pytest.mark.parametrize("final", [DecisionTreeClassifier(random_state=0), LogisticRegression()])
def test_a_model_that_answers_otherwise_is_sampled_with_a_remark(final, monkeypatch):
    """Here where nothing was counted as a hit: only random families show it."""
    rows = training_rows(WIDE, 0, n=500)[0].to_numpy(dtype=np.float64)
    model = make_pipeline(MinMaxScaler(), final).fit(rows, rows[:, 1] > 30_000)
    predict = type(model).predict

    def altered(self, batch):
        return predict(self, batch) ^ ((np.asarray(batch)[:, 0] == 1) & (np.asarray(batch)[:, 2] > 0.75))

    monkeypatch.setattr("fairprobe.model.known._is_class_altered", lambda cls: False)
    monkeypatch.setattr(type(model), "predict", altered)
    with pytest.warns(HealthWarning, match="^not-exact: the model's labels"):
        share = estimate(model, WIDE)
    assert share.method == "sample"
    assert 0.1 < share.value < 0.6


BASE = Domain([Integer("x", 0, 99), Integer("y", 0, 99), Integer("s", 0, 1)], ["s"])
DERIVED = Domain([Integer("x", 0, 9), Derived("y", "x", {x: x // 3 for x in range(10)}), Integer("s", 0, 1)], ["s"])
FORBIDDEN = "constraints, links or hidden parameters"


@pytest.mark.parametrize(
    ("domain", "what"),
    [
        (BASE.with_constraints(["x > 3"]), FORBIDDEN),
        (BASE.with_constraints(["x > 3", lambda frame: frame["y"] > 1]), FORBIDDEN),
        (DERIVED, "derived parameters"),
        (DERIVED.with_constraints(["y > 0"]), "derived parameters"),
    ],
)
def test_domains_that_are_not_solved(domain, what):
    assert reason(fitted(DecisionTreeClassifier()), domain) == f"the domain has {what}, which only sampling can follow"


def test_a_tree_under_rules_is_enumerated_if_small_and_otherwise_sampled_with_a_remark():
    domain = BASE.with_constraints(["x <= y or s == 0", "x != 5"])
    model = fitted(DecisionTreeClassifier(max_leaf_nodes=60, random_state=0), BASE)
    exact = estimate(model, domain, "valid", method="exact")
    assert (exact.method, exact.n + exact.n_not_comparable) == ("exact", domain.n_valid)
    with pytest.warns(HealthWarning, match="not-exact: the domain has constraints, .* only sampling can follow; sampl"):
        sampled = estimate(model, domain, "valid", method="exact", exact_limit=100, confidence=1 - SURPRISING)
    assert sampled.method == "sample"
    assert sampled.low <= exact.value <= sampled.high
