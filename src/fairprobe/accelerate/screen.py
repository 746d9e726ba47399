"""Screening: compiled twins say which inputs may be cases, the model itself says which are.

What the twins score counts as judged, so that no yield is flattered; only what is sent to the model counts as queries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from numpy.typing import NDArray

from fairprobe.accelerate.protocol import Twins
from fairprobe.domain.parameters import Codes
from fairprobe.model.asking import Asker
from fairprobe.oracle import Judgement, Oracle

CHECKED: Final = 500
"""The first inputs are judged by both; twins that give another label to any of these are not used."""

Compile = Callable[[], Twins | None]


class Screened(Oracle):
    """An oracle that lets compiled twins propose, and asks the model to confirm every case."""

    def __init__(self, asker: Asker, threshold: float | None, compile_twins: Compile) -> None:
        super().__init__(asker, threshold)
        self._compile = compile_twins
        self._twins: Twins | None = None
        self._is_open = not self.domain.constraints
        """Whether twins may be used, from now on."""

    @property
    def proposes(self) -> bool:
        """Whether twins were ever asked: even of those found to be wrong, a proposal may be left to confirm."""
        return self._twins is not None

    def judge(self, codes: Codes) -> Judgement:
        """What the twins say; as long as there are none, or none any more, what the model says."""
        if not self._is_open or not len(codes):
            return super().judge(codes)
        if self._twins is None:
            return self._first(codes)
        return self._judgement(codes, self._twins.ask_families(codes), None)

    def _first(self, codes: Codes) -> Judgement:
        """Judge some inputs by the model, and compare."""
        first = super().judge(codes[:CHECKED])
        self._twins = self._compile()
        if self._twins is None:
            self._is_open = False
        else:
            self._compare(self._twins.ask_families(first.codes), first)
        if len(codes) <= CHECKED:
            return first
        return Judgement.join([first, self.judge(codes[CHECKED:])])

    def confirm(self, judgement: Judgement) -> Judgement:
        """What the model says of these inputs; it is not called for none, which many models refuse."""
        if not len(judgement.codes):
            return judgement
        confirmed = super().judge(judgement.codes)
        self._compare(judgement.outputs, confirmed)
        return confirmed

    def _compare(self, said: NDArray[Any], truth: Judgement) -> None:
        """Never ask twins again that gave a label which is not the model's."""
        wrong = int((said != truth.outputs).any(axis=0).sum())
        if wrong and self._is_open:
            assert self._twins is not None
            self._is_open = False
            self.disagreement = (
                f"the stand-in for the model ({self._twins.name}) gave another label to {wrong:,} of "
                f"{len(truth.codes):,} inputs, so the model alone was asked from there on"
            )
