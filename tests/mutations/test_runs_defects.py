"""Defects of retraining put back, one at a time: a check of what users see must catch each."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "retraining"))

import test_known_rows as known

from fairprobe.retraining import parts


def every_row_is_another(monkeypatch):
    """Rows are told apart by their place alone."""
    monkeypatch.setattr(parts, "_units", lambda rows: (1, np.arange(len(rows))))


def only_what_is_equal_in_all_is_kept_together(monkeypatch):
    """A row that was flipped beforehand counts as another."""
    numbered = parts._numbered

    def by_all(frames):
        return [np.arange(len(frames[0]))] if len(frames) == 1 and "sex" not in frames[0] else numbered(frames)

    monkeypatch.setattr(parts, "_numbered", by_all)


def nothing_held_out_is_ever_known(monkeypatch):
    monkeypatch.setattr(parts, "_known", lambda *_: "")


def whoever_is_equal_is_a_copy(monkeypatch):
    monkeypatch.setattr(parts, "_CHANCE", 1.1)


@pytest.mark.parametrize(
    ("put_back", "check"),
    [
        (every_row_is_another, lambda: known.check_figures(known.twice)),
        pytest.param(every_row_is_another, lambda: known.check_figures(known.some_twice), marks=pytest.mark.slow),
        (every_row_is_another, known.test_groups_stay_together),
        (only_what_is_equal_in_all_is_kept_together, lambda: known.check_figures(known.flipped)),
        (
            nothing_held_out_is_ever_known,
            lambda: known.test_rows_held_out_that_are_the_rows_of_x(known.FINE, known.shuffled),
        ),
        (whoever_is_equal_is_a_copy, lambda: known.test_people_who_are_equal_by_chance_are_no_copies(0)),
    ],
)
def test_a_defect_put_back_is_caught(put_back, check, is_caught):
    is_caught(check, put_back, errors=(AssertionError, KeyError))
