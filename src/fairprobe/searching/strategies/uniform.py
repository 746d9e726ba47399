"""`uniform`: independent uniform sampling, the baseline (what Themis does: Galhotra et al., FSE 2017)."""

from __future__ import annotations

from fairprobe.arrays import Codes
from fairprobe.oracle import Judgement
from fairprobe.searching.strategy import Strategy


class Uniform(Strategy):
    """Global sampling alone, round after round."""

    is_local = False

    def _start(self, seeds: Codes) -> None:
        """Ignore the start cases."""

    def _ask(self) -> Codes:
        return self.domain.sample_codes(self.settings.n_walkers, self.rng)

    def _tell(self, judgement: Judgement) -> None:
        """Learn nothing."""
