"""Products of matrices in blocks too small for BLAS to share among threads.

On a machine that is busy with other work, waiting for the other threads took up to 70 times as long as the product.
"""

from __future__ import annotations

import numpy as np

from fairprobe.accelerate.rows import Floats

ALONE = 2**18
"""Multiplications that OpenBLAS does in one thread."""
ALONE_BY_VECTOR = 9_000
"""The same for a matrix times a vector."""
FEWEST = 64
"""Rows of a block: for fewer, the matrix is so large that threads are worth their while."""


def block_of(n_multiplications: int, at_once: int = ALONE) -> int:
    """How many rows to take at a time, given the multiplications for each."""
    return max(1, at_once // max(1, n_multiplications))


def product(rows: Floats, matrix: Floats) -> Floats:
    """The rows times a matrix."""
    size = block_of(matrix.size, ALONE_BY_VECTOR if matrix.shape[1] == 1 else ALONE)
    if len(rows) <= size or size < FEWEST:
        return rows @ matrix
    result = np.empty((len(rows), matrix.shape[1]))
    for start in range(0, len(rows), size):
        np.matmul(rows[start : start + size], matrix, out=result[start : start + size])
    return result
