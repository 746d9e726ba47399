"""Pipelines over the natural census as users have them: their preprocessing works column by column."""

from __future__ import annotations

from typing import Any

from fairprobe import datasets

PIPELINES = ("one-hot-logistic", "one-hot-mlp", "one-hot-tree", "ordinal-boosting")


def fitted_pipeline(name: str) -> Any:
    """One of `PIPELINES`, by its encoder of text columns and its last step, fitted on the training rows."""
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

    rows, labels = datasets.load_census(encoded=False, split="train")
    text = [column for column in rows if rows[column].dtype.kind not in "if"]
    if name.startswith("ordinal"):
        encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)
        columns = make_column_transformer((encoder, text), remainder="passthrough")
    else:
        numbers = [column for column in rows if column not in text]
        columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), text), (StandardScaler(), numbers))
    return make_pipeline(columns, _last_step(name)).fit(rows, labels)


def _last_step(name: str) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.tree import DecisionTreeClassifier

    return {
        "one-hot-logistic": LogisticRegression(max_iter=300),
        "one-hot-mlp": MLPClassifier((32,), max_iter=8, random_state=0),
        "one-hot-tree": DecisionTreeClassifier(random_state=0),
        "ordinal-boosting": HistGradientBoostingClassifier(random_state=0),
    }[name]
