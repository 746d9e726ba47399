"""The job that every shard of a search shares, and what one shard brings back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairprobe.arrays import Codes, Mask
from fairprobe.blocks import Remark
from fairprobe.domain.density import Density
from fairprobe.domain.domain import Domain
from fairprobe.errors import FairprobeError
from fairprobe.model.asking import Asker
from fairprobe.searching.region import Region
from fairprobe.searching.settings import SearchSettings, StopReason
from fairprobe.searching.strategy import Strategy
from fairprobe.standins import StandIn, compile_stand_in
from fairprobe.store import Cases, Coverage, Distinct


@dataclass(frozen=True)
class Job:
    """All that a shard is a pure function of, but for its number."""

    model: Any
    domain: Domain
    settings: SearchSettings
    strategy: type[Strategy]
    """The class, not its name: what was registered here is not known in another process."""
    output: str
    batch: str | None
    threshold: float
    seed: int
    start: Codes | None = None
    accelerate: bool = False
    n_threads: int = 1
    is_repeatable: bool = False
    """Whether the model is known to say the same whenever it is asked."""
    resolution: float = 0.0
    """How far apart the model's outputs for one row may be by rounding."""
    density: Density | None = None
    min_plausibility: float = 0.0
    model_id: str | None = None

    @cached_property
    def region(self) -> Domain:
        """Where inputs come from and walkers may go: the domain, or what the density says is plausible."""
        if self.density is None:
            return self.domain
        return Region.of(self.domain, self.density.within(self.domain), self.density.floor(self.min_plausibility))

    @property
    def costs_vary(self) -> bool:
        """Whether inputs differ in how many queries they take: families in size, hints on top, or cases asked again."""
        return not self.domain.families.is_complete or self.strategy.wants is not None or not self.is_repeatable

    def asker(self) -> Asker:
        """A fresh one, its count of queries at zero."""
        return Asker(self.model, self.domain, output=self.output, batch=self.batch, n_threads=self.n_threads)

    @cached_property
    def stand_in(self) -> StandIn | None:
        """What may stand in for the model; compiled once a process, and only if a shard asks for it."""
        return compile_stand_in(self.model, self.domain, self.output, self.batch)


@dataclass(frozen=True)
class Known:
    """What earlier shards found. Only a shard that runs after them has it, and only to stop in time."""

    distinct: Distinct
    coverage: Coverage | None
    n_barren: int
    """Inputs judged since the last new case."""


@dataclass(frozen=True)
class Trace:
    """What one shard did: inputs by their offset, the number judged before them in the shard."""

    shard: int
    n_judged: int
    batch_ends: Codes
    """How many inputs were judged by the end of each batch."""
    batch_queries: Codes
    """How many rows were sent by the end of each batch, confirmations aside."""
    confirmed: Codes
    """Offsets of the hits that the model was asked about again, in order."""
    confirmed_rows: Codes
    """The rows that the first 0, 1, 2, ... of these took."""
    n_sent: int
    """How many rows were sent in all, those of a batch that failed included."""
    is_new: Mask
    """By input judged, whether it is the first of its family in the shard."""
    new_keys: Codes | None
    """The keys of these, where the domain is so small that all of it may be judged."""
    case_keys: Codes
    not_comparable: Codes
    """Offsets of the inputs of whose family fewer than two members are compared and allowed."""
    cases: Cases
    """Distinct within the shard."""
    distinct: Distinct | None
    """The known cases and these, if the shard knew them: then all of these are new."""
    varies_at: int | None
    """Where the first batch begins by whose end the model had given two different outputs."""
    unconfirmed: Codes
    """Offsets of the hits that nobody was left to confirm."""
    asked_once: Codes
    """Offsets of the hits that count though the model could not be asked about them again."""
    contradicted: Codes
    """Offsets of the hits that got other outputs when asked about again, in order."""
    contradicted_rows: Codes
    """Some of the rows whose output was another one."""
    remarks: tuple[Remark, ...] = ()
    ended: StopReason | None = None
    """Set if a limit on queries or time, an interruption or a failure ended the shard."""
    failure: FairprobeError | None = None

    def n_queries(self, n_judged: int) -> int:
        """How many rows were sent until so many inputs were judged; a batch is sent whole."""
        if not n_judged:
            return 0
        batch = int(np.searchsorted(self.batch_ends, n_judged))
        n_confirmed = int(np.searchsorted(self.confirmed, self.batch_ends[batch]))
        return int(self.batch_queries[batch] + self.confirmed_rows[n_confirmed])
