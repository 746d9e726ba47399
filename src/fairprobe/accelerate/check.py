"""Checking compiled twins against the model they stand in for."""

from __future__ import annotations

import numpy as np

from fairprobe.accelerate.protocol import Twins
from fairprobe.domain.parameters import Codes
from fairprobe.model.asking import Asker


def agrees(twins: Twins, asker: Asker, codes: Codes) -> bool:
    """Whether the labels are the model's own for these inputs and all their twins; the asker counts the queries."""
    ours, theirs = twins.ask_families(codes), asker.ask_families(codes)
    return ours.dtype == theirs.dtype and np.array_equal(ours, theirs)
