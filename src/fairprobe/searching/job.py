"""The job of a search, which its shards (parts) share, the cases found, and the trace that each shard returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Mask
from fairprobe.blocks import Remark
from fairprobe.domain.density import Density
from fairprobe.domain.domain import Domain
from fairprobe.errors import FairprobeError
from fairprobe.model.asking import Asker
from fairprobe.oracle import Ends
from fairprobe.searching.limits import SearchSettings, StopReason
from fairprobe.searching.strategy import Region, Strategy
from fairprobe.standins import StandIn, compile_stand_in
from fairprobe.store import Coverage, Distinct


@dataclass(frozen=True)
class Job:
    """All data that the result of a shard (part) of a search depends on, except the shard's number and quota."""

    model: Any
    domain: Domain
    settings: SearchSettings
    strategy: type[Strategy]
    """Class of the strategy. A name would not be enough, as other processes do not have this one's registry."""
    output: str
    batch: str | None
    threshold: float
    seed: int
    start: Codes | None = None
    accelerate: bool = False
    is_repeatable: bool = False
    """True if the model is known to repeat its answers."""
    resolution: float = 0.0
    """Smallest excess of a gap over the threshold that counts: twice the rounding error of the model's outputs."""
    density: Density | None = None
    min_plausibility: float = 0.0
    model_id: str | None = None

    @cached_property
    def region(self) -> Domain:
        """The part of the domain that the search may visit: all of it or, with a density, the plausible inputs."""
        if self.density is None:
            return self.domain
        return Region.of(self.domain, self.density.within(self.domain), self.density.floor(self.min_plausibility))

    @property
    def costs_vary(self) -> bool:
        """True if some inputs take more queries than others: by family size, by hints, or by repeated questions."""
        return not self.domain.families.is_complete or self.strategy.wants_scores or not self.is_repeatable

    def asker(self) -> Asker:
        """Return a new asker (it sends codes as rows to the model), with its count of queries at zero."""
        return Asker(self.model, self.domain, output=self.output, batch=self.batch)

    @cached_property
    def stand_in(self) -> StandIn | None:
        """The stand-in for the model (faster, with nearly the same outputs), or None; compiled once in each process."""
        return compile_stand_in(self.model, self.domain, self.output, self.batch)


@dataclass(frozen=True)
class Cases(Ends):
    """Cases in the order of their discovery, each with the two members of its family whose outputs differ most."""

    offsets: Codes
    """For each case, the number of inputs that the shard had judged before it."""

    def __len__(self) -> int:
        return len(self.gaps)

    @classmethod
    def join(cls, parts: Sequence[Cases]) -> Cases:
        """Return the cases of all parts as one object, in order; parts without cases do not change the dtypes."""
        parts = [part for part in parts if len(part)] or parts[:1]
        columns = zip(*(vars(part).values() for part in parts), strict=True)
        joined: list[Any] = [None if column[0] is None else np.concatenate(column) for column in columns]
        return cls(*joined)

    @classmethod
    def none(cls, domain: Domain, outputs: NDArray[Any] | None = None) -> Cases:
        """Return an object without cases, with arrays of the dtypes that a batch with these outputs would give."""
        codes = np.empty((0, len(domain.levels)), dtype=np.int64)
        nothing = np.empty(0, dtype=np.int64)
        dtype = np.float64 if outputs is None else outputs.dtype
        classes = nothing if outputs is not None and outputs.ndim == 3 else None
        return cls(codes, codes, np.empty(0), np.empty((0, 2), dtype=dtype), classes, nothing, nothing)

    def take(self, rows: Any) -> Cases:
        """Return the cases at the given positions, or those for which the given boolean mask is True."""
        taken: list[Any] = [None if column is None else column[rows] for column in vars(self).values()]
        return Cases(*taken)


@dataclass(frozen=True)
class Known:
    """Findings of earlier shards: their cases, the families judged, and the inputs since the last new case.

    Only a shard that runs after the earlier ones gets them, and uses them only to stop in time.
    """

    distinct: Distinct
    coverage: Coverage | None
    n_barren: int
    """Number of inputs that the earlier shards judged since the last new case."""


@dataclass(frozen=True)
class Trace:
    """The record of one shard of a search: what it judged, sent to the model and found, input by input.

    The offset of an input is the number of inputs judged before it in the shard. A hit is an input judged
    discriminatory.
    """

    shard: int
    n_judged: int
    batch_ends: Codes
    """Number of inputs that the shard had judged by the end of each batch."""
    batch_queries: Codes
    """Number of rows that the shard had sent to the model by the end of each batch, without those to confirm hits."""
    confirmed: Codes
    """Offsets of the hits that the model was asked about again, in order."""
    confirmed_rows: Codes
    """Numbers of rows sent to confirm hits, cumulative: entry i is for the first i hits of `confirmed`, from 0 on."""
    n_sent: int
    """Number of rows that the shard sent to the model in all, including those of a failed batch."""
    is_new: Mask
    """Boolean mask by judged input: True for the first input of its family in the shard."""
    new_keys: Codes | None
    """Keys (numbers of families) of the inputs that are first of their family; None if the domain is too large to be
    judged completely."""
    case_keys: Codes
    not_comparable: Codes
    """Offsets of the inputs that are not comparable, because fewer than two members are allowed and differ."""
    cases: Cases
    """The cases that the shard found, one for each family."""
    distinct: Distinct | None
    """Keys of the cases of earlier shards and of this one; None if the shard did not know the earlier ones. If it did,
    `cases` holds new ones only."""
    varies_at: int | None
    """Offset of the first batch by whose end the model had given two different outputs; None if there is none."""
    unconfirmed: Codes
    """Offsets of the hits that could not be confirmed before the shard ended."""
    asked_once: Codes
    """Offsets of the hits that count as cases although the model could not be asked about them again."""
    contradicted: Codes
    """Offsets of the hits that got other outputs when the model was asked again, in order."""
    contradicted_rows: Codes
    """Up to `ROWS_KEPT` of the rows, as codes, whose output differed when the model was asked again."""
    remarks: tuple[Remark, ...] = ()
    ended: StopReason | None = None
    """Reason why the shard ended early (a limit on queries or time, an interruption or a failure); otherwise None."""
    failure: FairprobeError | None = None

    def n_queries(self, n_judged: int) -> int:
        """Return the number of rows sent to judge the first `n_judged` inputs of the shard and to confirm their hits.

        The last batch counts as a whole, because a batch is sent whole.
        """
        if not n_judged:
            return 0
        batch = int(np.searchsorted(self.batch_ends, n_judged))
        n_confirmed = int(np.searchsorted(self.confirmed, self.batch_ends[batch]))
        return int(self.batch_queries[batch] + self.confirmed_rows[n_confirmed])
