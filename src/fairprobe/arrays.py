"""The arrays that go through all rooms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]
"""Inputs inside the package: a row an input, a column a parameter, the number of its level. Also any whole numbers."""

Mask = NDArray[np.bool_]
"""Which of them."""

Floats = NDArray[np.float64]
