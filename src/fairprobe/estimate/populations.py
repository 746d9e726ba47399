"""Populations: who is asked about. Each gives batches of families, judged by the model, for others to count.

Nothing here says what is discriminatory: that is the oracle's.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.domain.domain import Domain
from fairprobe.domain.parameters import Codes
from fairprobe.errors import DataError, SettingError
from fairprobe.model.asking import Asker
from fairprobe.oracle import Mask, Oracle

if TYPE_CHECKING:
    import pandas as pd

ROWS_A_CALL = 20_000
"""About as many rows as stay in a core's cache."""


@dataclass(frozen=True)
class Families:
    """A batch of inputs with their twins: what the model said of each member, and which member each input is."""

    outputs: NDArray[Any]
    """By member, then input (then class)."""
    present: Mask | None
    """Which members exist; None if all do."""
    own: Codes
    """The sensitive parameters' codes of each input itself; -1 where its value is none of the domain's."""
    counted: Mask | None = None
    """Which inputs are of the population; None if all are."""
    members: Codes | None = None
    """The sensitive codes of each member, -1 for a value that is the input's own; None for the combinations."""


def chunk(oracle: Oracle, n_wanted: int) -> int:
    """How many inputs to judge in one call."""
    return max(1, min(n_wanted, ROWS_A_CALL // len(oracle.domain.combinations)))


def judged(oracle: Oracle, codes: Codes) -> Families:
    """Inputs of the oracle's domain."""
    judgement = oracle.judge(codes)
    return Families(judgement.outputs, judgement.present, codes[:, list(oracle.domain.sensitive_columns)])


def sampled(oracle: Oracle, n: int, rng: np.random.Generator) -> Iterator[Families]:
    """`n` inputs drawn uniformly from the oracle's domain, constraints respected."""
    done = 0
    while done < n:
        families = judged(oracle, oracle.domain.sample_codes(chunk(oracle, n - done), rng))
        yield families
        done += len(families.own)


def enumerated(oracle: Oracle) -> Iterator[Families]:
    """Every input of the domain that the constraints allow."""
    combinations = oracle.domain.combinations
    for codes in oracle.domain.enumerate_families(chunk(oracle, ROWS_A_CALL)):
        judgement = oracle.judge(codes)
        for position, combination in enumerate(combinations):
            counted = None if judgement.present is None else judgement.present[position]
            own = np.broadcast_to(combination, (len(codes), len(combination)))
            yield Families(judgement.outputs, judgement.present, own, counted)


class Rows:
    """Real rows, each judged as it is with only the sensitive columns replaced."""

    def __init__(self, domain: Domain, frame: Any) -> None:
        self._domain = domain
        rows = domain.as_frame(frame)
        if not len(rows):
            raise DataError("a population of rows must have one row at least, got an empty frame")
        absent = [name for name in domain.names if name not in rows.columns]
        if absent:
            raise DataError(f"the rows must have a column for every parameter, got none for {', '.join(absent)}")
        rows = rows[list(domain.names)]
        unknown = np.zeros(len(rows), dtype=bool)
        for name in domain.sensitive:
            if not domain[name].missing:
                unknown |= rows[name].isna().to_numpy()
        self.n_left_out = int(unknown.sum())
        if self.n_left_out == len(rows):
            raise DataError(
                f"a row must have a known value of {', '.join(domain.sensitive)}, got none among {len(rows):,} rows"
            )
        self.frame = rows[~unknown]
        self.own = np.column_stack([domain[name].encode(self.frame[name]) for name in domain.sensitive])

    def __len__(self) -> int:
        return len(self.frame)

    def families(self, oracle: Oracle) -> Iterator[Families]:
        """All rows, in order."""
        size = chunk(oracle, len(self))
        for first in range(0, len(self), size):
            part = slice(first, first + size)
            yield self._judged(oracle, self.frame.iloc[part], self.own[part])

    def _judged(self, oracle: Oracle, rows: pd.DataFrame, own: Codes) -> Families:
        """The rows in all combinations; where a value of a row is none of the domain's, also with that value kept."""
        import pandas as pd

        members = self._members(own)
        kept = np.asarray(members < 0)
        present = np.asarray((np.asarray(own < 0)[None] | ~kept[:, None]).all(axis=2))
        blocks = [self._with_sensitive(rows[mask], member) for mask, member in zip(present, members, strict=True)]
        answers = oracle.asker.ask_frame(pd.concat(blocks, ignore_index=True))
        outputs = np.zeros((*present.shape, *answers.shape[1:]), dtype=answers.dtype)
        outputs[present] = answers
        return Families(outputs, None if present.all() else present, own, members=members)

    def _members(self, own: Codes) -> Codes:
        """The combinations in domain order, then those that keep a value of the row's own, marked -1."""
        combinations = self._domain.combinations
        levels = [[*range(self._domain[name].levels), -1] for name in self._domain.sensitive]
        more = [member for member in itertools.product(*levels) if -1 in member]
        outside = np.asarray((own < 0).any(axis=0))
        more = [member for member in more if all(outside[i] for i, code in enumerate(member) if code < 0)]
        return np.concatenate([combinations, np.array(more, dtype=np.int64).reshape(-1, combinations.shape[1])])

    def _with_sensitive(self, rows: pd.DataFrame, member: Codes) -> pd.DataFrame:
        import pandas as pd

        changed = rows.copy()
        for name, code in zip(self._domain.sensitive, member, strict=True):
            if code >= 0:
                values = self._domain[name].decode(np.full(len(rows), code))
                changed[name] = pd.Series(values).set_axis(changed.index)
        return changed


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
        self.domain = asking.domain
        self.rows: Rows | None = None
        if not isinstance(population, str):
            self.name = "rows"
            self.rows = Rows(self.domain, population)
        elif population in ("domain", "valid"):
            self.name = population
        else:
            raise SettingError(f"population must be 'domain', 'valid' or a frame of rows, got {population!r}")
        if self.name != "valid" and self.domain.constraints:
            self.domain = self.domain.without_constraints()
        asker = Asker(asking.model, self.domain, output=asking.output, batch=asking.batch)
        self.oracle = Oracle(asker, asking.threshold)

    @property
    def n_left_out(self) -> int:
        """Rows whose sensitive value is unknown."""
        return 0 if self.rows is None else self.rows.n_left_out

    def sampled(self, n: int, seed: int | None) -> Iterator[Families]:
        """`n` inputs drawn uniformly; the same ones for the same seed."""
        return sampled(self.oracle, n, np.random.default_rng(np.random.SeedSequence(seed)))

    def families(self, n: int, seed: int | None) -> Iterator[Families]:
        """All rows, or so many inputs drawn uniformly."""
        return self.sampled(n, seed) if self.rows is None else self.rows.families(self.oracle)
