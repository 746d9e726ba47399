"""The pandas categories on which a model was fitted. Such a model does not take strings, as read from a CSV file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Codes
from fairprobe.domain.derived import Extended
from fairprobe.domain.domain import Domain
from fairprobe.domain.parameters import Parameter
from fairprobe.domain.values import plain
from fairprobe.errors import DataError, DomainError

if TYPE_CHECKING:
    import pandas as pd

Categories = dict[str, tuple[Any, ...]]
"""Values of each pandas categorical column, by column name, in the order on which the model was fitted."""

SHOWN = 5
"""Largest number of categories that a message names. Chosen."""

ADVICE = (
    "if the model was fitted on pandas categoricals, give the domain's parameters dtype='category' and as their "
    "categories all that the model was fitted on, in its order"
)


def fitted_columns(model: Any) -> tuple[str, ...] | None:
    """Return the names of the columns on which a model was fitted; None if the model does not store them."""
    names = getattr(model, "feature_names_in_", None)
    booster = _lightgbm_booster(model)
    if names is None and getattr(booster, "pandas_categorical", None):
        names = booster.feature_name()
    return None if names is None else tuple(map(str, names))


def own_name(name: str, names: Iterable[str]) -> str:
    """Return the one of `names` that a model's column stands for; `name` itself if there is none.

    LightGBM replaces spaces by underscores, and ONNX replaces all characters except letters, digits and underscores.

    >>> own_name("hours_per_week", ["age", "hours-per-week"]), own_name("sex", ["age"])
    ('hours-per-week', 'sex')
    """
    known = [str(own) for own in names]
    if name in known:
        return name
    return next((own for own in known if name in (own.replace(" ", "_"), re.sub(r"\W", "_", own))), name)


def _lightgbm_booster(model: Any) -> Any:
    return model if hasattr(model, "pandas_categorical") else getattr(model, "booster_", None)


def fitted_categories(model: Any, domain: Domain, columns: Sequence[str]) -> Categories:
    """Return the fitted values of each pandas categorical column, by column name; empty if the model has none.

    A model that wraps another may state them, by column, in its attribute `categories_in_`.
    """
    told = getattr(model, "categories_in_", None)
    if isinstance(told, Mapping):
        return {own_name(name, domain.names): tuple(map(plain, values)) for name, values in told.items()}
    if len(getattr(model, "steps", ())) == 1:
        model = model.steps[0][1]
    model = getattr(model, "best_estimator_", model)
    booster = model.get_booster() if hasattr(model, "get_booster") else None
    return _of_lightgbm(model, domain, columns) or xgboost_categories(booster, columns)


def _of_lightgbm(model: Any, domain: Domain, columns: Sequence[str]) -> Categories:
    booster = _lightgbm_booster(model)
    lists = getattr(booster, "pandas_categorical", None)
    if not lists:
        return {}
    # The lists come without names, in the order of the columns. What is text must have been categorical.
    names = [name for name in columns if domain[name].dtype == "category" or not domain[name].is_numeric]
    if len(names) != len(lists):
        params = booster.params
        places = params.get("categorical_column", params.get("categorical_feature"))
        is_told = isinstance(places, list) and len(places) == len(lists) and all(type(p) is int for p in places)
        if not is_told:
            return {}
        names = [columns[place] for place in sorted(places)]
    return {name: tuple(map(plain, values)) for name, values in zip(names, lists, strict=True)}


def xgboost_categories(booster: Any, columns: Sequence[str]) -> Categories:
    """Return the categories stored in an XGBoost booster, by column name; empty before XGBoost 3.1."""
    if "c" not in (getattr(booster, "feature_types", None) or ()) or not hasattr(booster, "get_categories"):
        return {}
    told = booster.get_categories(export_to_arrow=True).to_arrow()
    return {
        name: tuple(values.to_pylist()) for name, (_, values) in zip(columns, told, strict=True) if values is not None
    }


def category_places(parameter: Parameter, categories: Sequence[Any]) -> Codes:
    """Return the position of each of a parameter's values in `categories`, indexed by code; -1 for the missing value.

    Raises a DomainError for a value that is none of the categories.
    """
    import pandas as pd

    if isinstance(parameter, Extended):
        own = category_places(parameter.base, categories)[: parameter.base.levels]
        return np.concatenate([own, _places(pd.Series(parameter.extras, dtype=object), categories), [-1]])
    n_values = parameter.levels - parameter.missing
    n_looked_at = min(n_values, len(categories) + 1)  # of more, one cannot be among them
    values = pd.Series(parameter.decode(np.arange(n_looked_at)))
    places = _places(values, categories)
    if (places < 0).any():
        value = values.iloc[int(np.argmax(places < 0))]
        raise DomainError(f"parameter {parameter.name!r}: {_rule(value, categories)}: leave it out of the domain")
    return np.append(places, -1)


def as_fitted(values: pd.Series[Any], categories: Sequence[Any]) -> pd.Series[Any]:
    """Return a column as a pandas categorical of exactly these categories; raise a DataError for other values."""
    import pandas as pd

    places = _places(values, categories)
    odd = np.flatnonzero((places < 0) & values.notna().to_numpy())
    if len(odd):
        raise DataError(f"column {values.name!r}: {_rule(values.iloc[odd[0]], categories)}: leave such rows out")
    fitted = pd.Categorical.from_codes(places, categories=list(categories))
    return pd.Series(fitted, index=values.index, name=values.name)


def _places(values: pd.Series[Any], categories: Sequence[Any]) -> Codes:
    import pandas as pd

    codes, seen = pd.factorize(values.astype(object))
    known = pd.Index(list(categories), dtype=object).get_indexer(pd.Index(seen, dtype=object))
    return np.append(known, -1)[codes].astype(np.int64)


def _rule(value: Any, categories: Sequence[Any]) -> str:
    """Return the rule that a value breaks which is none of the categories, for messages."""
    more = f" and {len(categories) - SHOWN:,} more" if len(categories) > SHOWN else ""
    known = ", ".join(map(repr, categories[:SHOWN])) + more
    return f"every value must be one of the categories that the model was fitted on, {known}; got {plain(value)!r}"
