"""The time budget: how many inputs are judged and which rounds are begun, by a clock that only the tests move."""

from __future__ import annotations

import pytest
from planted import DOMAIN, QUICK, Planted, Script, cells, rows

from fairprobe import retrain
from fairprobe.retraining.fitting import Fitter, TimeBudget
from fairprobe.retraining.judging import USUAL

pytestmark = pytest.mark.usefixtures("taken_at_its_word")

HELD_OUT = rows(200, 4)


class Ticking:
    """Time that passes only where it is said."""

    def __init__(self):
        self.time = 0.0

    def now(self):
        return self.time


@pytest.fixture
def ticking(monkeypatch):
    clock = Ticking()
    monkeypatch.setattr("fairprobe.clock.now", clock.now)
    return clock


class Timed(Planted):
    """Takes so many seconds a call, and so many a row."""

    def __init__(self, clock, a_call, a_row, cases):
        super().__init__(cases)
        self.clock, self.a_call, self.a_row = clock, a_call, a_row

    def predict(self, batch):
        self.clock.time += self.a_call + self.a_row * len(batch)
        return super().predict(batch)


def run(clock, *, fit=0.0, a_call=0.0, a_row=0.0, **options):
    """Retrain a model with 200 cases of 400; every fit, which takes so many seconds, gives one with fewer."""
    script = Script(*[Timed(clock, a_call, a_row, cells(0, n)) for n in (100, 50, 30, 20)])

    def trainer(X, y, **more):
        clock.time += fit
        return script(X, y, **more)

    settings = {
        **QUICK, "n_select": None, "n_report": None, "held_out": HELD_OUT, "augment": ["flip"], "labels": "mean",
        "max_rounds": 3, **options,
    }  # fmt: skip
    return retrain(Timed(clock, a_call, a_row, cells(0, 200)), *rows(100, 3), DOMAIN, trainer=trainer, **settings)


# How many inputs


def test_a_limit_lowers_them_only_as_far_as_it_needs(ticking):
    assert run(ticking, a_row=1e-6, max_seconds=60).n_inputs == USUAL
    slow = run(ticking, a_row=5e-4, max_seconds=600, max_rounds=1)
    # A third of the time, for before and after, with a reserve: 71 seconds each, a millisecond an input.
    assert slow.n_inputs == {"select": 50_000, "report": 70_000}
    assert slow.seconds < 600
    assert slow.how[-1].startswith("max_seconds=600 allows fewer than the usual 50,000 inputs")
    given = run(ticking, a_row=5e-4, max_seconds=600, max_rounds=1, n_select=60_000, n_report=80_000)
    assert given.n_inputs == {"select": 60_000, "report": 80_000}
    assert "max_seconds" not in given.how[-1]


# Which rounds are begun


def test_a_first_round_is_tried_where_its_fit_is_in_time(ticking):
    """One fit is to see how long it takes, one is the round: 30 of 60 seconds. Controls would need 45 more."""
    result = run(ticking, fit=15.0, max_seconds=60, controls=True)
    assert len(result.rounds) == 1
    assert result.accepted
    assert result.stop_reason == "max-seconds"
    assert [control.why_not for control in result.controls.values()] == [
        "",
        "",
        "it would not have fitted into the time that was left",
    ]
    assert result.seconds == 60


def test_no_round_fits(ticking):
    result = run(ticking, fit=50.0, max_seconds=60)
    assert result.rounds == []
    assert result.stop_reason == "max-seconds"
    assert result.sentence().endswith("no round would have fitted into the time that was left")
    text = dict(result.health)["left-out"]
    assert "longer than was left of max_seconds=60 and were left out: all rows flipped; " in text
    assert "used up" not in repr(result) + text
    assert result.seconds < 60


def test_a_search_for_cases_leaves_time_for_rounds():
    """Two minutes to search, where all is to take a second: half of what is left is the most."""
    result = retrain(
        Planted(cells(0, 200)), *rows(300, 3), DOMAIN, trainer=Script(Planted(cells(0, 100))), held_out=HELD_OUT,
        labels="mean", augment=["case"], max_rounds=1, **{**QUICK, "max_seconds": 1e-9, "search_seconds": 120},
    )  # fmt: skip
    assert result.n_cases == 0
    assert result.stop_reason == "max-seconds"


# What is foreseen


def budget(max_seconds, *fits, judgement=0.0, kept=0.0, is_first=False, n_controls=3):
    made = TimeBudget(max_seconds, n_controls, Fitter(Planted(), Script(), DOMAIN, as_frame=True))
    made._fitter.times += fits
    made.kept, made.judgement, made.is_first = kept, judgement, is_first
    return made


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
    assert budget(100.0, *fits).is_too_short_for(n_rows) is too_short


def test_before_the_first_round_a_third_is_kept_back_at_most():
    """Of 90 seconds, 30: whatever the report and the controls' fits of 20 seconds each are foreseen to take."""
    for kept in (0.0, 500.0):
        later, first = (budget(90.0, (100, 20.0), kept=kept, is_first=is_first) for is_first in (False, True))
        assert (later.left <= 0) is (kept > 0)
        assert first.left > 0
        assert later.is_too_short_for(150)  # 45 of 30
        assert not first.is_too_short_for(150)  # 45 of 60
        assert first.is_too_short_for(180)  # 65 of 60
    assert budget(90.0, (100, 1.0), kept=2.0, is_first=True).left == pytest.approx(85.0, abs=1.0), "no more than needed"
