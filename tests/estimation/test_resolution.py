"""Rounding is measured on what a call is about."""

from __future__ import annotations

import numpy as np
import pytest

from fairprobe import Domain, Integer, estimate
from fairprobe.errors import DomainError


def test_rounding_is_measured_on_the_rows_where_rows_are_given():
    """The constraints may leave no other input; only what is compared is asked about."""
    domain = Domain([Integer("x", 0, 10**6), Integer("s", 0, 2)], {"s": [0, 1]}, [lambda frame: frame["x"] == 7])
    asked = []

    def model(batch):
        asked.append(batch.copy())
        return batch.sum(axis=1) / 8

    share = estimate(model, domain, np.array([[7, 0], [7, 2]]), output="score", threshold=0.0)
    assert (share.n, share.hits) == (2, 2)
    assert {tuple(row) for batch in asked for row in batch.tolist()} == {(7, 0), (7, 1)}


@pytest.mark.parametrize("method", ["sample", "auto"])
def test_a_small_domain_without_an_allowed_input_is_told_at_once(method):
    looked_at = []

    def never(frame):
        looked_at.append(len(frame))
        return np.zeros(len(frame), dtype=bool)

    domain = Domain([Integer("x", 0, 9), Integer("s", 0, 1)], ["s"], [never])
    with pytest.raises(DomainError, match="the constraints must allow an input, got none of 20: loosen them"):
        estimate(lambda batch: batch[:, 0] / 8, domain, "valid", output="score", threshold=0.0, method=method)
    assert sum(looked_at) < 5000
