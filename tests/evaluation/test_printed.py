"""The paper's tables, checked by what its text derives from them."""

from __future__ import annotations

from statistics import fmean

import pytest

from evaluation.effectiveness import printed_ratios
from evaluation.efficiency import printed_faster
from evaluation.printed import EFFECTIVENESS, EFFICIENCY, RETRAINING, TITLES
from fairprobe.subjects import names


def test_rows_are_the_subjects_in_the_papers_order():
    for table in (EFFECTIVENESS, EFFICIENCY, RETRAINING, TITLES):
        assert tuple(table) == names()


def test_factors_over_uniform_sampling():
    factors = printed_ratios("fully-directed", "uniform").values()
    assert fmean(factors) == pytest.approx(9.6, abs=0.1)
    assert max(factors) == pytest.approx(20.4, abs=0.05)


def test_semi_directed_over_random_is_not_what_the_text_says():
    gains = [100 * (each - 1) for each in printed_ratios("semi-directed", "random").values()]
    assert fmean(gains) == pytest.approx(31.5, abs=0.05)  # the text: 46.7
    assert max(gains) == pytest.approx(65.5, abs=0.05)  # the text: 64.9


@pytest.mark.parametrize(("strategy", "mean"), [("random", 64.42), ("fully-directed", 83.27)])
def test_faster_than_uniform_sampling(strategy, mean):
    assert fmean(printed_faster(strategy).values()) == pytest.approx(mean, abs=0.01)


def test_retraining():
    assert fmean(row.improved for row in RETRAINING.values()) == pytest.approx(43.2, abs=0.05)
    assert max(row.improved for row in RETRAINING.values()) == 94.36
    assert fmean(row.added for row in RETRAINING.values()) == pytest.approx(22.92, abs=0.01)
    for row in RETRAINING.values():
        assert row.improved == pytest.approx(100 * (1 - row.after / row.before), abs=2)  # printed shares are rounded
        assert row.before_interval[0] <= row.before <= row.before_interval[1]
        assert row.after_interval[0] <= row.after <= row.after_interval[1]
