"""Cases as arrays, small in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats
from fairprobe.domain.domain import Domain
from fairprobe.oracle import Ends


@dataclass(frozen=True)
class Cases:
    """Cases in the order they were found."""

    case: NDArray[Any]
    """Codes of the member shown, one case a row."""
    twin: NDArray[Any]
    """Codes of its twin at the other end of the largest gap."""
    gaps: Floats
    outputs: NDArray[Any]
    """The outputs of the two."""
    classes: NDArray[Any] | None
    """Which class's probability has the largest gap, where there are classes."""
    offsets: Codes
    """How many inputs the shard had judged before each."""

    def __len__(self) -> int:
        return len(self.gaps)

    @classmethod
    def of(cls, ends: Ends, offsets: Codes) -> Cases:
        """The cases that the oracle's ends show."""
        return cls(ends.case, ends.twin, ends.gaps, ends.outputs, ends.classes, offsets)

    @classmethod
    def join(cls, parts: Sequence[Cases]) -> Cases:
        """All cases of the parts, in order."""
        if len(parts) == 1:
            return parts[0]
        classes = None if parts[0].classes is None else np.concatenate([part.classes for part in parts])
        return cls(
            np.concatenate([part.case for part in parts]),
            np.concatenate([part.twin for part in parts]),
            np.concatenate([part.gaps for part in parts]),
            np.concatenate([part.outputs for part in parts]),
            classes,
            np.concatenate([part.offsets for part in parts]),
        )

    @classmethod
    def none(cls, domain: Domain, outputs: NDArray[Any] | None = None) -> Cases:
        """No case, but with columns like those that the outputs of a batch would give."""
        codes = np.empty((0, len(domain.levels)), dtype=np.int64)
        nothing = np.empty(0, dtype=np.int64)
        dtype = np.float64 if outputs is None else outputs.dtype
        classes = nothing if outputs is not None and outputs.ndim == 3 else None
        return cls(codes, codes, np.empty(0), np.empty((0, 2), dtype=dtype), classes, nothing)

    def take(self, rows: Any) -> Cases:
        """Those at some rows, or where a mask is true."""
        classes = None if self.classes is None else self.classes[rows]
        return Cases(self.case[rows], self.twin[rows], self.gaps[rows], self.outputs[rows], classes, self.offsets[rows])
