"""Controls: what else could have been done with as little effort. They stand beside every result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from fairprobe.domain.domain import Domain
from fairprobe.estimate.share import Share
from fairprobe.retrain.parts import Rows

WORDS: Final = {
    "constant": "the sensitive parameters held constant",
    "random": "as many random inputs instead of cases",
    "all": "all cases at once",
}


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

    @property
    def words(self) -> str:
        """What was done."""
        return WORDS[self.name]

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

    def __init__(self, model: Any, domain: Domain) -> None:
        self._model = model
        self._domain = domain
        self._columns = list(domain.sensitive_columns)
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_ = model.feature_names_in_
        if hasattr(model, "n_features_in_"):
            self.n_features_in_ = model.n_features_in_

    def predict(self, batch: Any) -> Any:
        """The model's labels, the sensitive columns aside."""
        return self._model.predict(self._constant(batch))

    def _constant(self, batch: Any) -> Any:
        if isinstance(batch, np.ndarray):
            held = batch.copy()
            held[:, self._columns] = held_values(self._domain)
            return held
        return held_constant(self._domain, batch)


def held_values(domain: Domain) -> list[Any]:
    """The first value of each sensitive parameter."""
    return [domain[name].decode(np.zeros(1, dtype=np.int64))[0] for name in domain.sensitive]


def held_constant(domain: Domain, frame: Any) -> Any:
    """Rows with the sensitive values replaced by the first ones, in the columns' dtypes."""
    import pandas as pd

    changed = frame.copy()
    for name, value in zip(domain.sensitive, held_values(domain), strict=True):
        changed[name] = pd.Series([value] * len(frame), index=frame.index).astype(frame[name].dtype)
    return changed


def rows_held_constant(domain: Domain, rows: Rows) -> Rows:
    """Training rows for a model that is to know nothing of the sensitive parameters."""
    return Rows(held_constant(domain, rows.frame), rows.labels, rows.weights)
