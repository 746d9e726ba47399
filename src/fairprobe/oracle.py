"""Is this input discriminatory? The only place that knows.

An input is discriminatory if its gap, the largest difference between the model's outputs over it and its twins, is
above the threshold. Twins that a constraint forbids are no inputs: they are not asked about and do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.domain.domain import Domain
from fairprobe.domain.parameters import Codes
from fairprobe.domain.rules import plain
from fairprobe.errors import SettingError
from fairprobe.model.answers import checked_output
from fairprobe.model.asking import Asker

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Judgement:
    """A batch of inputs, what the model said of each family, and which are discriminatory."""

    codes: Codes
    outputs: NDArray[Any]
    """By combination, then input (then class, for probabilities)."""
    present: Mask | None
    """Which members of the families exist, by combination, then input; None if all do."""
    gaps: NDArray[np.float64]
    hits: Mask

    def take(self, rows: NDArray[np.int64], dtype: np.dtype[Any]) -> Judgement:
        """Some of the inputs, their codes in a dtype that may be smaller."""
        present = None if self.present is None else self.present.take(rows, axis=1)
        return Judgement(
            self.codes.take(rows, axis=0).astype(dtype, copy=False),
            self.outputs.take(rows, axis=1),
            present,
            self.gaps.take(rows),
            self.hits.take(rows),
        )

    @classmethod
    def join(cls, parts: Sequence[Judgement]) -> Judgement:
        """Batches put together, in order."""
        if len(parts) == 1:
            return parts[0]
        present = [part.present for part in parts if part.present is not None]
        return cls(
            np.concatenate([part.codes for part in parts]),
            np.concatenate([part.outputs for part in parts], axis=1),
            np.concatenate(present, axis=1) if present else None,
            np.concatenate([part.gaps for part in parts]),
            np.concatenate([part.hits for part in parts]),
        )


@dataclass(frozen=True)
class Ends:
    """The two members at the ends of the largest gap of each case."""

    case: Codes
    twin: Codes
    gaps: NDArray[np.float64]
    outputs: NDArray[Any]
    """Two columns: the case's output and its twin's."""
    classes: NDArray[np.int64] | None
    """Which class's probability has the largest gap, where there are classes."""


class Oracle:
    """Judges batches of inputs by one model call each."""

    def __init__(self, asker: Asker, threshold: float | None = None) -> None:
        self.asker = asker
        self.domain: Domain = asker.domain
        self.threshold = checked_threshold(threshold, asker.output)
        self._is_label = asker.output == "label"
        self.disagreement: str | None = None
        """How what stands in for the model was found to be wrong."""

    def judge(self, codes: Codes) -> Judgement:
        """Compute the gap of each input: all twins in one model call."""
        if self.domain.constraints:
            return self._judge_present(codes)
        outputs = self.asker.ask_families(codes)
        return self._judgement(codes, outputs, None)

    def _judge_present(self, codes: Codes) -> Judgement:
        members = self.domain.families(codes)
        present = self.domain.allows(members)
        answers = self.asker.ask(members[present]) if present.any() else np.zeros(0)
        outputs = np.zeros((len(members), *answers.shape[1:]), dtype=answers.dtype)
        outputs[present] = answers
        shape = (len(self.domain.combinations), len(codes))
        return self._judgement(codes, outputs.reshape(*shape, *answers.shape[1:]), present.reshape(shape))

    def _judgement(self, codes: Codes, outputs: NDArray[Any], present: Mask | None) -> Judgement:
        gaps = self._gaps(outputs, present)
        return Judgement(codes, outputs, present, gaps, gaps > self.threshold)

    def _gaps(self, outputs: NDArray[Any], present: Mask | None) -> NDArray[np.float64]:
        return _label_gaps(outputs, present) if self._is_label else _spans(outputs, present).max(axis=-1)

    def are_discriminatory(self, outputs: NDArray[Any], present: Mask | None = None) -> Mask:
        """Which families are, by the outputs of their members (rows) that are present."""
        return self._gaps(outputs, present) > self.threshold

    def outcomes(self, outputs: NDArray[Any], present: Mask) -> dict[Any, Mask]:
        """Which members get which outcome: a label, the likeliest class by its position, or the end of the scores."""
        if self._is_label:
            seen = {plain(label) for label in outputs[present].tolist()}
            return {label: (outputs == label) & present for label in seen}
        if outputs.ndim == 3:
            likeliest = outputs.argmax(axis=2)
            return {c: (likeliest == c) & present for c in range(outputs.shape[2])}
        low, high = np.where(present, outputs, np.inf), np.where(present, outputs, -np.inf)
        return {"lowest": low == low.min(axis=0), "highest": high == high.max(axis=0)}

    @property
    def proposes(self) -> bool:
        """Whether hits are only proposed, and cases must be confirmed."""
        return False

    def confirm(self, judgement: Judgement) -> Judgement:
        """The model's own judgement of what was proposed: here it is that already."""
        return judgement

    def costs(self, codes: Codes) -> NDArray[np.int64]:
        """How many queries judging each input takes."""
        n = len(self.domain.combinations)
        if not self.domain.constraints:
            return np.full(len(codes), n)
        return self.domain.allows(self.domain.families(codes)).reshape(n, -1).sum(axis=0)

    def ends(self, judgement: Judgement) -> Ends:
        """The two members that show each case: the sampled input if it is an end, else the first in domain order."""
        codes, outputs, present = judgement.codes, judgement.outputs, judgement.present
        own = self._own_combination(codes)
        columns = np.arange(len(codes))
        classes = None
        if self._is_label:
            case, twin = own, _first_other(outputs, own, present)
        else:
            if outputs.ndim == 3:
                classes = _spans(outputs, present).argmax(axis=1)
                outputs = outputs[:, columns, classes]
            case, twin = _extremes(outputs, own, present)
        # A take of flat places: indexing by two arrays takes ten times as long.
        pair = outputs.ravel().take(np.column_stack([case, twin]) * len(codes) + columns[:, None])
        shown = codes if case is own else self._member(codes, case)
        return Ends(shown, self._member(codes, twin), judgement.gaps, pair, classes)

    def _own_combination(self, codes: Codes) -> Codes:
        """Which combination each input has itself."""
        own = np.zeros(len(codes), dtype=np.int64)
        for column in self.domain.sensitive_columns:
            own = own * self.domain.levels[column] + codes[:, column]
        return own

    def _member(self, codes: Codes, combination: Codes) -> Codes:
        member = codes.copy()
        for column, values in zip(self.domain.sensitive_columns, self.domain.combinations.T, strict=True):
            member[:, column] = values.take(combination)
        return member


