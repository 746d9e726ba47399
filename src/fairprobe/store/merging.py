"""Finds the first of equal keys among many, in limited memory.

Equal keys have equal hashes. So keys are written to files by parts of the hashes, with their numbers, and each file is
looked through on its own.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from fairprobe.arrays import Mask
from fairprobe.store.distinct import FACTORS, Words, first_seen, mixed

MEMORY = 500_000_000
"""Bytes of memory by default. Chosen."""

BYTES_A_KEY = 64
"""Bytes of memory for a key besides its words: its mix, its number and its place in a hash table. Measured."""


def first_of_all(batches: Iterable[Words], n: int, n_words: int, memory: int = MEMORY) -> Mask:
    """Which of n keys differ from all earlier ones: a byte for each key."""
    n_parts = math.ceil(n * (BYTES_A_KEY + 8 * n_words) / memory) if n else 1
    if n_parts == 1:
        return first_seen(np.concatenate([np.empty((0, n_words), dtype=np.int64), *batches]))
    with tempfile.TemporaryDirectory(prefix="fairprobe-") as folder:
        paths = [Path(folder) / f"{part}" for part in range(n_parts)]
        _spread(batches, paths)
        first: Mask = np.zeros(n, dtype=bool)
        for path in paths:
            rows = np.fromfile(path, dtype=np.int64).reshape(-1, n_words + 1)
            first[rows[first_seen(rows[:, 1:]), 0]] = True
        return first


def _spread(batches: Iterable[Words], paths: list[Path]) -> None:
    """Write each key, with its number before it, to the file of its part."""
    files, done = [path.open("wb") for path in paths], 0
    try:
        for words in batches:
            mixes = mixed(words).astype(np.uint64) * np.uint64(FACTORS[0])
            parts = (mixes >> np.uint64(33)) % np.uint64(len(paths))
            rows = np.column_stack([np.arange(done, done + len(words)), words])
            for part, file in enumerate(files):
                file.write(rows[parts == part].tobytes())
            done += len(words)
    finally:
        for file in files:
            file.close()
