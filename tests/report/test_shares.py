"""The tables of shares that commands print."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from fairprobe import Domain, Integer, estimate
from fairprobe.report.shares import blocks_of

DOMAIN = Domain([Integer("x", 0, 9), Integer("s", 0, 1)], ["s"])


def test_what_has_no_interval_has_no_confidence():
    rows = pd.DataFrame({"x": range(10), "s": 0})
    share = estimate(lambda X: X[:, 0] + X[:, 1] > 5, DOMAIN, rows, rows_are="training", batch="array")
    other = replace(share, rows_are="held-out", low=0.0, high=0.5, confidence=0.975)
    table = next(iter(blocks_of({"rows": share, "other": other}, {}, [], None, None)))
    assert [(str(row[2]), row[3]) for row in table.rows] == [("none: training rows", ""), ("0% to 50%", "97.5%")]
