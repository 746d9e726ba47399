"""Screening: compiled twins say which inputs may be cases, the model itself says which are.

What the twins score counts as judged, so that no yield is flattered; only what is sent to the model counts as queries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from fairprobe.accelerate.protocol import Twins
from fairprobe.domain.parameters import Codes
from fairprobe.model.asking import Asker
from fairprobe.oracle import Judgement, Mask, Oracle

CHECKED: Final = 500
"""The first inputs are judged by both; twins that give another label to any of these are not used."""

MOST_HITS: Final = 0.5
"""Where more of a batch were cases, the next goes to the model at once: nearly all of it would be sent anyway."""

Compile = Callable[[], Twins | None]


class Screened(Oracle):
    """An oracle that lets compiled twins propose, and confirms every case by the model."""

    def __init__(self, asker: Asker, threshold: float | None, compile_twins: Compile) -> None:
        super().__init__(asker, threshold)
        self._compile = compile_twins
        self._twins: Twins | None = None
        self._is_open = not self.domain.constraints
        """Whether twins may still be used."""
        self._last_hits = 0.0
        self.disagreement: str | None = None
        """How the twins were found to be wrong, if they were."""

    def judge(self, codes: Codes) -> Judgement:
        """As the model would, or by fewer queries."""
        if self._is_open and self._twins is None and len(codes):
            return self._first(codes)
        judgement = self._screened(codes) if self._uses_twins else super().judge(codes)
        if len(codes):
            self._last_hits = float(judgement.hits.mean())
        return judgement

    @property
    def _uses_twins(self) -> bool:
        return self._is_open and self._twins is not None and self._last_hits <= MOST_HITS

    def _first(self, codes: Codes) -> Judgement:
        """Judge some inputs by the model, and compare."""
        first = super().judge(codes[:CHECKED])
        self._twins = self._compile()
        if self._twins is None:
            self._is_open = False
        else:
            self._compare(first, self._twins.ask_families(first.codes) == first.outputs)
        if len(codes) <= CHECKED:
            return first
        return Judgement.join([first, self.judge(codes[CHECKED:])])

    def _screened(self, codes: Codes) -> Judgement:
        assert self._twins is not None
        proposed = self._judgement(codes, self._twins.ask_families(codes), None)
        rows = np.flatnonzero(proposed.hits)
        if not len(rows):
            return proposed
        confirmed = super().judge(codes[rows])
        self._compare(confirmed, proposed.outputs[:, rows] == confirmed.outputs)
        outputs, gaps, hits = proposed.outputs.copy(), proposed.gaps.copy(), proposed.hits.copy()
        outputs[:, rows], gaps[rows], hits[rows] = confirmed.outputs, confirmed.gaps, confirmed.hits
        return replace(proposed, outputs=outputs, gaps=gaps, hits=hits)

    def _compare(self, judgement: Judgement, same: Mask) -> None:
        """Close the screen for good at the first label that is not the model's."""
        wrong = np.flatnonzero(~np.asarray(same).all(axis=0))
        if len(wrong) and self._is_open:
            assert self._twins is not None
            self._is_open = False
            self.disagreement = (
                f"the stand-in for {self._twins.name} gave another label than the model to {len(wrong):,} of "
                f"{len(judgement.codes):,} inputs, so the model alone was asked from there on"
            )
