"""Populations: who is asked about. Each gives batches of families, judged by the model, for others to count.

Nothing here says what is discriminatory: that is the oracle's. Nor who is compared with whom: `domain.families` knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Mask
from fairprobe.checks import nearest
from fairprobe.domain.checked import checked_domain
from fairprobe.domain.domain import Domain
from fairprobe.domain.families import FrameMembers
from fairprobe.errors import DataError, SettingError
from fairprobe.model.asking import Asker
from fairprobe.model.known import is_repeatable
from fairprobe.model.measuring import resolution_of
from fairprobe.oracle import Oracle

if TYPE_CHECKING:
    import pandas as pd

ROWS_A_CALL = 20_000
"""About as many rows as stay in a core's cache."""

FEW = 256
"""Rows that are enough to measure a model's rounding."""


@dataclass(frozen=True)
class Judged:
    """A batch of inputs with their twins: what the model said of each member, and which member each input is."""

    outputs: NDArray[Any]
    """By member, then input (then class)."""
    present: Mask | None
    """Which members are compared and allowed; None if all are."""
    own: Codes
    """The sensitive parameters' codes of each input itself; -1 where its value is none of those compared."""
    counted: Mask | None = None
    """Which inputs are of the population; None if all are."""
    members: Codes | None = None
    """The sensitive codes of each member, -1 for a value that is the input's own; None for the combinations."""
    second: NDArray[Any] | None = None
    """The outputs once more, where hits were asked about again; None for a model that is known to repeat itself."""
    n_contradicted: int = 0
    """Hits that got other outputs the second time, by more than rounding."""
    contradicted: Any = None
    """The rows that did, as codes or as a frame."""


