"""Fitting of models to rows, as clones of the given model or by the caller's trainer, and the time that fits take.

The given model is not changed.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from fairprobe.clock import Clock
from fairprobe.domain.domain import Domain
from fairprobe.errors import DataError, ModelError, SettingError
from fairprobe.model.adapters import columns_of
from fairprobe.model.categories import ADVICE, as_fitted, fitted_categories
from fairprobe.model.sklearn import is_fitted as is_fitted_estimator
from fairprobe.model.sklearn import is_regressor
from fairprobe.retraining.parts import LabelledRows

Train = Callable[..., Any]
"""Function ``trainer(X, y, sample_weight=None)`` that returns a fitted model, as a caller of `retrain` may give it."""

_STEEPEST: Final = 2.5
_UNKNOWN: Final = 2.0
"""Power of the number of rows with which fit times are assumed to grow before two fits are timed: that of a kernel
machine. `_STEEPEST` is the largest power that timed fits may give; chosen."""

_TRIALS: Final = (1000, 4000)
"""Numbers of rows of the two fits that are made only to measure how fit times grow with the rows; chosen."""

_APART: Final = 1.3
"""Smallest ratio of the rows of two timed fits from which the growth of fit times is computed; chosen."""

_KEPT: Final = 1 / 3
"""Largest fraction of `max_seconds` that is reserved for the report before the first round; chosen."""


class Fitter:
    """Maker of fitted models: it fits clones of the given model, or calls the trainer, and records the fits' times."""

    def __init__(
        self, model: Any, train: Train | None, domain: Domain, *, as_frame: bool, is_weighted: bool = False
    ) -> None:
        if train is not None and not callable(train):
            raise SettingError.about("trainer", f"must be a function (X, y, sample_weight=None), got {train!r:.80}")
        self._train = train or _cloner(model, is_weighted=is_weighted)
        self._rule = "the model must fit the rows" if train is None else "the trainer must give a model"
        self.is_known = is_fitted(model)
        """True if the model given is already fitted."""
        self._columns = columns_of(model, domain) if self.is_known else None
        absent = ", ".join(name for name in self._columns or () if name not in domain.names)
        if absent:
            rule = "every column the model was fitted on must be a parameter"
            raise DataError(f"{rule}, got no {absent}: add the column")
        self._categories = fitted_categories(model, domain, self._columns or domain.names) if self.is_known else {}
        self._as_frame = self._columns is not None if self.is_known and train is None else as_frame
        self.warned: Counter[str] = Counter()
        """Number of fits that gave each warning, by the text of the warning."""
        self.times: list[tuple[int, float]] = []
        """For each fit so far, the number of rows and the seconds."""

    def fit(self, rows: LabelledRows) -> Any:
        """Return a new model, fitted to these rows, in the form (columns, categories) that the given model takes."""
        clock = Clock()
        # Copies, because a trainer may change its arguments.
        batch = rows.frame[self._columns or list(rows.frame)].copy()
        for name, categories in self._categories.items():
            batch[name] = as_fitted(batch[name], categories)
        options = {} if rows.weights is None else {"sample_weight": rows.weights.copy()}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                fitted = self._train(batch if self._as_frame else batch.to_numpy(), rows.labels.copy(), **options)
            except Exception as error:
                # LightGBM and XGBoost refuse text where they would take categoricals.
                is_about_text = "bad pandas dtypes" in str(error) or "enable_categorical" in str(error)
                got = f"{type(error).__name__}: {str(error).rstrip('.')}{f': {ADVICE}' if is_about_text else ''}"
                raise ModelError(f"{self._rule}, got {got}") from error
        self.warned.update({f"{each.category.__name__}: {_first_sentence(each.message)}" for each in caught})
        if not is_model(fitted):
            raise ModelError(f"the trainer must give a model with predict, got {type(fitted).__name__}")
        self.times.append((len(rows), max(clock.seconds, 1e-6)))
        return fitted

    def fit_some(self, rows: LabelledRows) -> Any:
        """Fit models to some rows (1,000 and 4,000, or all if there are fewer) to time them; return the last model."""
        firsts = np.unique(rows.labels, return_index=True)[1]  # no classifier is fitted to one label
        for n in sorted({min(len(rows), n) for n in _TRIALS}):
            spread = np.linspace(0, len(rows) - 1, n).astype(np.int64)
            model = self.fit(rows.take(np.union1d(spread, firsts)))
        return model

    def foreseen(self, n_rows: int) -> float:
        """Return the predicted seconds of a fit to this number of rows, from the timed fits; 0 before the first."""
        if not self.times:
            return 0.0
        rows, seconds = self.times[-1]
        power, (few, quick), (many, slow) = _UNKNOWN, min(self.times), max(self.times)
        if many >= _APART * few:
            power = min(_STEEPEST, max(1.0, math.log(slow / quick) / math.log(many / few)))
        return float(seconds * (n_rows / rows) ** power)


