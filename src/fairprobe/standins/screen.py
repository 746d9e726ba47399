"""Screening: a stand-in says what the model would say. The one seam by which stand-ins are used.

A search lets it propose: what it labelled counts as judged, so that no yield is flattered, and the model confirms every
case. Retraining lets it choose between models, never say what is published. Only what is sent to the model counts as
queries.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes
from fairprobe.model.asking import Answering
from fairprobe.standins.compile import StandIn, compile_stand_in

CHECKED: Final = 500
"""The first inputs are labelled by both."""


class DisagreementError(Exception):
    """A stand-in gave a label that is not the model's: whatever it proposed is worth nothing."""


class Screen:
    """Answers as the asker that it holds, but families by a stand-in: to an oracle, one is as good as the other."""

    def __init__(self, asker: Answering, stand_in: StandIn) -> None:
        self._asker = asker
        self._stand_in = stand_in
        self._n_left = CHECKED
        self.domain, self.output = asker.domain, asker.output
        # Whatever else is asked goes to the model.
        self.ask, self.ask_frame, self.quiet = asker.ask, asker.ask_frame, asker.quiet

    @property
    def n_queries(self) -> int:
        """Rows sent to the model: the asker counts them."""
        return self._asker.n_queries

    @n_queries.setter
    def n_queries(self, n: int) -> None:
        self._asker.n_queries = n

    def ask_families(self, codes: Codes) -> NDArray[Any]:
        """What the stand-in says; of the first inputs, what the model says, if they agree."""
        if not self._n_left:
            return self._stand_in.ask_families(codes)
        first = codes[: self._n_left]
        truth = self._asker.ask_families(first)  # the model is asked first: its answers are the ones that count
        self.check(self._stand_in.ask_families(first), truth)
        self._n_left -= len(first)
        if len(first) == len(codes):
            return truth
        return np.concatenate([truth, self._stand_in.ask_families(codes[len(first) :])], axis=1)

    def check(self, said: NDArray[Any], truth: NDArray[Any]) -> None:
        """Raise if the model gives another label, or one of another type, to any of these."""
        wrong = int((said != truth).any(axis=0).sum()) if said.dtype == truth.dtype else truth.shape[1]
        if wrong:
            raise DisagreementError(
                f"the stand-in for the model ({self._stand_in.name}) gave another label to {wrong:,} of "
                f"{truth.shape[1]:,} inputs, so it was given up and the model alone was asked"
            )


def quick_asker(model: Any, asker: Answering) -> Answering:
    """A screen where the model has a stand-in that agrees with it, else the asker itself."""
    stand_in = compile_stand_in(model, asker.domain, asker.output)
    if stand_in is None or not asker.domain.families.is_complete:
        return asker
    screen = Screen(asker, stand_in)
    try:
        screen.ask_families(asker.domain.sample_codes(CHECKED, np.random.default_rng(0)))
    except DisagreementError:
        return asker
    return screen
