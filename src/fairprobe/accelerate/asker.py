"""Asking compiled twins in the model's place: to choose by, never for what is published."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.accelerate.check import agrees
from fairprobe.accelerate.compile import compile_twins
from fairprobe.accelerate.protocol import Twins
from fairprobe.domain.parameters import Codes
from fairprobe.model.asking import Asker

_CHECKED: Final = 200
"""Inputs on which twins must agree with the model before they are believed."""


class TwinsAsker(Asker):
    """An asker whose families are answered by compiled twins; anything else goes to the model as before."""

    def __init__(self, asker: Asker, twins: Twins) -> None:
        self.__dict__.update(asker.__dict__)
        self._twins = twins

    def ask_families(self, codes: Codes) -> NDArray[Any]:
        """What the twins say: no queries."""
        return self._twins.ask_families(codes)


def quick_asker(model: Any, asker: Asker) -> Asker:
    """Compiled twins where the model has any that agree with it, else the asker itself."""
    twins = compile_twins(model, asker.domain, asker.output)
    if twins is None or asker.domain.constraints:
        return asker
    codes = asker.domain.sample_codes(_CHECKED, np.random.default_rng(0))
    return TwinsAsker(asker, twins) if agrees(twins, asker, codes) else asker
