"""The oracle: the only code that decides whether an input is discriminatory.

An input is discriminatory if its gap, the largest difference between the model's outputs over it and its twins, is
above the threshold. `domain.families` decides who its twins are.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.blocks import Remark
from fairprobe.checks import is_number
from fairprobe.domain.domain import Domain
from fairprobe.domain.families import Families, Members, comparable, compared
from fairprobe.domain.values import plain
from fairprobe.errors import SettingError
from fairprobe.model.asking import Answering, Asker
from fairprobe.model.known import is_repeatable
from fairprobe.model.measuring import tolerance
from fairprobe.model.outputs import checked_output

LAST_BITS = 2.0
"""Largest difference between a gap and the threshold that rounding explains, in units of the outputs' floating-point
precision. Derived: each of the two outputs is off by up to half a unit."""

ROWS_A_CALL = 20_000
"""Largest number of rows sent to a model in one call. Chosen: about as many as fit into the cache of a processor
core."""

MOST_SETS = 62
"""Largest number of sets of sensitive parameters that are tested for each case. Derived: each set has one bit in a
64-bit integer."""


@dataclass(frozen=True)
class Judgement:
    """A batch of judged inputs: the model's outputs for them and their twins, the gaps, and the hits."""

    codes: Codes
    """The inputs, as codes: level numbers, one row per input, one column per parameter."""
    outputs: NDArray[Any]
    """Model outputs, indexed by combination of sensitive values, then input, then class if they are probabilities."""
    present: Mask | None
    """Boolean mask, indexed by combination of sensitive values, then input: True where this family member exists. None
    if all members exist."""
    gaps: Floats
    """Largest difference between the outputs of the input and its twins, by input."""
    hits: Mask
    """Boolean mask of the discriminatory inputs: the gap is above the threshold."""
    kinds: Codes | None = None
    """Integers, indexed by combination of sensitive values, then input. Family members with equal integers are the same
    row to the model. None if all members differ."""
    contradicted: Mask | None = None
    """Boolean mask, indexed by combination of sensitive values, then input: True where the model gave another output
    when asked again. None if it was not asked again."""

    @property
    def exist(self) -> Mask:
        """Boolean mask by combination of sensitive values, then input: True where the input or its twin exists."""
        return np.ones(self.outputs.shape[:2], dtype=bool) if self.present is None else self.present

    def members(self, families: Families) -> Members:
        """Return the members of the inputs' families (each input and its twins) that the model was asked about."""
        members = families.of(self.codes)
        members.__dict__["present"] = self.present
        return members

    @property
    def unsure(self) -> Mask:
        """Boolean mask of the inputs for which the model, asked again, gave them or a twin another output."""
        return np.asarray(np.zeros_like(self.hits) if self.contradicted is None else self.contradicted.any(axis=0))

    @property
    def comparable(self) -> Mask:
        """Boolean mask of the comparable inputs: they and their twins are at least two different rows to the model."""
        return comparable(self.present, len(self.codes), self.kinds)

    def take(self, rows: Codes, dtype: np.dtype[Any] | None = None) -> Judgement:
        """Return the judgement (codes, outputs, gaps, hits) of some of the inputs, by their row numbers.

        `contradicted` is left out. `dtype` may give the inputs' codes a smaller dtype.
        """
        some: dict[str, Any] = dict.fromkeys(_AXES)
        for name, array in vars(self).items():
            if name in _AXES and array is not None:
                some[name] = array.take(rows, axis=_AXES[name])
        some["codes"] = some["codes"].astype(dtype or self.codes.dtype, copy=False)
        return Judgement(**some)

    @classmethod
    def join(cls, parts: Sequence[Judgement]) -> Judgement:
        """Return the judgements of several batches as one, in the order given. `contradicted` is left out."""
        if len(parts) == 1:
            return parts[0]
        joined: dict[str, Any] = dict.fromkeys(_AXES)
        for name, axis in _AXES.items():
            if getattr(parts[0], name) is not None:
                joined[name] = np.concatenate([getattr(part, name) for part in parts], axis=axis)
        return cls(**joined)


