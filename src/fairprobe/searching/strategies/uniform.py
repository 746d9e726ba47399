"""`uniform`: independent uniform sampling, the baseline (what Themis does: Galhotra et al., FSE 2017)."""

from __future__ import annotations

from fairprobe.arrays import Codes
from fairprobe.oracle import Judgement
from fairprobe.searching.strategy import Strategy


class Uniform(Strategy):
    """Strategy without local search: every round only judges uniform inputs of the domain."""

    is_local = False

    def _start(self, seeds: Codes) -> None:
        """Do nothing: start cases are not used."""

    def _ask(self) -> Codes:
        return self.domain.sample_codes(self.settings.n_walkers, self.rng)

    def _tell(self, judgement: Judgement) -> None:
        """Do nothing: nothing is learned from a judgement."""
