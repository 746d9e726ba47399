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



@pytest.fixture(scope="module")
def census():
    X, y = datasets.load_census(encoded=False)
    return X.head(4000), y.head(4000)




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
