"""The outputs that a model can be asked for, "label", "score", "proba" and "value", and the checks of its answers.

Answers are checked for their shape, for missing values, for labels that are names, and for exact numbers.
A new kind of output is one word in `Output`, its checks here, and its gap in `oracle.py`.
"""

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
"""Types that cannot be labels, because they hold several values or cannot be compared."""

EXACT = 2**53
"""Largest magnitude of whole-number answers that are converted to float. Derived: a 64-bit float tells all whole
numbers up to 2**53 apart."""

BEYOND = 1e-6
"""Largest distance of a probability from the range of 0 to 1 that counts as rounding. Chosen."""

LOOKED_AT = 5000
"""Number of labels, the first that an asker gets, that are checked for being names. Chosen."""
MOST_LABELS, MOST_FRACTIONS = 100, 10
"""`MOST_LABELS` is the largest number of different values accepted as labels if all are whole numbers, `MOST_FRACTIONS`
if some are fractions. Chosen."""

Describe = Callable[[int], str]
"""Function from the number of a row in a batch to its description in words, for messages."""


def checked_output(output: Any) -> str:
    """Return the output kind after checking that it is one of `OUTPUTS`; raise a SettingError otherwise."""
    return checked_choice("output", output, OUTPUTS)


def checked_answer(raw: Any, n_rows: int, output: str, describe: Describe) -> NDArray[Any]:
    """Return a model's raw answer as an array with one entry per row asked; a ModelError names the first bad row.

    Scores and probabilities may have a second axis, the classes.
    """
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
        if output == "proba" and not bad.any():
            bad, rule = np.abs(answer - 0.5) > 0.5 + BEYOND, "a probability from 0 to 1 for every class"
    if bad.any():
        first = int(np.argmax(bad.reshape(n_rows, -1).any(axis=1)))
        raise ModelError(f"the model must give {rule}, got {answer[first]} for {describe(first)}")
    return answer


class LabelNames:
    """Checks that a model's labels are names. Continuous numbers as labels would make nearly every input a case."""

    def __init__(self, classes: Any) -> None:
        self._is_told = classes is not None
        self._seen: set[float] = set()
        self._n_seen = 0

    def check(self, labels: NDArray[Any]) -> None:
        """Raise a ModelError if labels have so many different numbers, or fractions, that they must be measurements."""
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
    """Raise a ModelError for labels that are made of several values, such as tuples or arrays."""
    if labels.dtype.kind == "O" and (kinds := set(map(type, labels)) & set(MADE_OF_VALUES)):
        first = next(place for place, label in enumerate(labels) if type(label) in kinds)
        got = f"{labels[first]!r} for {describe(first)}: join its parts to one text"
        raise ModelError(f"a label must be one text, number or truth value, got {got}")


def _missing(labels: NDArray[Any]) -> Mask:
    if labels.dtype.kind not in "fO":
        return np.zeros(len(labels), dtype=bool)
    import pandas as pd

    return np.asarray(pd.isna(labels))


def _as_numbers(answer: NDArray[Any], output: str, describe: Describe) -> Floats:
    """Return answers as floats; raise a ModelError for what is no number, or a whole number too large to be exact."""
    is_plain = answer.dtype.kind in "fiub"
    for row, value in enumerate([] if is_plain else answer.reshape(len(answer), -1)[:, 0]):
        if isinstance(value, (str, bytes)) or not isinstance(value, (int, float, np.number)):
            got = f"got {plain(value)!r} for {describe(row)}"
            raise ModelError(f"output={output!r} needs numbers, {got}: use output='label'")
    if is_plain:
        whole = [answer.min(), answer.max()] if answer.dtype.kind in "iu" and answer.size else []
    else:
        whole = [value for value in answer.ravel() if isinstance(value, int)]
    largest = max((abs(int(value)) for value in whole), default=0)
    if largest > EXACT:
        got = f"{largest}: floats mix up larger ones, so subtract or divide in the model, or return floats"
        raise ModelError(f"output={output!r} needs whole numbers of at most 2**53, got {got}")
    return answer.astype(np.float64, copy=False)
