"""Batches out of tables are those of the steps, bit by bit; searches with tables find what searches without do."""

import numpy as np
import pandas as pd
import pytest
from made import training
from scipy import sparse
from sklearn import preprocessing
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.impute import KNNImputer
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from fairprobe import Category, Domain, Integer, Link, search
from fairprobe.model.asking import Asker
from fairprobe.model.tables import Seen
from fairprobe.model.tabulated import tabulate
from fairprobe.standins import compile_stand_in, may_screen
from pipelines import (
    BINNED,
    BINS,
    DOMAIN,
    LAST,
    NARROW,
    NUMBERS,
    ORDINAL,
    PARAMETERS,
    PREPROCESSING,
    TEXT,
    columns,
    fitted,
    one_hot,
)

pytestmark = pytest.mark.filterwarnings("ignore")

ALL = {name: (steps, DOMAIN) for name, steps in PREPROCESSING.items()}
ALL |= {name: (steps, NARROW) for name, steps in BINNED.items()}


def same(made, expected):
    assert type(made) is type(expected)
    assert made.dtype == expected.dtype
    if sparse.issparse(made):
        np.testing.assert_array_equal(made.indptr, expected.indptr)
        np.testing.assert_array_equal(made.indices, expected.indices)
        made, expected = made.data, expected.data
    np.testing.assert_array_equal(made, expected)


@pytest.mark.parametrize("name", ALL)
def test_batches_are_those_of_the_steps(name):
    steps, domain = ALL[name]
    seen = Seen(fitted(steps, LAST["tree"], domain), domain)
    form = tabulate(seen)
    for n in (1, 700):
        codes = domain.sample_codes(n, np.random.default_rng(n))
        same(form.rows(codes), seen.transformed(codes))
        same(form.families(codes), seen.transformed(domain.families.members(codes)))


def found_both_ways(model, domain, **options):
    effort = {"max_cases": None, "max_inputs": 4000, "n_global": 1500, "n_walkers": 100}
    options = {"strategy": "anchored", **effort, **options}
    auto, off = search(model, domain, **options), search(model, domain, accelerate="off", **options)
    for one, other in ((auto.cases, off.cases), (auto.twins, off.twins), (auto.outputs, off.outputs)):
        pd.testing.assert_frame_equal(one, other)
    assert (auto.n_judged, auto.n_inputs, auto.yield_) == (off.n_judged, off.n_inputs, off.yield_)
    return auto, off


@pytest.mark.parametrize("last", LAST)
@pytest.mark.parametrize("name", ALL)
@pytest.mark.thinned(5)
def test_same_cases_with_tables_and_without(name, last):
    steps, domain = ALL[name]
    model = fitted(steps, LAST[last], domain)
    assert compile_stand_in(model, domain) is not None
    auto, off = found_both_ways(model, domain)
    assert auto.n_cases or last == "network"  # which has hardly learned anything
    assert auto.n_queries != off.n_queries
    assert "accelerate-off" not in dict(auto.health)


def test_a_support_vector_machine_is_asked_itself():
    model = fitted(PREPROCESSING["one-hot, dense"], SVC())
    assert compile_stand_in(model, DOMAIN) is not None
    assert not may_screen(model)  # it takes so long that what is spared does not count


def test_a_wide_number_is_computed_and_not_looked_up():
    form = tabulate(Seen(fitted(PREPROCESSING["one-hot, sparse"], LAST["tree"]), DOMAIN))
    computed = [DOMAIN.names[slot.parameter] for slot in form.slots if slot.compute is not None]
    assert computed == ["weight"]
    assert sum(len(slot.values) for slot in form.slots) < 150_000


def test_a_wide_number_in_columns_of_its_own_is_refused():
    model = fitted(columns(one_hot(), preprocessing.KBinsDiscretizer(**BINS)), LAST["tree"])
    assert compile_stand_in(model, DOMAIN) is None


def test_a_missing_value_among_many_is_no_finite_number():
    domain = Domain([Integer("weight", 0, 10**6, missing=True), Category("sex", ["f", "m"])], sensitive=["sex"])
    steps = make_column_transformer((one_hot(), ["sex"]), remainder="passthrough")
    assert not tabulate(Seen(fitted(steps, LAST["tree"], domain), domain)).is_finite


RULE = "work != 'state' or sex == 'Male' or age > 40"
LINK = Link("degree", "sex", [{"Male": "school", "Female": "college"}])


@pytest.mark.parametrize("last", ["logistic", "tree", "boosting"])
@pytest.mark.parametrize(
    "domain",
    [
        DOMAIN.with_constraints([RULE]),
        DOMAIN.with_links([LINK]),
        DOMAIN.with_constraints([RULE]).with_links([LINK]),
        DOMAIN.with_constraints([lambda frame: frame["age"] + frame["rate"] > 20]),
    ],
    ids=["constraint", "link", "both", "callable"],
)
@pytest.mark.parametrize("strategy", ["anchored", "guided"])
@pytest.mark.thinned(3)
def test_some_members_do_not_count(domain, last, strategy):
    auto, off = found_both_ways(fitted(PREPROCESSING["one-hot, sparse"], LAST[last]), domain, strategy=strategy)
    assert auto.n_queries != off.n_queries


