"""Controls: what else could have been done with as little effort. They stand beside every result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from fairprobe.domain.domain import Domain
from fairprobe.domain.dtypes import in_dtype
from fairprobe.estimate.share import Share
from fairprobe.retrain.parts import Rows

WORDS: Final = {
    "constant": "the sensitive parameters held constant",
    "random": "as many random inputs instead of cases",
    "all": "all cases at once",
    "clone": "a clone of the model given, nothing added",
}

FLIPPED: Final = "as many rows of random inputs with twins"
"""The control "random" where only training rows were flipped, so that there are no cases to replace."""

NEARLY: Final = "as near as whole families allow"


@dataclass(frozen=True)
class Control:
    """Another way to train, judged on the report part."""

    name: str
    shares: dict[str, Share]
    accuracy: float | None
    n_added: int
    seconds: float
    why_not: str = ""
    """Why there are no figures."""
    what: str = ""
    """What was done, where it is not what the control's name usually stands for."""

    @property
    def words(self) -> str:
        """What was done."""
        return self.what or WORDS[self.name]

    def summary(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        return {
            "control": self.name,
            "words": self.words,
            "shares": {name: share.summary() for name, share in self.shares.items()},
            "accuracy": self.accuracy,
            "n_added": self.n_added,
            "seconds": self.seconds,
            "why_not": self.why_not,
        }


class HeldConstant:
    """A model that sees the same sensitive values whoever is asked about: its twins can't differ.

    The columns stay, as pipelines and models that name a column could not be fitted without them.
    """

    def __init__(self, model: Any, domain: Domain, values: dict[str, Any]) -> None:
        self._model = model
        self._values = values
        self._columns = list(getattr(model, "feature_names_in_", domain.names))
        # The boosters tell which categories the model was fitted on.
        for name in ("feature_names_in_", "n_features_in_", "classes_", "booster_", "get_booster"):
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
        for name in ("predict_proba", "decision_function"):
            if hasattr(model, name):
                setattr(self, name, partial(self._ask, getattr(model, name)))

    def predict(self, batch: Any) -> Any:
        """The model's labels, the sensitive columns aside."""
        return self._ask(getattr(self._model, "predict", self._model), batch)

    def _ask(self, function: Callable[[Any], Any], batch: Any) -> Any:
        if not isinstance(batch, np.ndarray):
            return function(held_constant(batch, self._values))
        held = batch.copy()
        for name, value in self._values.items():
            held[:, self._columns.index(name)] = value
        return function(held)


def commonest(domain: Domain, rows: Rows) -> dict[str, Any]:
    """The commonest value of each sensitive parameter among the rows; the domain's first, if none is known."""
    modes = {name: rows.frame[name].mode().tolist() for name in domain.sensitive}
    return {name: values[0] if values else domain[name].decode(np.zeros(1, int))[0] for name, values in modes.items()}


def held_constant(frame: Any, values: dict[str, Any]) -> Any:
    """Rows with the sensitive values replaced, in the columns' dtypes where they can hold these."""
    import pandas as pd

    changed = frame.copy()
    for name, value in values.items():
        changed[name] = in_dtype(pd.Series([value] * len(frame), index=frame.index), frame[name].dtype)
    return changed
