from __future__ import annotations

import pytest
from audited import linked_domain, small, titled


@pytest.fixture(autouse=True)
def quickly(undrawn):
    """Of all audits here, only those below have pictures."""


@pytest.fixture(scope="session")
def plain_audit():
    return small(max_share=0.01, favourable="yes", rows_are="held-out")


@pytest.fixture(scope="session")
def linked_audit():
    return small(titled, domain=linked_domain(), max_share=0.01, favourable="yes")
