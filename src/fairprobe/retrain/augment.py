"""Augmenting: the training rows of a round, by its recipe. Always from the original rows, nothing is cumulated."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.domain.domain import Domain
from fairprobe.domain.parameters import Codes
from fairprobe.retrain.labels import Votes, chosen
from fairprobe.retrain.parts import Rows
from fairprobe.retrain.recipe import Recipe

if TYPE_CHECKING:
    import pandas as pd

Draw = Callable[[int, np.random.Generator], tuple[Codes, Votes]]
"""So many inputs to add, and what speaks for each label of their members."""


class Augmenter:
    """Makes the rows to fit on."""

    def __init__(self, domain: Domain, rows: Rows, classes: NDArray[Any] | None = None) -> None:
        self._domain = domain
        self._rows = rows
        self._classes = np.unique(rows.labels) if classes is None else classes
        self._prior = (rows.labels[:, None] == self._classes).mean(axis=0)
        self._own = np.column_stack([domain[name].encode(rows.frame[name]) for name in domain.sensitive])

    def rows(self, recipe: Recipe, draw: Draw, rng: np.random.Generator) -> Rows:
        """The original rows and what the recipe adds."""
        parts = [self._rows]
        if recipe.uses_cases:
            codes, votes = draw(max(1, round(recipe.percent / 100 * len(self._rows))), rng)
            if "case" in recipe.parts and len(codes):
                parts.append(self._cases(codes, votes, rng))
            if "twins" in recipe.parts and len(codes):
                parts.append(self._twins(codes, votes))
        if "flip" in recipe.parts:
            parts += self._flipped(recipe.flipped, rng)
        return _joined(parts * recipe.copies)

    def _cases(self, codes: Codes, votes: Votes, rng: np.random.Generator) -> Rows:
        """Each case by one member, drawn at random: if its sensitive value were always the same, it would be learnt."""
        present = self._present(codes)
        member = np.where(present, rng.random(present.shape), -1.0).argmax(axis=0)
        codes = codes.copy()
        codes[:, list(self._domain.sensitive_columns)] = self._domain.combinations[member]
        own = votes[member, np.arange(len(codes))]
        return self._new(codes, chosen(own, self._classes, self._prior))

    def _twins(self, codes: Codes, votes: Votes) -> Rows:
        """Each case with all its twins, all with one label."""
        present = self._present(codes)
        labels = chosen(np.where(present[..., None], votes, 0.0).sum(axis=0), self._classes, self._prior)
        members = self._domain.families(codes).reshape(*present.shape, -1)
        return self._new(members[present], np.broadcast_to(labels, present.shape)[present])

    def _present(self, codes: Codes) -> NDArray[np.bool_]:
        """Which members a constraint does not forbid."""
        shape = (len(self._domain.combinations), len(codes))
        if not self._domain.constraints:
            return np.ones(shape, dtype=bool)
        return self._domain.allows(self._domain.families(codes)).reshape(shape)

    def _flipped(self, percent: float, rng: np.random.Generator) -> list[Rows]:
        """Training rows in all other combinations of sensitive values, each with its own label."""
        n = round(percent / 100 * len(self._rows))
        places = np.sort(rng.permutation(len(self._rows))[:n])
        flipped = []
        for combination in self._domain.combinations:
            others = places[(self._own[places] != combination).any(axis=1)]
            rows = self._rows.take(others)
            flipped.append(Rows(self._with(rows.frame, combination), rows.labels, rows.weights))
        return flipped

    def _with(self, frame: pd.DataFrame, combination: Codes) -> pd.DataFrame:
        changed = frame.copy()
        for name, code in zip(self._domain.sensitive, combination, strict=True):
            values = self._domain[name].decode(np.full(len(frame), code))
            changed[name] = in_dtype(values, frame[name].dtype)
        return changed

    def _new(self, codes: Codes, labels: NDArray[Any]) -> Rows:
        frame = self._domain.decode(codes)
        columns = {name: in_dtype(frame[name], self._rows.frame[name].dtype) for name in frame.columns}
        weights = None if self._rows.weights is None else np.full(len(codes), self._rows.weights.mean())
        return Rows(frame.assign(**columns), labels, weights)


def in_dtype(values: Any, dtype: Any) -> pd.Series:
    """A column in the dtype of the training rows, where it can be had: a model is fitted to one kind of column."""
    import pandas as pd

    series = pd.Series(values)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pandas is about to refuse values that are no category
            cast = series.astype(dtype)
    except (TypeError, ValueError):
        return series
    same = (cast.astype(object) == series.astype(object)) | series.isna()
    return cast if bool(same.all()) else series


def _joined(parts: list[Rows]) -> Rows:
    import pandas as pd

    weights = [part.weights for part in parts if part.weights is not None]
    return Rows(
        pd.concat([part.frame for part in parts if len(part)], ignore_index=True),
        np.concatenate([part.labels for part in parts]),
        np.concatenate(weights) if weights else None,
    )
