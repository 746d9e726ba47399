"""Pipelines over mixed frames, and the domain that they are fitted on."""

import warnings

import numpy as np
from made import training
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeClassifier

from fairprobe import Category, Domain, Integer, Ordinal, Real

PARAMETERS = [
    Integer("age", 17, 90),
    Category("work", ["private", "state", "self", "none"], missing=True),
    Integer("weight", 10_000, 1_500_000),
    Category("sex", ["Female", "Male"]),
    Real("rate", -1, 1, 0.05),
    Ordinal("degree", ["none", "school", "college"]),
    Integer("gain", 0, 99_999, missing=True),
]
DOMAIN = Domain(PARAMETERS, sensitive=["sex"])
TEXT = ["work", "sex", "degree"]
NUMBERS = ["age", "weight", "rate"]


def one_hot(**options):
    return OneHotEncoder(handle_unknown="ignore", **options)


def columns(text, numbers, more=(), **options):
    """An encoder, a scaler, and what is done to the number that may be missing."""
    gain = more or [("gain", make_pipeline(SimpleImputer(), StandardScaler()), ["gain"])]
    return ColumnTransformer([("text", text, TEXT), ("numbers", numbers, NUMBERS), *gain], **options)


ORDINAL = OrdinalEncoder(encoded_missing_value=-1)
PREPROCESSING = {
    "one-hot, sparse": columns(one_hot(), StandardScaler(), sparse_threshold=1.0),
    "one-hot, dense": columns(one_hot(sparse_output=False), StandardScaler()),
    "one-hot, first dropped": columns(OneHotEncoder(drop="first"), MinMaxScaler(), sparse_threshold=1.0),
    "one-hot, one of two dropped": columns(OneHotEncoder(drop="if_binary"), RobustScaler()),
    "one-hot, rare together": columns(one_hot(min_frequency=60), MaxAbsScaler(), sparse_threshold=1.0),
    "one-hot, single precision": columns(one_hot(dtype=np.float32), "passthrough", sparse_threshold=1.0),
    "ordinal": columns(ORDINAL, "passthrough"),
    "ordinal, rest passed": make_column_transformer(
        (ORDINAL, TEXT), (SimpleImputer(add_indicator=True), ["gain"]), remainder="passthrough"
    ),
    "target": columns(TargetEncoder(random_state=0), RobustScaler(with_centering=False)),
    "target, text first, dropped": make_column_transformer(
        (TargetEncoder(random_state=0), TEXT), ("drop", ["gain", "weight"]), remainder=StandardScaler()
    ),
    "imputers": columns(
        make_pipeline(SimpleImputer(strategy="most_frequent"), one_hot()),
        make_pipeline(SimpleImputer(strategy="median"), StandardScaler(with_std=False)),
        more=[("gain", SimpleImputer(strategy="constant", fill_value=-5.0, add_indicator=True), ["gain"])],
        sparse_threshold=1.0,
    ),
    "nested": ColumnTransformer(
        [
            (
                "text",
                Pipeline([("fill", SimpleImputer(strategy="constant", fill_value="?")), ("hot", one_hot())]),
                TEXT,
            ),
            ("others", make_pipeline(FunctionTransformer(), StandardScaler()), NUMBERS),
            ("gain", make_pipeline(FunctionTransformer(), SimpleImputer(), MinMaxScaler()), ["gain"]),
        ],
        transformer_weights={"others": 2.0},
    ),
    "union": make_pipeline(
        columns(ORDINAL, "passthrough"), FeatureUnion([("a", StandardScaler()), ("b", Binarizer())])
    ),
    "selectors": make_column_transformer(
        (one_hot(), make_column_selector(dtype_exclude="number")),
        (make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(dtype_include="number")),
    ),
}
"""By what it is: each makes its columns out of one column each."""

BINS = {"n_bins": 4, "quantile_method": "averaged_inverted_cdf"}
PREPROCESSING |= {
    "quantiles": columns(one_hot(), QuantileTransformer(n_quantiles=20), sparse_threshold=1.0),
    "power": columns(ORDINAL, make_pipeline(PowerTransformer(), StandardScaler())),
    "above or below": columns(ORDINAL, Binarizer(threshold=40)),
}

NARROW = Domain([p for p in PARAMETERS if p.name not in ("weight", "gain")], sensitive=["sex"])
BINNED = {
    "bins": make_column_transformer((ORDINAL, TEXT), (KBinsDiscretizer(encode="ordinal", **BINS), ["age", "rate"])),
    "selected": make_pipeline(
        make_column_transformer((one_hot(), TEXT), (StandardScaler(), ["age", "rate"])),
        VarianceThreshold(),
        MaxAbsScaler(),
        SelectKBest(k=6),
    ),
    "bins, one-hot": make_column_transformer(
        (one_hot(), TEXT), (KBinsDiscretizer(**BINS), ["age", "rate"]), sparse_threshold=1.0
    ),
    "union": make_pipeline(
        make_column_transformer((ORDINAL, TEXT), ("passthrough", ["age", "rate"])),
        FeatureUnion([("a", StandardScaler()), ("b", Binarizer())]),
    ),
}
"""The same where numbers are only looked up: these take no wide ones."""

LAST = {
    "logistic": LogisticRegression(max_iter=50),
    "tree": DecisionTreeClassifier(max_depth=6, random_state=0),
    "network": MLPClassifier((5,), max_iter=20, random_state=0),
    "forest": RandomForestClassifier(5, max_depth=5, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=5, random_state=0),
}


def fitted(steps, last, domain=DOMAIN):
    from sklearn.base import clone

    rows, labels = training(domain, n=400)
    if isinstance(last, HistGradientBoostingClassifier) and isinstance(steps, ColumnTransformer):
        steps = clone(steps).set_params(sparse_threshold=0)  # it takes no other
    with warnings.catch_warnings(action="ignore"):
        return make_pipeline(clone(steps), clone(last)).fit(rows, labels)