def checked_threshold(threshold: float | None, output: str) -> float:
    """The threshold, made sure of; only labels have one by default."""
    checked_output(output)
    if threshold is None:
        if output == "label":
            return 0.0
        raise SettingError(f"output={output!r} needs a threshold: the gap above which an input is discriminatory")
    try:
        number = float(threshold)
    except (TypeError, ValueError):
        number = np.nan
    if not 0 <= number < np.inf:
        raise SettingError(f"threshold must be a finite number of at least 0, got {threshold!r}")
    if output == "label" and number >= 1:
        raise SettingError(f"threshold must be below 1 for labels, whose gap is 0 or 1, got {threshold!r}")
    return number


def _label_gaps(outputs: NDArray[Any], present: Mask | None) -> NDArray[np.float64]:
    """0 where all labels of a family are the same, else 1: labels are names, not numbers."""
    if present is not None:
        first = present.argmax(axis=0)
        reference = outputs[first, np.arange(outputs.shape[1])]
        return ((outputs != reference) & present).any(axis=0).astype(np.float64)
    if len(outputs) == 2:
        return (outputs[0] != outputs[1]).astype(np.float64)
    return (outputs[1:] != outputs[0]).any(axis=0).astype(np.float64)


def _spans(outputs: NDArray[Any], present: Mask | None) -> NDArray[np.float64]:
    """Max - min over each family, by input and class."""
    by_class = outputs.reshape(*outputs.shape[:2], -1)
    if present is None:
        return np.asarray(by_class.max(axis=0) - by_class.min(axis=0))
    exists = present[:, :, None]
    high = by_class.max(axis=0, initial=-np.inf, where=exists)
    low = by_class.min(axis=0, initial=np.inf, where=exists)
    return np.asarray(high - low)


def _first_other(labels: NDArray[Any], own: Codes, present: Mask | None) -> Codes:
    """The first combination, in domain order, whose label is not the input's own: each input is a case."""
    if len(labels) == 2:
        return 1 - own
    other = labels != labels[own, np.arange(len(own))]
    return (other if present is None else other & present).argmax(axis=0)


def _extremes(outputs: NDArray[np.float64], own: Codes, present: Mask | None) -> tuple[Codes, Codes]:
    """The ends of the largest gap: the input's own combination if it is one, else the first; and the other end."""
    columns = np.arange(len(own))
    low = np.where(present, outputs, np.inf) if present is not None else outputs
    high = np.where(present, outputs, -np.inf) if present is not None else outputs
    lowest, highest = low.argmin(axis=0), high.argmax(axis=0)
    mine = outputs[own, columns]
    is_low, is_high = mine == low[lowest, columns], mine == high[highest, columns]
    first, last = np.minimum(lowest, highest), np.maximum(lowest, highest)
    case = np.where(is_low | is_high, own, first)
    twin = np.where(is_low, highest, np.where(is_high, lowest, last))
    return case, twin
