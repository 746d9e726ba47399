"""Answers: checks of what a model returned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Floats, Mask
from fairprobe.checks import checked_choice
from fairprobe.domain.values import plain
from fairprobe.errors import ModelError

Output = Literal["label", "score", "proba", "value"]
OUTPUTS: tuple[str, ...] = get_args(Output)

MADE_OF_VALUES = (tuple, list, set, frozenset, dict, np.ndarray)
"""Types that are no labels, because they compare as arrays or not at all."""

EXACT = 2**53
"""Largest number up to which a float of 64 bits distinguishes all whole numbers."""

LOOKED_AT = 5000
"""Number of labels that are checked. Chosen."""
MOST_LABELS, MOST_FRACTIONS = 100, 10
"""Largest numbers of different whole numbers, and of fractions, that are accepted as names of labels. Chosen."""


def checked_output(output: Any) -> str:
    """The output, if it is one of the four kinds."""
    return checked_choice("output", output, OUTPUTS)


Describe = Callable[[int], str]
"""Function that describes a row of the batch, by its number."""


def checked_answer(raw: Any, n_rows: int, output: str, describe: Describe) -> NDArray[Any]:
    """The answer as an array with one row for each row asked, or a ModelError that names the first bad row."""
    try:
        answer = raw.to_numpy() if hasattr(raw, "to_numpy") else np.asarray(raw)
    except ValueError as error:
        raise ModelError(f"the model must give one answer a row, got {type(raw).__name__}: {error}") from None
    if answer.ndim == 2 and answer.shape[1] == 1:
        answer = answer[:, 0]
    n_axes = {"score": (1, 2), "proba": (2,)}.get(output, (1,))
    if answer.ndim not in n_axes or len(answer) != n_rows:
        shape = f"({n_rows}, classes)" if output == "proba" else f"({n_rows},)"
        hint = ": a label is one text, number or truth value" if output == "label" else ""
        raise ModelError(f"the model must give output={output!r} of the shape {shape}, got {answer.shape}{hint}")
    if output == "label":
        _check_names(answer, describe)
        bad, rule = _missing(answer), "a label for every row"
    else:
        answer = _as_numbers(answer, output, describe)
        bad, rule = ~np.isfinite(answer), "a finite number for every row"
    if bad.any():
        first = int(np.argmax(bad.reshape(n_rows, -1).any(axis=1)))
        raise ModelError(f"the model must give {rule}, got {answer[first]} for {describe(first)}")
    return answer


class LabelNames:
    """Checks that labels are names: continuous numbers would make nearly every input a case."""

    def __init__(self, classes: Any) -> None:
        self._is_told = classes is not None
        self._seen: set[float] = set()
        self._n_seen = 0

    def check(self, labels: NDArray[Any]) -> None:
        """Raise if the first labels are so many different numbers, or fractions, that they are measurements."""
        if self._is_told or self._n_seen >= LOOKED_AT or labels.dtype.kind not in "fiu":
            return
        some = labels[:: 1 + len(labels) // LOOKED_AT]
        self._seen.update(np.unique(some).tolist())
        self._n_seen += len(some)
        fractions = [number for number in self._seen if number != round(number)]
        most = MOST_LABELS if not fractions else min(MOST_FRACTIONS, max(3, self._n_seen // 2))
        if len(self._seen) > most:
            example = f", {fractions[0]!r} among them" if fractions else ""
            got = f"{len(self._seen)} different numbers in {self._n_seen:,} rows{example}"
            advice = "say output='value' and a threshold, or return names as strings"
            raise ModelError(f"output='label' is for labels, which are names, got {got}: {advice}")


def _check_names(labels: NDArray[Any], describe: Describe) -> None:
    """Refuse labels that are made of several values: a label is a name."""
    if labels.dtype.kind == "O" and (kinds := set(map(type, labels)) & set(MADE_OF_VALUES)):
        first = next(place for place, label in enumerate(labels) if type(label) in kinds)
        got = f"{labels[first]!r} for {describe(first)}: join its parts to one text"
        raise ModelError(f"a label must be one text, number or truth value, got {got}")


def _check_exact(largest: float, output: str) -> None:
    """Refuse whole numbers that floats cannot tell apart: their differences would be lost."""
    if largest > EXACT:
        got = f"{largest:.0f}: floats mix up larger ones, so subtract or divide in the model, or return floats"
        raise ModelError(f"output={output!r} needs whole numbers of at most 2**53, got {got}")


def _missing(labels: NDArray[Any]) -> Mask:
    if labels.dtype.kind not in "fO":
        return np.zeros(len(labels), dtype=bool)
    import pandas as pd

    return np.asarray(pd.isna(labels))


def _as_numbers(answer: NDArray[Any], output: str, describe: Describe) -> Floats:
    if answer.dtype.kind in "iu" and answer.size:
        _check_exact(max(abs(int(answer.min())), abs(int(answer.max()))), output)
    if answer.dtype.kind in "fiub":
        return answer.astype(np.float64, copy=False)
    for row, value in enumerate(answer.reshape(len(answer), -1)[:, 0]):
        if isinstance(value, (str, bytes)) or not isinstance(value, (int, float, np.number)):
            got = f"got {plain(value)!r} for {describe(row)}"
            raise ModelError(f"output={output!r} needs numbers, {got}: use output='label'")
    _check_exact(max((abs(value) for value in answer.ravel() if isinstance(value, int)), default=0), output)
    return answer.astype(np.float64)


def last_class(ask: Callable[[Any], Any], batch: Any) -> Any:
    """Return the probability of the last class as a score: of two classes, the positive one."""
    probabilities = np.asarray(ask(batch))
    is_pair = probabilities.ndim == 2 and probabilities.shape[1] == 2
    return probabilities[:, 1] if is_pair else probabilities
