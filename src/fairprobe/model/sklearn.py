"""Adapter for objects with a method `predict`, such as scikit-learn's estimators."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from fairprobe.domain.domain import Domain
from fairprobe.errors import DataError, SettingError
from fairprobe.model.adapters import Adapter, last_class
from fairprobe.model.categories import fitted_categories, fitted_columns
from fairprobe.model.forms import (
    ArrayForm,
    Form,
    FrameForm,
    ObjectForm,
    checked_columns,
    is_exact_in_float32,
    natural_dtype,
)
from fairprobe.model.known import LABELS_FOLLOW, LEAFY, kin, known_kind, last_step, own_kind, works_on_float32


class EstimatorAdapter(Adapter):
    """Adapter of an object with `predict`; its methods and class tell what the model can do.

    It calls `predict`, `predict_proba` or `decision_function`, depending on the output asked for.
    """

    always_finite = True

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.scores, self.probabilities = hasattr(model, "decision_function"), hasattr(model, "predict_proba")
        self.is_stepwise = _is_stepwise(model)
        # A pipeline that is known as such hands on what its last step says.
        kind = own_kind(last_step(model)) if own_kind(model) is not None else None
        self.labels_follow = LABELS_FOLLOW.get(kind or "")
        self.classes = getattr(model, "classes_", None)
        self.columns = fitted_columns(model)

    @staticmethod
    def accepts(model: Any) -> bool:
        """Return True if the model has a callable attribute `predict`."""
        return callable(getattr(model, "predict", None))

    def form(self, domain: Domain, batch: str | None) -> Form:
        """Return the form of batches that the model was fitted on, an array or a DataFrame.

        Raises an error if the model is not fitted, or if its columns are not the domain's parameters.
        """
        model, name = self.model, self.name
        if isinstance(model, type):
            raise SettingError(f"a model must be an instance, got the class {model.__name__}: create and fit one")
        if not is_fitted(model):
            raise SettingError(f"the model must be fitted, got an unfitted {name}: call fit first")
        columns, n = self.columns_in(domain), getattr(model, "n_features_in_", None)
        checked_columns(columns, name, domain)
        if columns is None and n is not None and n != len(domain.visible):
            got = f"{len(domain.visible)}: {', '.join(domain.visible)}"
            raise DataError(f"{name} was fitted on {n} columns, so the domain must have as many parameters, got {got}")
        if batch == "frame" or (batch is None and columns is not None):
            names = columns or list(domain.visible)
            categories = fitted_categories(model, domain, names)
            return FrameForm(domain, names, categories, plain_text=known_kind(model) is not None)
        if not all(parameter.is_numeric for parameter in domain.seen):
            return ObjectForm(domain, columns)
        # A dtype that the model takes without converting it again.
        if works_on_float32(model) and all(map(is_exact_in_float32, domain.seen)):
            return ArrayForm(domain, np.float32, columns)
        return ArrayForm(domain, np.float64 if hasattr(model, "n_features_in_") else natural_dtype(domain), columns)

    def method(self, output: str, form: Form) -> Callable[[Any], Any]:
        """Return the model's own method for an output.

        Raises a SettingError for the labels of a regressor, which are continuous numbers.
        """
        if output == "label" and is_regressor(self.model):  # nearly every input would be a case
            got = f"the regressor {self.name}: say output='value' and the threshold that a gap must exceed"
            raise SettingError(f"output='label' is for labels, which are names, got {got}")
        return method_for(self.model, output)

    def fast(self, method: Callable[[Any], Any], output: str, form: Form) -> Callable[[Any], Any]:
        """Return `method`; for a tree that gets float32 batches, the method without the tree's check of its input."""
        is_ready = isinstance(form, ArrayForm) and form.dtype == np.float32
        if output != "score" and is_ready and hasattr(self.model, "tree_"):
            unchecked: Callable[..., Any] = method
            return partial(unchecked, check_input=False)
        return method


def _is_stepwise(model: Any) -> bool:
    """Return True if a model's scores are constant on the leaves of trees.

    For boosters and regressors, the method `apply` tells that the model has leaves.
    """
    kind = kin(model) or ""
    has_leaves = hasattr(model, "apply") and kind.removeprefix("regression-") in (*LEAFY, "booster")
    return has_leaves or kind in LEAFY


def is_fitted(model: Any) -> bool:
    """Return True if an estimator is fitted; objects that are no scikit-learn estimators are assumed to be."""
    if not hasattr(model, "get_params"):
        return True
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    except TypeError:
        pass  # it only looks like an estimator
    return True


def is_regressor(model: Any) -> bool:
    """Return True if a model declares itself a regressor, by scikit-learn's tags or the attribute `is_regressor_`."""
    if not hasattr(model, "get_params"):
        return bool(getattr(model, "is_regressor_", False))
    from sklearn import base

    with suppress(AttributeError, TypeError):  # it only looks like an estimator
        return bool(base.is_regressor(model))
    return False


def method_for(model: Any, output: str) -> Callable[[Any], Any]:
    """Return the method of a model that computes an output: "label", "value", "score" or "proba".

    Without `decision_function`, a score is the probability of the second of two classes.
    """
    if output in ("label", "value"):
        return model.predict
    if output == "score" and hasattr(model, "decision_function"):
        return model.decision_function
    if hasattr(model, "predict_proba"):
        return model.predict_proba if output == "proba" else partial(last_class, model.predict_proba)
    needed = "predict_proba" if output == "proba" else "decision_function or predict_proba"
    raise SettingError(f"output={output!r} needs a model with {needed}, got {type(model).__name__}")
