"""The conformance suite for strategies finds each fault that a strategy can have."""

import gc

import numpy as np
import pytest

from fairprobe.searching.strategies.random_walk import RandomWalk
from fairprobe.testing import CountingModel, strategy_checks

pytestmark = pytest.mark.usefixtures("taken_at_its_word")


class LeavesTheDomain(RandomWalk):
    def _ask(self):
        return super()._ask() - 1


class AsksFloats(RandomWalk):
    def _ask(self):
        return super()._ask().astype(np.float64)


class LosesWalkers(RandomWalk):
    def _ask(self):
        self._position = self._position[:3]
        return super()._ask()


class MovesTheSensitive(RandomWalk):
    def _ask(self):
        asked = super()._ask()
        column = self.domain.sensitive_columns[0]
        asked[:, column] = (asked[:, column] + 1) % self.domain.levels[column]
        return asked


class ChangesSeeds(RandomWalk):
    def start(self, seeds):
        seeds[:] = 0
        super().start(seeds)


class IgnoresConstraints(RandomWalk):
    def redrawn(self, proposal, redraw):
        return np.arange(len(proposal))


class OwnDraws(RandomWalk):
    def __init__(self, domain, settings, rng):
        super().__init__(domain, settings, np.random.default_rng())


class AsksInSecret(RandomWalk):
    """Asks the model itself, past the count."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.models = [each for each in gc.get_objects() if type(each) is CountingModel]

    def _tell(self, judgement):
        for model in self.models:
            model.n_rows += 1
        super()._tell(judgement)


@pytest.mark.parametrize(
    ("strategy", "check", "message"),
    [
        (LeavesTheDomain, "asks-for-what-it-may", "must ask only about inputs of the domain"),
        (AsksFloats, "asks-for-what-it-may", "must ask for int64 codes"),
        (LosesWalkers, "asks-for-what-it-may", "must ask for 16 inputs, one a walker"),
        (MovesTheSensitive, "asks-for-what-it-may", "must never move a sensitive parameter"),
        (ChangesSeeds, "asks-for-what-it-may", "must not change the seeds it is given"),
        (IgnoresConstraints, "asks-for-what-it-may", "must ask only about inputs the constraints allow"),
        (OwnDraws, "same-draws-same-asks", "must ask for the same inputs again"),
        (OwnDraws, "same-seed-same-result", "must give the same result for the same seed"),
        (AsksInSecret, "reports-what-is-so", "must send the model the rows it reports"),
    ],
)
def test_faults_are_found(strategy, check, message):
    path = f"{__name__}:{strategy.__name__}"
    with pytest.raises(AssertionError, match=f"the strategy '{path}' {message}"):
        dict(strategy_checks())[check](path)