_AXES = {"codes": 0, "outputs": 1, "present": 1, "gaps": 0, "hits": 0, "kinds": 1}
"""The axis of the inputs in each field of a `Judgement` that belongs to its inputs one by one."""


@dataclass(frozen=True)
class Ends:
    """The two family members at the ends of the largest gap, for each case (discriminatory family)."""

    case: Codes
    twin: Codes
    gaps: Floats
    outputs: NDArray[Any]
    """Outputs of the two members: one row per case; the columns are the case and its twin."""
    classes: Codes | None
    """Position of the class whose probability has the largest gap, by case; None unless the outputs are
    probabilities."""
    sets: Codes
    """The smallest sets of sensitive parameters whose change alone gives a case, by case: bit i stands for the set
    `sets_of(n)[i]`."""


class Oracle:
    """Decides which inputs of a batch are discriminatory, with one model call per batch.

    A hit is an input that is discriminatory by the model's first answer. With `asks_twice`, the model is asked about
    each hit again, and only inputs that are discriminatory both times count.
    """

    def __init__(
        self, asker: Answering, threshold: float | None = None, resolution: float = 0.0, *, asks_twice: bool = False
    ) -> None:
        self.asker = asker
        self.domain: Domain = asker.domain
        self.families: Families = asker.domain.families
        self.threshold = checked_threshold(threshold, asker.output)
        self.remarks = tuple(remarks_on_threshold(threshold, asker.output))
        """Remarks on the question itself, such as a threshold that changes nothing."""
        self.resolution = resolution
        """Largest excess of a gap over the threshold that does not count, because rounding may cause it."""
        self.is_label = asker.output == "label"
        self.asks_twice = asks_twice
        self.n_contradicted = 0
        """Number of inputs for which the model gave another output when asked again."""

    @classmethod
    def careful(cls, asker: Asker, threshold: float | None, resolution: float = 0.0) -> Oracle:
        """Return an oracle, which judges inputs, that asks about each hit twice unless the model repeats itself."""
        return cls(asker, threshold, resolution, asks_twice=not is_repeatable(asker.model))

    @property
    def health(self) -> tuple[Remark, ...]:
        """A tuple with the remark that the model contradicted itself when asked again; empty if it did not."""
        if not self.n_contradicted:
            return ()
        text = (
            f"the model answered {self.n_contradicted:,} inputs otherwise when asked again: what is a case only now "
            "and then is none here, nothing tells if cases hold or ended, and all figures are less sure than they say"
        )
        return (Remark("stochastic-model", text),)

    def by(self, asker: Answering) -> Oracle:
        """Return an oracle that judges by the answers of another asker, with this threshold; it asks nothing twice."""
        return Oracle(asker, self.threshold, self.resolution)

    def batch_size(self, n_inputs: int) -> int:
        """Return the number of inputs to judge in one model call, at least 1 and at most `n_inputs`."""
        return max(1, min(n_inputs, ROWS_A_CALL // len(self.families)))

    def judge(self, inputs: Codes | Members) -> Judgement:
        """Return the judgement of a batch of inputs: the outputs, the gaps, and which inputs are discriminatory.

        One model call asks about the inputs and all their existing twins.

        With `asks_twice`, a second call asks about the hits again.
        """
        members = inputs if isinstance(inputs, Members) else self.families.of(inputs)
        outputs = self.asker.ask_members(members)
        gaps = self._gaps(outputs, members.present)
        first = Judgement(members.codes, outputs, members.present, gaps, self._exceed(gaps), members.kinds)
        rows = np.flatnonzero(first.hits) if self.asks_twice else np.empty(0, dtype=np.int64)
        if len(rows):
            second = self.again(first.take(rows, first.codes.dtype))
            self.n_contradicted += int(second.unsure.sum())
            first.hits[rows] = second.hits
        return first

    def judge_batches(self, codes: Codes) -> Judgement:
        """Return the judgement of any number of inputs: outputs, gaps, and which are discriminatory.

        The inputs are sent to the model in batches. Without inputs, nothing is sent, because many models refuse an
        empty batch.
        """
        if not len(codes):
            none = np.zeros((len(self.families), 0), dtype=bool)
            present = None if self.families.is_complete else none
            return Judgement(codes, none.astype(float), present, np.zeros(0), none[0])
        size = self.batch_size(len(codes))
        with self.asker.quiet():
            return Judgement.join([self.judge(codes[i : i + size]) for i in range(0, len(codes), size)])

    def _exceed(self, gaps: Floats) -> Mask:
        return gaps > self.threshold + self.resolution

    def _gaps(self, outputs: NDArray[Any], present: Mask | None) -> Floats:
        return _label_gaps(outputs, present) if self.is_label else _spans(outputs, present).max(axis=-1)

    def again(self, judgement: Judgement) -> Judgement:
        """Ask the model again about judged inputs; return a judgement whose hits are discriminatory both times.

        Family members whose outputs differ from the first outputs by more than rounding are marked in `contradicted`.
        """
        members, outputs, present = judgement.members(self.families), judgement.outputs, judgement.present
        every = np.arange(len(members))
        second, contradicted = self.second_outputs(outputs, present, every, lambda _: self.asker.ask_members(members))
        hits = judgement.hits & self.are_discriminatory(second, present)
        return replace(judgement, hits=hits, contradicted=contradicted)

    def judge_anew(self, codes: Codes) -> Judgement:
        """Return the judgement of inputs by new answers, not cached ones; with `asks_twice`, each is judged twice.

        Hits are then inputs that are discriminatory both times. `contradicted` marks family members whose second output
        differs, and all members of inputs that are hits only once.
        """
        once = self.by(self.asker)
        with self.asker.afresh():
            first = once.judge_batches(codes)
            if not self.asks_twice:
                return first
            second = once.judge_batches(codes)
        contradicted = self.differ(first.outputs, second.outputs, first.present)
        contradicted |= (first.hits != second.hits) & first.exist
        self.n_contradicted += int(contradicted.any(axis=0).sum())
        return replace(first, hits=first.hits & second.hits, contradicted=contradicted)

    def second_outputs(
        self, first: NDArray[Any], present: Mask | None, rows: Codes, ask: Callable[[Codes], NDArray[Any]]
    ) -> tuple[NDArray[Any], Mask]:
        """Ask again about the families of some inputs, without cached answers; `ask` maps input numbers to outputs.

        Returns two arrays, indexed by combination of sensitive values, then input. The first has the new outputs, or
        the first outputs for inputs not asked again. The second is a mask of outputs that differ by more than rounding.
        """
        second = first.copy()
        with self.asker.afresh():
            second[:, rows] = ask(rows)
        return second, self.differ(first, second, present)

    def differ(self, first: NDArray[Any], second: NDArray[Any], present: Mask | None) -> Mask:
        """Return a mask of the inputs and twins for which two answers of the model differ by more than rounding.

        It is indexed by combination of sensitive values, then input.
        """
        apart = first != second if self.is_label else np.abs(first - second) > tolerance(first, self.resolution)
        other = np.asarray(apart if apart.ndim == 2 else apart.any(axis=2))
        return other if present is None else other & present

    def are_discriminatory(self, outputs: NDArray[Any], present: Mask | None = None) -> Mask:
        """Return a mask of the discriminatory inputs, given the model's outputs for them and their twins."""
        return self._exceed(self._gaps(outputs, present))

    def are_at_threshold(self, outputs: NDArray[Any], present: Mask | None = None) -> Mask:
        """Return a mask of the inputs whose gap differs from the threshold by no more than rounding.

        For example, in floating point 1.1 - 1.0 > 0.1, but 0.3 - 0.2 < 0.1.
        """
        apart = np.abs(self._gaps(outputs, present) - self.threshold)
        sizes = np.abs(outputs).reshape(*outputs.shape[:2], -1).max(axis=(0, 2))
        return np.asarray((apart > 0) & (apart <= LAST_BITS * np.finfo(np.float64).eps * sizes))

    def outcomes(self, outputs: NDArray[Any], present: Mask) -> dict[Any, Mask]:
        """Return, for each outcome, a mask by combination of sensitive values, then input: True where it occurs.

        An outcome is a label, the position of the likeliest class, or "lowest" or "highest" for other numbers. More
        than one member of a family may have an outcome.
        """
        if self.is_label:
            import pandas as pd

            seen = {plain(label) for label in pd.unique(outputs[present])}
            return {label: (outputs == label) & present for label in seen}
        if outputs.ndim == 3:
            likeliest = outputs.argmax(axis=2)
            return {c: (likeliest == c) & present for c in range(outputs.shape[2])}
        low, high = np.where(present, outputs, np.inf), np.where(present, outputs, -np.inf)
        return {"lowest": low == low.min(axis=0), "highest": high == high.max(axis=0)}

    def other_end(self, outputs: NDArray[Any], present: Mask, own: Codes) -> Codes:
        """Return, for each input, the number of the twin whose output differs most from the output of member `own`.

        For labels, this is the first twin with another label. Members are numbered by combination of sensitive values.
        """
        if self.is_label:
            return _first_other(outputs, own, present, may_be_alone=False)
        if outputs.ndim == 3:
            outputs = outputs[:, np.arange(len(own)), _spans(outputs, present).argmax(axis=1)]
        mine = outputs[own, np.arange(len(own))]
        return np.where(present, np.abs(outputs - mine), -1.0).argmax(axis=0)

    def ends(self, judgement: Judgement) -> Ends:
        """Return the two rows to show for each case: the family members at the ends of its largest gap.

        The first is the sampled input if it is one of the two, otherwise the first in domain order.
        """
        codes, outputs, present = judgement.codes, judgement.outputs, judgement.present
        own = self.families.place(codes)
        columns = np.arange(len(codes))
        classes = _spans(outputs, present).argmax(axis=1) if outputs.ndim == 3 else None
        if classes is not None:
            outputs = outputs[:, columns, classes]
        case, twin = (own, _first_other(outputs, own, present)) if self.is_label else _extremes(outputs, own, present)
        # A take of flat places: indexing by two arrays takes ten times as long.
        pair = outputs.ravel().take(np.column_stack([case, twin]) * len(codes) + columns[:, None])
        shown = codes if case is own else self.families.member(codes, case)
        sets = self._smallest_sets(judgement.outputs, present, case)
        return Ends(shown, self.families.member(codes, twin), judgement.gaps, pair, classes, sets)

    def _smallest_sets(self, outputs: NDArray[Any], present: Mask | None, case: Codes) -> Codes:
        """Return the smallest sets of sensitive parameters whose change alone gives a case, as one integer per case.

        Bit i of the integer stands for the set `sets_of(n)[i]`.
        """
        combinations = self.families.combinations
        sets = sets_of(combinations.shape[1])
        if len(sets) == 1:
            return np.ones(len(case), dtype=np.int64)
        are_cases: list[Mask] = []
        bits = np.zeros(len(case), dtype=np.int64)
        for number, chosen in enumerate(sets):
            changed = [i in chosen for i in range(combinations.shape[1])]
            mask = compared(combinations, combinations[case], changed)
            are_cases.append(self.are_discriminatory(outputs, mask if present is None else mask & present))
            by_fewer = [cases for cases, each in zip(are_cases, sets, strict=False) if {*each} < {*chosen}]
            bits |= (are_cases[-1] & ~np.any(by_fewer, axis=0)).astype(np.int64) << number
        return bits


def sets_of(n: int) -> list[tuple[int, ...]]:
    """Return the non-empty sets of the positions 0 to n-1 of n sensitive parameters, smallest first.

    At most `MOST_SETS` are returned, because each has one bit in an integer.
    """
    every = [chosen for size in range(1, n + 1) for chosen in itertools.combinations(range(n), size)]
    return every[:MOST_SETS]


def checked_threshold(threshold: float | None, output: str) -> float:
    """Return the gap threshold as a float after checking it; for labels it is 0, otherwise None is refused."""
    checked_output(output)
    if threshold is None and output == "label":
        return 0.0
    if threshold is None:
        raise SettingError(f"output={output!r} needs a threshold: the gap above which an input is discriminatory")
    if not is_number(threshold) or threshold < 0:
        raise SettingError.about("threshold", f"must be a finite number of at least 0, got {threshold!r}")
    largest = {"label": "labels, whose gap is 0 or 1", "proba": "probabilities, whose gap is 1 at most"}
    if output in largest and threshold >= 1:
        raise SettingError.about("threshold", f"must be below 1 for {largest[output]}, got {threshold!r}")
    return 0.0 if output == "label" else float(threshold)


def remarks_on_threshold(threshold: float | None, output: str) -> Iterator[Remark]:
    """Yield a remark if a threshold above 0 is given for labels, for which it changes nothing."""
    if output == "label" and threshold:
        text = (
            f"a threshold of {threshold:g} changes nothing for labels, whose gap is 0 or 1: leave it out, or compare "
            "numbers by output='score', 'proba' or 'value'"
        )
        yield Remark("threshold-of-labels", text)


def _label_gaps(outputs: NDArray[Any], present: Mask | None) -> Floats:
    """Return the gap of each input's labels: 0 if all labels of its family are equal, otherwise 1."""
    if present is None:
        other = outputs[1:] != outputs[0]
        return (other[0] if len(other) == 1 else other.any(axis=0)).astype(np.float64)
    first = outputs[present.argmax(axis=0), np.arange(outputs.shape[1])]
    return ((outputs != first) & present).any(axis=0).astype(np.float64)


def _spans(outputs: NDArray[Any], present: Mask | None) -> Floats:
    """Return max - min of the outputs over each family, indexed by input, then class.

    A family without existing members gets -inf, which exceeds no threshold.
    """
    by_class = outputs.reshape(*outputs.shape[:2], -1)
    if present is None:
        return np.asarray(by_class.max(axis=0) - by_class.min(axis=0))
    where: dict[str, Any] = {"axis": 0, "where": present[:, :, None]}
    return np.asarray(by_class.max(initial=-np.inf, **where) - by_class.min(initial=np.inf, **where))


def _first_other(labels: NDArray[Any], own: Codes, present: Mask | None, *, may_be_alone: bool = True) -> Codes:
    """Return, by input, the number of the first combination of sensitive values with another label than `own` has."""
    if len(labels) == 2 and may_be_alone:
        return 1 - own
    other = labels != labels[own, np.arange(len(own))]
    return (other if present is None else other & present).argmax(axis=0)


def _extremes(outputs: Floats, own: Codes, present: Mask | None) -> tuple[Codes, Codes]:
    """Return two arrays by input: the numbers of the combinations of sensitive values at the ends of the largest gap.

    Only allowed combinations are considered. The first array has the input's own combination if it is one of the two,
    otherwise the first in domain order.
    """
    columns = np.arange(len(own))
    low = np.where(present, outputs, np.inf) if present is not None else outputs
    high = np.where(present, outputs, -np.inf) if present is not None else outputs
    lowest, highest = low.argmin(axis=0), high.argmax(axis=0)
    mine = outputs[own, columns]
    is_low, is_high = mine == low[lowest, columns], mine == high[highest, columns]
    case = np.where(is_low | is_high, own, np.minimum(lowest, highest))
    twin = np.where(is_low, highest, np.where(is_high, lowest, np.maximum(lowest, highest)))
    return case, twin
