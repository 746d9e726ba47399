"""Every strategy there is passes the suite that we give to others."""

from __future__ import annotations

import pytest

from fairprobe.search import STRATEGIES
from fairprobe.testing import strategy_checks


@pytest.mark.parametrize(
    ("name", "check"), strategy_checks(), ids=lambda value: value if isinstance(value, str) else ""
)
@pytest.mark.parametrize("strategy", list(STRATEGIES))
def test_strategy(strategy, name, check):
    check(strategy)


@pytest.mark.parametrize(
    ("name", "check"), strategy_checks(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_by_path(name, check):
    before = dict(STRATEGIES)
    check("fairprobe.search.random_walk:RandomWalk")
    assert before == STRATEGIES
