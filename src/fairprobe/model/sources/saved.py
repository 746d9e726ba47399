"""Models out of files that hold only what they answer by: they can be asked, and not be fitted again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Floats


class SavedModel:
    """A model that answers by the functions given as its `methods`; it describes itself by scikit-learn's names."""

    def __init__(
        self,
        n_columns: int | None,
        columns: Sequence[str] | None = None,
        categories: Mapping[str, tuple[Any, ...]] | None = None,
        *,
        classes: Any = None,
        **methods: Callable[[Any], Any],
    ) -> None:
        if n_columns is not None:
            self.n_features_in_ = n_columns
        if columns is not None:
            self.feature_names_in_ = np.array(columns, dtype=object)
        if categories:
            self.categories_in_ = dict(categories)
        if classes is not None:
            self.classes_ = np.asarray(classes)
        vars(self).update(methods)


def classifier(ask: Callable[[Any], Any], classes: Sequence[Any], *told: Any) -> SavedModel:
    """A model that gives a probability for each class, or of the second of two; the highest tells the label."""
    likely = partial(two_columns, ask)
    label = partial(likeliest, np.asarray(classes), likely)
    return SavedModel(*told, classes=classes, predict=label, predict_proba=likely)


def two_columns(ask: Callable[[Any], Any], batch: Any) -> Floats:
    """Probabilities, one column for each class; one for each row is that of the second of two."""
    given = np.asarray(ask(batch), dtype=np.float64)
    given = given.reshape(len(given), -1)
    return given if given.shape[1] > 1 else np.column_stack([1 - given, given])


def likeliest(classes: NDArray[Any] | None, ask: Callable[[Any], Floats], batch: Any) -> NDArray[Any]:
    """The class of the highest number of each row, or its place where no classes are told."""
    places = ask(batch).argmax(axis=1)
    return places if classes is None else np.asarray(classes[places])
