"""The time budget: how many inputs are judged and which rounds are begun, by a clock that only the tests move."""

import pytest
from planted import DOMAIN, QUICK, Planted, Script, cells, rows

from fairprobe import retrain
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
    assert "longer than was left of max_seconds=60 and were left out" in text
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
