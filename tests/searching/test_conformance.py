"""Every strategy there is passes the suite that we give to others."""

import pytest

from fairprobe.searching import STRATEGIES
from fairprobe.testing import strategy_checks

pytestmark = pytest.mark.usefixtures("taken_at_its_word")


@pytest.mark.parametrize(
    ("name", "check"), strategy_checks(), ids=lambda value: value if isinstance(value, str) else ""
)
@pytest.mark.parametrize("strategy", list(STRATEGIES))
@pytest.mark.thinned(3)
def test_strategy(strategy, name, check):
    check(strategy)


def test_by_path():
    before = dict(STRATEGIES)
    dict(strategy_checks())["reports-what-is-so"]("fairprobe.searching.strategies.random_walk:RandomWalk")
    assert before == STRATEGIES
