"""The job that every shard of a search shares, and what one shard brings back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.accelerate import Twins, compile_twins
from fairprobe.accelerate.screen import Screened
from fairprobe.domain.domain import Domain
from fairprobe.domain.parameters import Codes
from fairprobe.errors import FairprobeError
from fairprobe.model.asking import Asker
from fairprobe.oracle import Oracle
from fairprobe.search.registry import load_strategy
from fairprobe.search.settings import Settings, StopReason
from fairprobe.store import Cases, Coverage, Distinct, first_seen


@dataclass(frozen=True)
class Job:
    """All that a shard is a pure function of, but for its number."""

    model: Any
    domain: Domain
    settings: Settings
    strategy_path: str
    output: str
    batch: str | None
    threshold: float
    seed: int
    start: Codes | None = None
    accelerate: bool = False
    n_threads: int = 1

    @property
    def costs_vary(self) -> bool:
        """Whether inputs differ in how many queries they take: families in size, or hints come on top."""
        return bool(self.domain.constraints) or load_strategy(self.strategy_path).wants is not None

    def oracle(self) -> Oracle:
        """A fresh oracle, its count of queries at zero."""
        asker = Asker(self.model, self.domain, output=self.output, batch=self.batch, n_threads=self.n_threads)
        if self.accelerate:
            return Screened(asker, self.threshold, lambda: self._twins)
        return Oracle(asker, self.threshold)

    @cached_property
    def _twins(self) -> Twins | None:
        """Compiled once a process, and only if a shard asks for them."""
        return compile_twins(self.model, self.domain, self.output)

    def rng(self, shard: int) -> np.random.Generator:
        """The stream of one shard, which no other shard shares."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(shard,)))


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
    batch_ends: NDArray[np.int64]
    """How many inputs were judged by the end of each batch."""
    batch_queries: NDArray[np.int64]
    """How many rows were sent by the end of each batch, confirmations aside."""
    confirmed: NDArray[np.int64]
    """Offsets of the inputs that were proposed and then sent to the model with their twins, in order."""
    n_twins: int
    """Rows that such an input takes."""
    n_sent: int
    """How many rows were sent in all, those of a batch that failed included."""
    keys: NDArray[np.int64]
    """Of every input judged."""
    cases: Cases
    """Distinct within the shard."""
    distinct: Distinct | None
    """The known cases and these, if the shard knew them: then all of these are new."""
    output_varies: bool
    """Whether the model gave two different outputs to anything."""
    disagreement: str | None = None
    """How what stood in for the model was found to be wrong, if it was."""
    contradiction: int | None = None
    """The first input looked at again that was judged differently."""
    ended: StopReason | None = None
    """Set if the time, an interruption or a failure ended the shard."""
    failure: FairprobeError | None = None

    def n_distinct(self, n_judged: int) -> int:
        """How many of the first inputs judged are distinct."""
        return int(first_seen(self.keys[:n_judged]).sum())

    def n_queries(self, n_judged: int) -> int:
        """How many rows were sent until so many inputs were judged; a batch is sent whole."""
        if not n_judged:
            return 0
        batch = int(np.searchsorted(self.batch_ends, n_judged))
        n_confirmed = int(np.searchsorted(self.confirmed, self.batch_ends[batch]))
        return int(self.batch_queries[batch]) + self.n_twins * n_confirmed


@dataclass(frozen=True)
class Snapshot:
    """How far a shard has got, or a run."""

    n_cases: int
    n_judged: int
    n_queries: int