def chunk(oracle: Oracle, n_wanted: int) -> int:
    """How many inputs to judge in one call."""
    return max(1, min(n_wanted, ROWS_A_CALL // len(oracle.families)))


def judged(oracle: Oracle, codes: Codes, *, twice: bool = False) -> Judged:
    """Inputs of the oracle's domain; with `twice`, those that are hits are asked about again."""
    judgement = oracle.judge(codes)
    own = codes[:, list(oracle.domain.sensitive_columns)]
    batch = Judged(judgement.outputs, judgement.present, own)
    if not twice:
        return batch

    def ask(rows: Codes) -> NDArray[Any]:
        return oracle.judge(judgement.take(rows, codes.dtype).members(oracle.families)).outputs

    def rows_of(mask: Mask) -> Codes:
        return oracle.families.members(codes)[mask.ravel()]

    return _asked_again(oracle, batch, ask, rows_of)


def _asked_again(
    oracle: Oracle,
    batch: Judged,
    ask: Callable[[Codes], NDArray[Any]],
    rows_of: Callable[[Mask], Any],
) -> Judged:
    """Ask about the hits once more: by whatever members they are hits."""
    rows = np.flatnonzero(oracle.are_discriminatory(batch.outputs, batch.present))
    if not len(rows):
        return batch
    second = batch.outputs.copy()
    second[:, rows] = ask(rows)
    other = oracle.differ(batch.outputs, second, batch.present)
    n = int(other.any(axis=0).sum())
    return replace(batch, second=second, n_contradicted=n, contradicted=rows_of(other) if n else None)


class Rows:
    """Real rows, each judged as it is with only what is compared replaced."""

    def __init__(self, domain: Domain, frame: Any) -> None:
        self._domain = domain
        rows = domain.as_frame(frame)
        if not len(rows):
            raise DataError("a population of rows must have one row at least, got an empty frame")
        absent = [name for name in domain.names if name not in rows.columns]
        if absent:
            raise DataError(f"the rows must have a column for every parameter, got none for {', '.join(absent)}")
        unknown = np.zeros(len(rows), dtype=bool)
        for name in domain.sensitive:
            if not domain[name].missing:
                unknown |= rows[name].isna().to_numpy()
        self.n_left_out = int(unknown.sum())
        if self.n_left_out == len(rows):
            raise DataError(
                f"a row must have a known value of {', '.join(domain.sensitive)}, got none among {len(rows):,} rows"
            )
        self.frame = domain.typed(rows[~unknown])

    def __len__(self) -> int:
        return len(self.frame)

    def some_members(self) -> pd.DataFrame:
        """What the model is asked about the first few rows."""
        return self._domain.families.of_frame(self.frame.iloc[:FEW]).frame

    def families(self, oracle: Oracle, sets: Sequence[Sequence[str]], *, twice: bool) -> Iterator[Judged]:
        """All rows, in order, with the members that some sets of sensitive parameters need."""
        size = chunk(oracle, len(self))
        for first in range(0, len(self), size):
            members = self._domain.families.of_frame(self.frame.iloc[first : first + size], sets)
            yield _judged_rows(oracle, members, twice=twice)


def _judged_rows(oracle: Oracle, members: FrameMembers, *, twice: bool) -> Judged:
    present = members.present

    def ask(rows: Codes | slice) -> NDArray[Any]:
        some = np.zeros_like(present)
        some[:, rows] = present[:, rows]
        answers = oracle.asker.ask_frame(members.joined(some)) if some.any() else np.zeros(0)
        outputs = np.zeros((*present.shape, *answers.shape[1:]), dtype=answers.dtype)
        outputs[some] = answers
        return outputs[:, rows]

    batch = Judged(ask(slice(None)), present, members.own, members=members.members)
    return _asked_again(oracle, batch, ask, members.joined) if twice else batch


@dataclass(frozen=True)
class Asking:
    """Whom to ask, and how."""

    model: Any
    domain: Domain
    threshold: float | None
    output: str
    batch: str | None


class Target:
    """The population that a call is about, and the oracle that judges it."""

    def __init__(self, asking: Asking, population: Any) -> None:
        self.domain = checked_domain(asking.domain)
        self.rows: Rows | None = None
        if not isinstance(population, str):
            self.name = "rows"
            self.rows = Rows(self.domain, population)
        elif population in ("domain", "valid"):
            self.name = population
        else:
            near = nearest(population, ("domain", "valid"))
            raise SettingError.about(
                "population", f"must be 'domain', 'valid' or a frame of rows, got {population!r}{near}"
            )
        if self.name == "domain" and self.domain.constraints:
            self.domain = self.domain.without_constraints()
        asker = Asker(asking.model, self.domain, output=asking.output, batch=asking.batch)
        self.twice = not is_repeatable(asking.model)
        """Whether hits must be asked about again: the model is not known to repeat itself."""
        rows = None if self.rows is None else self.rows.some_members()
        self.oracle = Oracle(asker, asking.threshold, resolution_of(asker, rows=rows))

    @property
    def n_left_out(self) -> int:
        """Rows whose sensitive value is unknown."""
        return 0 if self.rows is None else self.rows.n_left_out

    def sampled(self, n: int, seed: int | None) -> Iterator[Judged]:
        """`n` inputs drawn uniformly, constraints respected; the same ones for the same seed."""
        rng, done = np.random.default_rng(np.random.SeedSequence(seed)), 0
        while done < n:
            batch = judged(self.oracle, self.domain.sample_codes(chunk(self.oracle, n - done), rng), twice=self.twice)
            yield batch
            done += len(batch.own)

    def enumerated(self) -> Iterator[Judged]:
        """Every input of the domain that the constraints allow: family by family, as each of its members."""
        for codes in self.oracle.families.enumerate(chunk(self.oracle, ROWS_A_CALL)):
            batch = judged(self.oracle, codes, twice=self.twice)
            for position, combination in enumerate(self.oracle.families.combinations):
                counted = None if batch.present is None else batch.present[position]
                yield replace(batch, own=np.broadcast_to(combination, batch.own.shape), counted=counted)
                batch = replace(batch, n_contradicted=0, contradicted=None)  # counted once

    def families(self, n: int, seed: int | None, sets: Sequence[Sequence[str]] | None = None) -> Iterator[Judged]:
        """All rows, or so many inputs drawn uniformly."""
        if self.rows is None:
            return self.sampled(n, seed)
        return self.rows.families(self.oracle, sets or [self.domain.sensitive], twice=self.twice)
