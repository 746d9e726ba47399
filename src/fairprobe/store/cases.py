"""Cases as arrays, which take little memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes
from fairprobe.domain.domain import Domain
from fairprobe.oracle import Ends


@dataclass(frozen=True)
class Cases(Ends):
    """Cases in the order in which they were found, each shown by the two ends of its largest gap."""

    offsets: Codes
    """The number of inputs that the shard had judged before each case."""

    def __len__(self) -> int:
        return len(self.gaps)

    @classmethod
    def join(cls, parts: Sequence[Cases]) -> Cases:
        """All cases of the parts, in order. Parts without cases do not change the columns' types."""
        parts = [part for part in parts if len(part)] or parts[:1]
        columns = zip(*(vars(part).values() for part in parts), strict=True)
        joined: list[Any] = [None if column[0] is None else np.concatenate(column) for column in columns]
        return cls(*joined)

    @classmethod
    def none(cls, domain: Domain, outputs: NDArray[Any] | None = None) -> Cases:
        """No cases, with columns of the types that the outputs of a batch would give."""
        codes = np.empty((0, len(domain.levels)), dtype=np.int64)
        nothing = np.empty(0, dtype=np.int64)
        dtype = np.float64 if outputs is None else outputs.dtype
        classes = nothing if outputs is not None and outputs.ndim == 3 else None
        return cls(codes, codes, np.empty(0), np.empty((0, 2), dtype=dtype), classes, nothing, nothing)

    def take(self, rows: Any) -> Cases:
        """The cases at some rows, or where a mask is true."""
        taken: list[Any] = [None if column is None else column[rows] for column in vars(self).values()]
        return Cases(*taken)
