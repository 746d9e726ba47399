"""Adapter for any object with `predict`, scikit-learn's estimators above all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from fairprobe.arrays import Codes
from fairprobe.domain.domain import Domain
from fairprobe.domain.parameters import Parameter
from fairprobe.errors import DataError, SettingError
from fairprobe.model.adapters import Abilities, Adapter
from fairprobe.model.categories import advised, fitted_categories, fitted_columns, may_need_advice
from fairprobe.model.forms import ArrayForm, Form, FrameForm, ObjectForm
from fairprobe.model.known import LABELS_FOLLOW, LEAFY, THREADED, kin, known_kind, last_step, own_kind, works_on_float32

EXACT_IN_FLOAT32 = 2**24


def accepts(model: Any) -> bool:
    """Whether this adapter is for that model."""
    return callable(getattr(model, "predict", None))


def abilities(model: Any) -> Abilities:
    """What its methods and its kind tell."""
    names = getattr(model, "feature_names_in_", None)
    # A pipeline that is known as such hands on what its last step says.
    kind = own_kind(last_step(model)) if own_kind(model) is not None else None
    return Abilities(
        name=type(model).__name__,
        scores=hasattr(model, "decision_function"),
        probabilities=hasattr(model, "predict_proba"),
        leaves=_tells_leaves(model) or kin(model) in LEAFY,
        threads=kin(model) in THREADED,
        labels_follow=LABELS_FOLLOW.get(kind or ""),
        classes=getattr(model, "classes_", None),
        columns=None if names is None else tuple(str(name) for name in names),
    )


def adapt(model: Any, domain: Domain, output: str, batch: str | None) -> Adapter:
    """Find the method to call and the form of its batches."""
    if isinstance(model, type):
        raise SettingError(f"a model must be an instance, got the class {model.__name__}: create and fit one")
    if not is_fitted(model):
        raise SettingError(f"the model must be fitted, got an unfitted {type(model).__name__}: call fit first")
    if output == "label" and _is_regressor(model):  # nearly every input would be a case
        raise SettingError(
            f"output='label' is for labels, which are names, got the regressor {type(model).__name__}: "
            "say output='value' and the threshold that a gap must exceed"
        )
    form = _form(model, domain, batch)
    finite_only = isinstance(form, ArrayForm) and not any(parameter.missing for parameter in domain.parameters)
    careful: Callable[..., Any] = method_for(model, output)
    if isinstance(form, FrameForm) and may_need_advice(model, domain, form.categories):
        careful = advised(careful)
    function = careful
    if output != "score" and isinstance(form, ArrayForm) and form.dtype == np.float32 and hasattr(model, "tree_"):
        function = partial(careful, check_input=False)  # the batch is what the tree would make of it
    return Adapter(
        function,
        form,
        type(model).__name__,
        careful,
        gives_probabilities=isinstance(careful, _LastClass),
        finite_only=finite_only,
        leaves=_leaves(model),
        categories=form.categories if isinstance(form, FrameForm) else {},
    )


def _leaves(model: Any) -> Callable[[Any], Codes] | None:
    """Of a model made of trees, or of a committee whose members all are."""
    trees = [model] if _tells_leaves(model) else getattr(model, "estimators_", ())
    if not len(trees) or not all(map(_tells_leaves, trees)):
        return None

    def leaves(batch: Any) -> Codes:
        return np.column_stack([np.asarray(tree.apply(batch)).reshape(len(batch), -1) for tree in trees])

    return leaves


def _tells_leaves(model: Any) -> bool:
    """Whether its `apply` is that of trees; other classes have methods of that name for other things."""
    kind = (kin(model) or "").removeprefix("regression-")
    return hasattr(model, "apply") and kind in (*LEAFY, "booster")


def is_fitted(model: Any) -> bool:
    """Whether an estimator can be asked as it is; what is none of scikit-learn's kind is taken to be."""
    if not hasattr(model, "get_params"):
        return True
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    except TypeError:
        return True  # it only looks like an estimator
    return True


