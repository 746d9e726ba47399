"""Trees and ensembles of trees: what is counted box by box is what asking about every input gives."""

import numpy as np
import pytest
from exact_truth import HALF, as_array, assert_counted, assert_sampled, small_domains, training_rows
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, VotingClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from chance import SURPRISING
from fairprobe import Category, Domain, Integer, Real, estimate
from fairprobe.datasets import load_census
from fairprobe.estimation.exact import solve

SEEDS = st.integers(0, 2**31)
SEX = Category("sex", ["f", "m"])


@st.composite
def single_trees(draw):
    kind = draw(st.sampled_from([DecisionTreeClassifier, ExtraTreeClassifier]))
    return kind(
        max_depth=draw(st.sampled_from([None, 1, 3, 6])),
        max_leaf_nodes=draw(st.sampled_from([None, 8])),
        min_samples_leaf=draw(st.integers(1, 4)),
        random_state=draw(SEEDS),
    )


def preprocessings():
    numbers, words = make_column_selector(dtype_include="number"), make_column_selector(dtype_exclude="number")
    one_hot = ColumnTransformer([("words", OneHotEncoder(), words)], remainder="passthrough", sparse_threshold=0)
    sparse = make_column_transformer((OneHotEncoder(), words), remainder=SimpleImputer(), sparse_threshold=1)
    filled = make_pipeline(SimpleImputer(), StandardScaler())
    ordinal = make_column_transformer((OrdinalEncoder(), words), (filled, numbers))
    all_words = OneHotEncoder(drop="if_binary", sparse_output=False)
    twice = make_column_transformer((MinMaxScaler(), numbers), ("passthrough", numbers), (OrdinalEncoder(), words))
    return st.sampled_from([one_hot, sparse, ordinal, all_words, twice])


@HALF
@given(small_domains(with_words=True), preprocessings(), single_trees(), SEEDS)
def test_tree_behind_preprocessing(domain, preprocessing, tree, seed):
    X, y = training_rows(domain, seed)
    model = Pipeline([("prepare", preprocessing), ("nothing", "passthrough"), ("tree", tree)]).fit(X, y)
    assert_counted(solve(model, domain), model, domain)


@HALF
@given(
    small_domains(),
    st.lists(single_trees(), min_size=1, max_size=4),
    SEEDS,
    st.sampled_from(["hard", "soft"]),
    st.booleans(),
    st.integers(2, 3),
)
def test_vote_of_trees(domain, trees, seed, voting, weighted, n_classes):
    X, y = training_rows(domain, seed, n_classes=n_classes, as_words=True)
    weights = [0.5 + i % 2 for i in range(len(trees) + 1)] if weighted else None
    members = [("none", "drop"), *((str(i), tree) for i, tree in enumerate(trees))]
    model = VotingClassifier(members, voting=voting, weights=weights).fit(as_array(X), y)
    assert_counted(solve(model, domain), model, domain)


@HALF
@given(small_domains(missing=False), SEEDS, st.integers(1, 5), st.sampled_from([None, "zero"]), st.integers(2, 3))
def test_gradient_boosting(domain, seed, n_stages, init, n_classes):
    X, y = training_rows(domain, seed, n_classes=n_classes)
    model = GradientBoostingClassifier(n_estimators=n_stages, init=init, learning_rate=0.5, random_state=0).fit(X, y)
    assert_counted(solve(model, domain), model, domain)


@pytest.fixture(scope="module")
def wide():
    """A domain of more than 2^63 inputs, and rows of it."""
    domain = Domain(
        [
            Real("amount", 0, 999_999, 50, missing=True),
            SEX,
            Integer("income", 0, 3 * 10**6, 100),
            Integer("zip", 0, 99_999),
            *(Integer(name, 0, 999) for name in ("a", "b", "c")),
            Real("rate", 0, 1, 0.001, missing=True),
        ],
        sensitive=["sex"],
    )
    rng = np.random.default_rng(3)
    X = domain.sample(3_000, seed=2)
    X.loc[rng.random(len(X)) < 0.2, "amount"] = np.nan
    X.loc[rng.random(len(X)) < 0.2, "rate"] = np.nan
    men = (X["sex"] == "m").to_numpy()
    score = X["amount"].fillna(3e5) / 10**6 + X["income"] / 3e6 + X["rate"].fillna(0.9) + 0.3 * men
    return domain, X, np.where(score + rng.normal(0, 0.2, len(X)) > 1.6, "yes", "no")


@pytest.mark.parametrize("preparing", ["passthrough", SimpleImputer()], ids=["missing", "imputed"])
def test_a_wide_domain_is_counted_beyond_machine_integers(wide, preparing):
    domain, X, y = wide
    numbers = (preparing, ["amount", "rate"])
    prepared = make_column_transformer((OneHotEncoder(), ["sex"]), numbers, remainder=StandardScaler())
    model = make_pipeline(prepared, DecisionTreeClassifier(random_state=0)).fit(X, y)
    solved = solve(model, domain)
    assert domain.size > 2**63
    assert_sampled(solved, model, domain)


def test_a_tree_rounds_its_inputs_and_so_does_the_count():
    first = 10**9
    levels = first + np.arange(10**6)
    domain = Domain([Integer("x", first, int(levels[-1])), Integer("sex", 0, 1), Integer("y", 0, 9)], sensitive=["sex"])
    some = levels[[0, 204_800, 307_200, -1]]
    X = np.array([[x, sex, y] for x in some for sex in (0, 1) for y in range(5)], dtype=np.float64)
    model = DecisionTreeClassifier(random_state=0).fit(X, (X[:, 0] > some[1]) & (X[:, 1] == 1))
    threshold = model.tree_.threshold[model.tree_.feature == 0]
    n_above = 10 * int((levels.astype(np.float32) > threshold).sum())
    assert n_above != 10 * int((levels > threshold).sum())  # its next neighbours are the same to the tree
    solved = solve(model, domain)
    assert solved.hits == 2 * n_above
    assert solved.by_label == {False: [2 * n_above, 0], True: [0, 2 * n_above]}


def test_the_natural_census():
    """Words in columns of their own, and a number of 100,000 levels."""
    X, y = load_census(encoded=False)
    X = X.drop(columns="fnlwgt")
    domain = Domain.from_frame(X, ["sex"])
    words = [parameter.name for parameter in domain.parameters if not parameter.is_numeric]
    tree = DecisionTreeClassifier(min_samples_leaf=20, random_state=0)
    model = make_pipeline(make_column_transformer((OneHotEncoder(), words), remainder="passthrough"), tree).fit(X, y)
    share = estimate(model, domain, method="exact")
    assert share.method == "exact"
    sampled = estimate(model, domain, method="sample", n_experiments=50, confidence=1 - SURPRISING)
    assert sampled.low <= share.value <= sampled.high
