"""Columns that a model was fitted on as pandas categoricals reach it as these, whatever the domain has."""

import io
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import fairprobe
from fairprobe import Category, Domain, Integer
from fairprobe.errors import DataError, DomainError, ModelError
from fairprobe.model import Asker
from fairprobe.model.categories import fitted_categories

JOBS = ["nurse", "baker", "cook"]
"""Not in the order of the alphabet, which a CSV's strings would be in."""


class Boosted:
    """Refuses what is not categorical, and keeps of the frame that it was fitted on what LightGBM keeps."""

    def __init__(self, lists, names=("age", "job", "sex"), params=None):
        self.feature_names_in_ = np.array(names, dtype=object)
        self.booster_ = SimpleNamespace(
            pandas_categorical=lists, params=params or {}, feature_name=lambda: list(names), predict=self.predict
        )

    def predict(self, batch):
        if not all(isinstance(batch[name].dtype, pd.CategoricalDtype) for name in ("job", "sex")):
            raise ValueError("train and valid dataset categorical_feature do not match.")
        assert list(batch["job"].cat.categories) == JOBS
        return ((batch["job"].cat.codes == 0) & (batch["sex"].cat.codes == 1)).astype(int).to_numpy()


LISTS = [JOBS, ["m", "f"]]
DOMAIN = Domain([Integer("age", 0, 9), Category("job", sorted(JOBS)), Category("sex", ["f", "m"])], sensitive=["sex"])
ROWS = pd.DataFrame({"age": [1, 2, 3, 4], "job": ["cook", "nurse", "nurse", "baker"], "sex": ["m", "f", "m", "f"]})


@pytest.mark.parametrize("model", [Boosted(LISTS), Boosted(LISTS).booster_], ids=["estimator", "booster"])
def test_inputs_and_rows_get_the_categories_of_the_model(model):
    codes = DOMAIN.sample_codes(50, np.random.default_rng(0))
    frame = DOMAIN.decode(codes)
    asker = Asker(model, DOMAIN)
    expected = (frame["job"] == "nurse") & (frame["sex"] == "f")
    assert asker.ask(codes).tolist() == expected.tolist()
    assert asker.ask_frame(frame).tolist() == expected.tolist()
    assert asker.ask_families(codes)[0].tolist() == (frame["job"] == "nurse").tolist()
    assert asker.ask_frame(ROWS).tolist() == [0, 1, 0, 0]


def test_a_model_that_hands_on_to_another_tells_what_the_adapter_of_that_one_declares():
    model = Boosted(LISTS)
    told = Asker(model, DOMAIN).form.categories
    assert told == {"job": tuple(JOBS), "sex": ("m", "f")}
    wrapped = SimpleNamespace(feature_names_in_=model.feature_names_in_, categories_in_=told, predict=model.predict)
    assert Asker(wrapped, DOMAIN).form.categories == told
    assert Asker(wrapped, DOMAIN).ask_frame(ROWS).tolist() == [0, 1, 0, 0]
    assert Asker(lambda rows: rows, DOMAIN).form.categories == {}


def test_numbers_are_categories_where_the_model_says_so():
    numbers = Domain([Integer("age", 0, 3), Integer("zone", 1, 3), Category("sex", ["f", "m"])], sensitive=["sex"])
    model = Boosted([[3, 2, 1], ["f", "m"]], ("age", "zone", "sex"), {"categorical_column": [2, 1]})
    told = fitted_categories(model, numbers, numbers.names)
    assert told == {"zone": (3, 2, 1), "sex": ("f", "m")}
    batch = Asker(model, numbers).form.rows(np.array([[0, 0, 1], [3, 2, 0]]))
    assert batch["zone"].cat.codes.tolist() == [2, 0]
    assert batch["zone"].tolist() == [1, 3]


def test_a_missing_value_is_no_category():
    domain = Domain([Integer("age", 0, 9), Category("job", JOBS, missing=True), DOMAIN["sex"]], sensitive=["sex"])
    form = Asker(Boosted(LISTS), domain).form
    assert form.rows(np.array([[0, 3, 0]]))["job"].cat.codes.tolist() == [-1]
    assert form.of_frame(ROWS.assign(job=[None, *JOBS]))["job"].cat.codes.tolist() == [-1, 0, 1, 2]


@pytest.mark.parametrize("odd", [Category("job", ["baker", "cook", "smith"]), Integer("job", 0, 10**9)])
def test_a_value_of_the_domain_that_the_model_does_not_know_is_refused_at_once(odd):
    domain = Domain([DOMAIN["age"], odd, DOMAIN["sex"]], sensitive=["sex"])
    model = Boosted(LISTS, params={"categorical_column": [1, 2]})
    got = "'smith'" if odd.kind == "category" else "0"
    with pytest.raises(DomainError, match=f"'job': every value must be .* fitted on, 'nurse', .*; got {got}: leave"):
        Asker(model, domain)


def test_a_value_of_a_row_that_the_model_does_not_know_is_refused():
    rows = ROWS.assign(job=["cook", "nurse", "smith", "baker"])
    with pytest.raises(DataError, match=r"column 'job': every value must be .* fitted on, .*; got 'smith': leave such"):
        fairprobe.estimate(Boosted(LISTS), DOMAIN, population=rows)


def test_where_the_categories_cannot_be_told_the_error_says_what_to_do():
    model = Boosted([*LISTS, [1, 2]])  # three lists, and none says whose
    for ask in (partial(fairprobe.search, max_cases=5), partial(fairprobe.estimate, population=ROWS)):
        with pytest.raises(ModelError, match=r"do not match: if the model was fitted on pandas cat.*, .*'category'"):
            ask(model, DOMAIN)


@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
@pytest.mark.filterwarnings("ignore")
def test_the_census_as_strings(name):
    """As a CSV has it; the model was fitted on categoricals, one of them of numbers."""
    package = pytest.importorskip(name)
    if name == "xgboost" and not hasattr(package.Booster, "get_categories"):
        pytest.skip("XGBoost tells its categories from 3.1 on")
    X, y = (part.head(4000) for part in fairprobe.datasets.load_census(encoded=False))
    X = pd.read_csv(io.StringIO(X.to_csv(index=False)))
    columns = [*(column for column in X if not pd.api.types.is_numeric_dtype(X[column])), "education-num"]
    categorical = X.astype(dict.fromkeys(columns, "category"))
    kind = package.LGBMClassifier if name == "lightgbm" else partial(package.XGBClassifier, enable_categorical=True)
    model = kind(n_estimators=20, n_jobs=1).fit(categorical, (y == ">50K").astype(int).to_numpy())
    domain = Domain.from_frame(X, sensitive=["sex"])
    assert set(fitted_categories(model, domain, domain.names)) == set(columns)
    dtype = categorical["sex"].dtype
    both = (pd.Categorical([sex] * len(X), dtype=dtype) for sex in dtype.categories)
    women, men = (model.predict(categorical.assign(sex=sex)) for sex in both)
    assert fairprobe.estimate(model, domain, population=X).hits == (women != men).sum() > 0