def _is_regressor(model: Any) -> bool:
    """Whether it says so itself."""
    if getattr(model, "is_regressor_", False):
        return True
    if not hasattr(model, "get_params"):
        return False
    from sklearn.base import is_regressor

    try:
        return bool(is_regressor(model))
    except (AttributeError, TypeError):
        return False  # it only looks like an estimator


def method_for(model: Any, output: str) -> Callable[[Any], Any]:
    """The method that gives an output."""
    if output in ("label", "value"):
        return model.predict
    name = type(model).__name__
    if output == "proba":
        if not hasattr(model, "predict_proba"):
            raise SettingError(f"output='proba' needs a model with predict_proba, got {name}")
        return model.predict_proba
    if hasattr(model, "decision_function"):
        return model.decision_function
    if hasattr(model, "predict_proba"):
        return _LastClass(model)
    raise SettingError(f"output='score' needs a model with decision_function or predict_proba, got {name}")


class _LastClass:
    """The probability of the last class as a score: of two classes, the positive one."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __call__(self, batch: Any) -> Any:
        probabilities = np.asarray(self.model.predict_proba(batch))
        return probabilities[:, 1] if probabilities.shape[1] == 2 else probabilities


def _form(model: Any, domain: Domain, batch: str | None) -> Form:
    """What it was fitted on, if the domain's parameters are just those columns."""
    columns, n, name = fitted_columns(model, domain), getattr(model, "n_features_in_", None), type(model).__name__
    checked_columns(columns, name, domain)
    if columns is None and n is not None and n != len(domain.visible):
        raise DataError(
            f"{name} was fitted on {n} columns, so the domain must have as many parameters, "
            f"got {len(domain.visible)}: {', '.join(domain.visible)}"
        )
    if batch == "frame" or (batch is None and columns is not None):
        names = columns or list(domain.visible)
        return FrameForm(
            domain, names, fitted_categories(model, domain, names), plain_text=known_kind(model) is not None
        )
    if not all(parameter.is_numeric for parameter in domain.seen):
        return ObjectForm(domain, columns)
    # A dtype that the model takes without converting it again.
    if works_on_float32(model) and all(map(_is_exact_in_float32, domain.seen)):
        return ArrayForm(domain, np.float32, columns)
    return ArrayForm(domain, np.float64 if hasattr(model, "n_features_in_") else natural_dtype(domain), columns)


def checked_columns(columns: Sequence[str] | None, name: str, domain: Domain) -> None:
    """Refuse a model that was fitted on other columns than the domain's parameters, where its columns are known."""
    hidden = [column for column in columns or () if column in domain.hidden]
    if hidden:
        raise DataError(f"a hidden parameter must be none that {name} was fitted on, got {hidden[0]!r}: leave it out")
    absent = [column for column in columns or () if column not in domain.names]
    if absent:
        raise DataError(
            f"every column the model was fitted on must be a parameter, got no {', '.join(absent)}: add the column"
        )
    unknown = [column for column in domain.visible if columns is not None and column not in columns]
    if unknown and all(column in domain.sensitive for column in unknown):
        raise DataError(
            f"{name} was not fitted on the sensitive {', '.join(unknown)}: say so by hidden={unknown!r}, "
            "--hidden on the command line, and by links what changes along with it"
        )
    if unknown:
        raise DataError(
            f"every parameter must be a column that {name} was fitted on, got {', '.join(unknown)}: "
            "leave it out of the inputs (--ignore on the command line)"
        )


def natural_dtype(domain: Domain) -> type[Any]:
    """Integers if all parameters are, else floats."""
    whole = all("int" in parameter.dtype.lower() and not parameter.missing for parameter in domain.seen)
    return np.int64 if whole else np.float64


def _is_exact_in_float32(parameter: Parameter) -> bool:
    """Whether its values, and the codes they are computed from, are whole numbers that float32 tells apart."""
    if parameter.kind == "real" or parameter.levels - 1 > EXACT_IN_FLOAT32:
        return False
    is_line = parameter.kind == "integer"
    codes = np.array([0, parameter.levels - 1 - parameter.missing]) if is_line else np.arange(parameter.levels)
    numbers = parameter.numbers(codes)
    return bool(((numbers == np.rint(numbers)) & (np.abs(numbers) <= EXACT_IN_FLOAT32) | np.isnan(numbers)).all())
