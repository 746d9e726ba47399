"""Models out of files that hold only what they answer by: they can be asked, and not be fitted again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Floats


class SavedRegressor:
    """A model that gives a number for each row; it describes itself by scikit-learn's names."""

    def __init__(
        self,
        ask: Callable[[Any], Any],
        n_columns: int,
        columns: Sequence[str] | None = None,
        categories: Mapping[str, tuple[Any, ...]] | None = None,
    ) -> None:
        self._ask = ask
        self.n_features_in_ = n_columns
        if columns is not None:
            self.feature_names_in_ = np.array(columns, dtype=object)
        if categories:
            self.categories_in_ = dict(categories)

    def predict(self, batch: Any) -> Any:
        """The numbers."""
        return self._ask(batch)


class SavedClassifier(SavedRegressor):
    """A model that gives a probability for each class, or of the second of two; the highest tells the label."""

    def __init__(self, ask: Callable[[Any], Any], classes: Sequence[Any], *args: Any, **keywords: Any) -> None:
        super().__init__(ask, *args, **keywords)
        self.classes_ = np.asarray(classes)

    def predict_proba(self, batch: Any) -> Floats:
        """Probabilities, one column for each class."""
        given = np.asarray(self._ask(batch), dtype=np.float64)
        return given if given.ndim == 2 else np.column_stack([1 - given, given])

    def predict(self, batch: Any) -> NDArray[Any]:
        """The likeliest class of each row."""
        return self.classes_[self.predict_proba(batch).argmax(axis=1)]