class TimeBudget:
    """Seconds of a retraining: used so far, left for rounds, and reserved for the report."""

    def __init__(self, max_seconds: float | None, n_controls: int, fitter: Fitter) -> None:
        self.max_seconds = max_seconds
        self.clock = Clock(max_seconds)
        self.judgement = 0.0
        """Seconds of one judgement of a model: on the select part at first, on the report part at the end."""
        self.kept = 0.0
        """Seconds reserved for judging models on the report part at the end."""
        self.is_first = True
        """True until the first round of retraining is over."""
        self._n_controls = n_controls
        self._fitter = fitter

    @property
    def left(self) -> float:
        """Seconds left for rounds, after those reserved for judging the report and for fitting the controls.

        Each control counts as long as the slowest fit so far. Before the first round, at most the part `_KEPT` of the
        limit is reserved.
        """
        kept = self.kept + self._n_controls * max((seconds for _, seconds in self._fitter.times), default=0.0)
        # If all the time of a slow report were kept back, there might be no round, and nothing to report.
        if self.is_first and self.max_seconds is not None:
            kept = min(kept, _KEPT * self.max_seconds)
        return self.clock.left - kept

    def foreseen(self, n_rows: int) -> float:
        """Return the predicted seconds of one round: a fit to this number of rows and a judgement of the model."""
        return self._fitter.foreseen(n_rows) + self.judgement


def is_fitted(model: Any) -> bool:
    """Return True if a model is fitted or is a plain callable, so that it can predict without a fit."""
    return is_model(model) and is_fitted_estimator(model)


def is_model(model: Any) -> bool:
    """Return True if an object has `predict` or is a plain callable; False for a class."""
    return not isinstance(model, type) and (callable(getattr(model, "predict", None)) or callable(model))


_TRAINER = "give trainer= in Python, a function (X, y, sample_weight=None) that returns a fitted model"


def _cloner(model: Any, *, is_weighted: bool) -> Train:
    """Return a function (X, y, sample_weight=None) that fits a clone of an estimator; refuse what cannot be cloned.

    It refuses regressors too, and, if `is_weighted`, estimators that take no weights.
    """
    if isinstance(model, type):
        raise SettingError(f"a model must be an instance, got the class {model.__name__}: create one")
    name = type(model).__name__
    if not callable(getattr(model, "fit", None)):
        raise SettingError(f"a model that is retrained must have fit, got {name}: {_TRAINER}")
    from sklearn.base import clone

    try:
        clone(model)
    except (TypeError, RuntimeError) as error:
        got = f"got {name} ({_first_sentence(error)})"
        rule = "a model that is retrained must be one that scikit-learn can clone"
        raise SettingError(f"{rule}, {got}: {_TRAINER}") from None
    if is_regressor(model):
        raise SettingError(f"a model that is retrained must be a classifier, got the regressor {name}")
    weights = _weights_of(model) if is_weighted else ""

    def train(X: Any, y: Any, sample_weight: Any = None) -> Any:
        return clone(model).fit(X, y, **({} if sample_weight is None else {weights: sample_weight}))

    return train


def _weights_of(model: Any, within: str = "") -> str:
    """Return the name by which `fit` of a model takes row weights, such as "svc__sample_weight" for a pipeline.

    Of a pipeline, the last step gets them, and of a search its estimator. Any other model must take `sample_weight`,
    and so must all estimators in it. A SettingError refuses a model that does not.
    """
    from sklearn import get_config
    from sklearn.ensemble import StackingClassifier, VotingClassifier
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import has_fit_parameter

    if get_config()["enable_metadata_routing"]:  # then the caller has decided who gets weights
        return "sample_weight"
    if isinstance(model, Pipeline) and not within:
        name, last = model.steps[-1]
        return f"{name}__{_weights_of(last)}"
    if isinstance(model, BaseSearchCV) and not within:
        return _weights_of(model.estimator)
    name = type(model).__name__
    if not (has_fit_parameter(model, "sample_weight") or isinstance(model, (StackingClassifier, VotingClassifier))):
        got = f"got {name}{within}, whose fit takes none"
        rule = f"must go with a model that takes weights, {got}: leave them out, or {_TRAINER}"
        raise SettingError.about("sample_weight", rule)
    named = [each[1] for each in getattr(model, "estimators", None) or ()]
    for part in [*model.get_params(deep=False).values(), *named]:
        if callable(getattr(part, "fit", None)):
            _weights_of(part, f" in {name}")
    return "sample_weight"


def _first_sentence(error: Any) -> str:
    return str(error).strip().split("\n", 1)[0].rstrip(".")[:200]
