"""Columns in the dtype that a model knows."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def in_dtype(values: Any, dtype: Any) -> pd.Series:
    """A column in a dtype where that changes no value, else as it is: a model is fitted to one kind of column."""
    import pandas as pd

    series = pd.Series(values)
    if series.dtype == dtype:
        return series
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pandas is about to refuse values that are no category
            cast = series.astype(dtype)
    except (TypeError, ValueError):
        return series
    same = (cast.astype(object) == series.astype(object)) | (series.isna() & cast.isna())
    return cast if bool(same.all()) else series