def test_a_hidden_parameter_with_a_link():
    seen = Domain([p for p in PARAMETERS if p.name != "sex"], sensitive=["degree"])
    steps = make_column_transformer((one_hot(), ["work", "degree"]), (preprocessing.StandardScaler(), NUMBERS))
    model = fitted(steps, LAST["logistic"], seen)
    auto, off = found_both_ways(model, Domain(PARAMETERS, sensitive=["sex"], hidden=["sex"], links=[LINK]))
    assert auto.n_queries != off.n_queries


def test_rows_with_values_off_the_grid():
    rows, _ = training(DOMAIN, n=300)
    rows = rows.assign(rate=rows["rate"] + 0.013)
    model = fitted(PREPROCESSING["one-hot, sparse"], LAST["logistic"])
    found_both_ways(model, DOMAIN, strategy="auto", start=rows, max_changes=2, n_walkers=1000)


class Noisy(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        return np.asarray(X, dtype=float) + np.random.default_rng().normal(size=np.shape(X))


NOT_KNOWN = {
    "several columns": columns(one_hot(), PCA(2)),
    "several columns, products": columns(one_hot(), preprocessing.PolynomialFeatures()),
    "the row": columns(one_hot(), preprocessing.Normalizer()),
    "neighbours": make_pipeline(columns(ORDINAL, "passthrough"), KNNImputer()),
    "random": columns(one_hot(), Noisy()),
    "a function": columns(one_hot(), preprocessing.FunctionTransformer(np.abs)),
    "a frame": columns(ORDINAL, preprocessing.StandardScaler()).set_output(transform="pandas"),
}


@pytest.mark.parametrize("name", NOT_KNOWN)
def test_what_is_not_known_is_asked_whole(name):
    model = fitted(NOT_KNOWN[name], LAST["tree"])
    assert compile_stand_in(model, DOMAIN) is None
    if name != "random":
        auto, off = found_both_ways(model, DOMAIN, max_inputs=2000)
        assert auto.n_queries == off.n_queries


def test_categories_that_the_encoder_has_not_seen():
    rows, labels = training(DOMAIN, n=400)
    rows, labels = rows[rows["degree"] != "college"], labels[rows["degree"] != "college"]
    for encoder, is_taken in ((preprocessing.OneHotEncoder(), False), (one_hot(), True)):
        model = make_pipeline(columns(encoder, preprocessing.StandardScaler()), LAST["tree"]).fit(rows, labels)
        assert (compile_stand_in(model, DOMAIN) is not None) == is_taken
    found_both_ways(model, DOMAIN)


def booster(name, **options):
    if name == "lightgbm":
        package = pytest.importorskip("lightgbm")
        return package.LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1, **options)
    package = pytest.importorskip("xgboost")
    return package.XGBClassifier(n_estimators=20, enable_categorical=True, n_jobs=1, **options)


def as_categories(frame):
    return frame.astype(dict.fromkeys(TEXT, "category"))


def boosted(name, **options):
    rows, labels = training(DOMAIN, n=400)
    return booster(name, **options).fit(as_categories(rows), (labels == "yes").astype(int))


BOOSTERS = pytest.mark.parametrize("name", ["lightgbm", "xgboost"])


@BOOSTERS
@pytest.mark.parametrize("strategy", ["anchored", "guided"])
def test_a_booster_on_the_numbers_behind_its_categories(name, strategy):
    domain = Domain.from_frame(as_categories(training(DOMAIN, n=400)[0]), ["sex"])
    model = boosted(name)
    stand_in, asker = compile_stand_in(model, domain), Asker(model, domain)
    codes = domain.sample_codes(2000, np.random.default_rng(1))
    np.testing.assert_array_equal(stand_in.ask_families(codes), asker.ask_families(codes))
    np.testing.assert_array_equal(stand_in.ask(codes), asker.ask(codes))
    likely = Asker(model, domain, output="proba").ask(codes)
    np.testing.assert_array_equal(stand_in.giving("proba").ask(codes), likely)
    auto, off = found_both_ways(model, domain, strategy=strategy)
    assert auto.n_queries != off.n_queries


@BOOSTERS
def test_strings_of_a_domain_are_the_categories_of_a_booster(name):
    auto, off = found_both_ways(boosted(name), DOMAIN.with_constraints([RULE]))
    assert auto.n_queries != off.n_queries


@BOOSTERS
def test_a_booster_without_names_is_asked_itself(name):
    domain = Domain([p for p in PARAMETERS if p.name in NUMBERS] + [Integer("sex", 0, 1)], sensitive=["sex"])
    rows, labels = training(domain, n=400)
    model = booster(name).fit(rows.to_numpy(), (labels == "yes").astype(int))
    assert compile_stand_in(model, domain) is None
