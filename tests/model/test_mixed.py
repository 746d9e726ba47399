"""Mixed data all the way: strings, large integers, missing values, rules, links and derived columns, any pipeline."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from fairprobe import Derived, Domain, Link, datasets, estimate, search
from fairprobe.model import Asker

SPOUSE = Link("relationship", "sex", [{"Male": "Husband", "Female": "Wife"}])
RULES = ["`capital-gain` == 0 or `capital-loss` == 0", "workclass is not missing or occupation is missing"]


@pytest.fixture(scope="module")
def census():
    X, y = datasets.load_census(encoded=False)
    return X.head(4000), y.head(4000)


def years(X):
    """Derived: the years of school follow from its name."""
    return Derived("education-num", "education", dict(zip(X["education"], X["education-num"], strict=True)))


def domain_of(X):
    return Domain.from_frame(X, ["sex"], parameters=[years(X)], constraints=RULES, links=[SPOUSE])


def text_of(X):
    return [name for name in X if X[name].dtype.kind not in "if"]


def one_hot(X):
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    columns = make_column_transformer((words, text_of(X)), remainder=numbers)
    return make_pipeline(columns, LogisticRegression(max_iter=200))


def ordinal(X):
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)
    columns = make_column_transformer((encoder, text_of(X)), remainder="passthrough")
    return make_pipeline(columns, HistGradientBoostingClassifier(max_iter=20, random_state=0))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("make", [one_hot, ordinal, None])
@pytest.mark.thinned(2)
def test_all_the_way(make, census):
    X, y = census
    if make is None:  # as boosters take them
        lightgbm = pytest.importorskip("lightgbm")
        X, y = X.astype(dict.fromkeys(text_of(X), "category")), (y == ">50K").astype(int)
        make = lambda X: lightgbm.LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1)  # noqa: E731
    model = make(X).fit(X, y)
    domain = domain_of(X)
    assert domain.n_valid < domain.size
    frame = domain.sample(300, seed=0)
    assert ((frame["capital-gain"] == 0) | (frame["capital-loss"] == 0)).all()
    assert (frame["education-num"] == frame["education"].map(years(X).mapping).astype(int)).all()

    share = estimate(model, domain, X.head(600))
    rows, twins = X.loc[share.cases.index], share.twins.astype(rows_dtypes(X))
    assert share.hits == len(rows) > 0
    assert (model.predict(rows) != model.predict(twins[X.columns])).all()
    married = rows["relationship"].isin(["Husband", "Wife"])
    assert twins.loc[married, "relationship"].isin(["Husband", "Wife"]).all()
    assert (share.plain.n, share.n + share.n_not_comparable) == (600, 600)

    valid = estimate(model, domain, "valid", n_experiments=2, n_samples=500, method="sample", linked=True)
    assert valid.n == 1000
    found = search(model, domain, start=X.head(600), max_changes=2, max_cases=60, max_inputs=20_000)
    assert found.n_cases >= 20
    assert found.origins["n_changes"].max() <= 2
    cases, others = (each.astype(rows_dtypes(X))[X.columns] for each in (found.cases, found.twins))
    assert (model.predict(cases) != model.predict(others)).all()
    assert domain.restrictions.allows_rows(found.cases).all()


def rows_dtypes(X):
    return {name: X[name].dtype for name in X if isinstance(X[name].dtype, pd.CategoricalDtype)}


@pytest.mark.parametrize("make", [one_hot, ordinal])
def test_text_as_plain_strings_is_the_same_text(make, census):
    """What a known pipeline is given holds the very values and dtypes; what anybody else is given is as in the data."""
    X, y = census
    domain, model = domain_of(X), make(X).fit(X, y)
    codes = domain.sample_codes(500, np.random.default_rng(0))
    plain, whole = Asker(model, domain).form.rows(codes), domain.decode(codes)
    for name in text_of(X):
        assert plain[name].dtype == "str" or plain[name].dtype == object  # pandas 2
        assert plain[name].astype(object).equals(whole[name].astype(object))
        assert getattr(plain[name].dtype, "storage", "python") == "python"
    assert (model.predict(plain) == model.predict(whole)).all()

    class Own(type(model)):
        """May look at what pandas holds text as."""

    model.__class__ = Own
    given = Asker(model, domain).form.rows(codes)
    assert given.dtypes.equals(whole.dtypes[list(given)])
