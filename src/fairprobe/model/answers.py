"""Answers: what a model returned, made sure of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from fairprobe.domain.rules import is_missing, plain
from fairprobe.errors import ModelError, SettingError

Output = Literal["label", "score", "proba", "value"]
OUTPUTS: tuple[str, ...] = get_args(Output)


def checked_output(output: Any) -> str:
    """One of the kinds of output."""
    if output not in OUTPUTS:
        raise SettingError(f"output must be one of {', '.join(OUTPUTS)}; got {output!r}")
    return str(output)


Describe = Callable[[int], str]
"""Puts a row of the batch, by its number, into words."""


def checked_answer(raw: Any, n_rows: int, output: str, describe: Describe) -> NDArray[Any]:
    """The answer as an array with one row for each row asked, or a ModelError that names the first bad row."""
    answer = _as_array(raw)
    if answer.ndim == 2 and answer.shape[1] == 1:
        answer = answer[:, 0]
    _check_shape(answer, n_rows, output)
    if output == "label":
        bad = _missing(answer)
        rule = "a label for every row"
    else:
        answer = _as_numbers(answer, output, describe)
        bad = ~np.isfinite(answer)
        rule = "a finite number for every row"
    if bad is not None and bad.any():
        first = int(np.argmax(bad.reshape(n_rows, -1).any(axis=1)))
        raise ModelError(f"the model must give {rule}, got {answer[first]} for {describe(first)}")
    return answer


def _as_array(raw: Any) -> NDArray[Any]:
    try:
        return raw.to_numpy() if hasattr(raw, "to_numpy") else np.asarray(raw)
    except ValueError as error:
        raise ModelError(f"the model must give one answer a row, got {type(raw).__name__}: {error}") from None


def _check_shape(answer: NDArray[Any], n_rows: int, output: str) -> None:
    n_axes = {"label": (1,), "value": (1,), "score": (1, 2), "proba": (2,)}[output]
    if answer.ndim not in n_axes or len(answer) != n_rows:
        shape = f"({n_rows}, classes)" if output == "proba" else f"({n_rows},)"
        raise ModelError(f"the model must give output={output!r} of the shape {shape}, got {answer.shape}")


def _missing(labels: NDArray[Any]) -> NDArray[np.bool_] | None:
    if labels.dtype.kind == "f":
        return np.isnan(labels)
    if labels.dtype.kind == "O":
        return np.fromiter(map(is_missing, labels), dtype=bool, count=len(labels))
    return None


def _as_numbers(answer: NDArray[Any], output: str, describe: Describe) -> NDArray[np.float64]:
    if answer.dtype.kind in "fiub":
        return answer.astype(np.float64, copy=False)
    for row, value in enumerate(answer.reshape(len(answer), -1)[:, 0]):
        if isinstance(value, (str, bytes)) or not isinstance(value, (int, float, np.number)):
            got = f"got {plain(value)!r} for {describe(row)}"
            raise ModelError(f"output={output!r} needs numbers, {got}: use output='label'")
    return answer.astype(np.float64)
