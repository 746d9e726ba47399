"""The clock: a round is begun only if it would end in time."""

from __future__ import annotations

import pytest

from fairprobe.retraining.clock import Clock


def clock(max_seconds, *fits, judgement=0.0, kept=0.0):
    made = Clock(max_seconds)
    made.kept = kept
    for n_rows, seconds in fits:
        made.fitted(n_rows, seconds)
    made.judgement = judgement
    return made


def test_without_a_limit_there_is_always_time():
    endless = clock(None, (10, 1e9), judgement=1e9, kept=1e9)
    assert endless.left() > 0
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
    assert clock(100.0, (100, 1.0), kept=96.0).left() > 0
    assert clock(100.0, (100, 1.0), kept=97.0).left() <= 0
    assert not clock(100.0, (100, 1.0), judgement=10.0, kept=85.0).is_too_short_for(100)  # 11 of 12
    assert clock(100.0, (100, 1.0), judgement=10.0, kept=87.0).is_too_short_for(100)


def test_before_the_first_round_a_third_is_kept_back_at_most():
    """Of 90 seconds, 30: whatever the report and the controls' fits of 20 seconds each are foreseen to take."""
    for kept in (0.0, 500.0):
        early = clock(90.0, (100, 20.0), kept=kept)
        assert (early.left() <= 0) is (kept > 0)
        assert early.left(is_first=True) > 0
        assert early.is_too_short_for(150)  # 45 of 30
        assert not early.is_too_short_for(150, is_first=True)  # 45 of 60
        assert early.is_too_short_for(180, is_first=True)  # 65 of 60
    assert clock(90.0, (100, 1.0), kept=2.0).left(is_first=True) == pytest.approx(85.0, abs=1.0), "no more than needed"


def test_without_controls_nothing_is_kept_back_for_their_fits():
    without = Clock(90.0, n_controls=0)
    without.fitted(100, 29.0)
    assert without.left() == pytest.approx(90.0, abs=1.0)


def test_a_control_may_take_what_is_left():
    late = clock(90.0, (100, 20.0), judgement=30.0, kept=500.0)
    assert late.foreseen(100) <= late.remaining  # 50 of 90
    assert late.foreseen(200) > late.remaining  # 80 + 30
    endless = clock(None, (100, 20.0))
    assert endless.foreseen(10**9) <= endless.remaining


def test_time_passes(monkeypatch):
    ticking = clock(50.0)
    begun = Clock.now()
    monkeypatch.setattr(Clock, "now", staticmethod(lambda: begun + 60.0))
    assert ticking.left() <= 0
    assert ticking.remaining < 0
    assert ticking.seconds == pytest.approx(60.0, abs=1.0)
