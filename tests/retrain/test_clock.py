"""The clock: a round is begun only if it would end in time."""

from __future__ import annotations

import time

import pytest

from fairprobe.retrain.clock import Clock


def clock(max_seconds, *fits, judgement=0.0, kept=0.0):
    made = Clock(max_seconds)
    made.keep(kept)
    for n_rows, seconds in fits:
        made.fitted(n_rows, seconds)
    made.judged(judgement)
    return made


def test_without_a_limit_there_is_always_time():
    endless = clock(None, (10, 1e9), judgement=1e9, kept=1e9)
    assert not endless.is_over()
    assert not endless.is_too_short_for(10**9)


@pytest.mark.parametrize(
    ("fits", "n_rows", "too_short"),
    [
        # Of one fit, growth with the square is feared; three more fits are kept back for controls.
        ([(100, 1.0)], 900, False),  # 81 of 97 seconds
        ([(100, 1.0)], 1000, True),  # 100
        # Two fits that tell how time grows: in proportion here.
        ([(100, 1.0), (200, 2.0)], 5000, False),  # 50 of 94
        ([(100, 1.0), (200, 2.0)], 10_000, True),  # 100
        # A fit that got quicker with more rows says no less than in proportion.
        ([(100, 2.0), (200, 1.0)], 10_000, False),  # 50 of 94
        ([(100, 2.0), (200, 1.0)], 20_000, True),  # 100
        # Two fits with about as many rows tell nothing.
        ([(100, 1.0), (120, 1.0)], 1000, False),  # 69 of 97
        ([(100, 1.0), (120, 1.0)], 1200, True),  # 100
    ],
)
def test_fits_are_foreseen(fits, n_rows, too_short):
    assert clock(100.0, *fits).is_too_short_for(n_rows) is too_short


def test_time_for_the_report_is_kept_back():
    """Of 100 seconds, 3 are for the controls' fits."""
    assert not clock(100.0, (100, 1.0), kept=96.0).is_over()
    assert clock(100.0, (100, 1.0), kept=97.0).is_over()
    assert not clock(100.0, (100, 1.0), judgement=10.0, kept=85.0).is_too_short_for(100)  # 11 of 12
    assert clock(100.0, (100, 1.0), judgement=10.0, kept=87.0).is_too_short_for(100)


def test_time_passes():
    ticking = clock(0.05)
    time.sleep(0.06)
    assert ticking.is_over()
    assert ticking.seconds >= 0.06
