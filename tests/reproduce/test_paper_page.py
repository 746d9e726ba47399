"""docs/paper.md, the page of the full run: its numbers are those of the measurements beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairprobe.reproduce import FULL
from fairprobe.reproduce.effectiveness import percents
from fairprobe.reproduce.ledger import Ledger
from fairprobe.reproduce.page import page, write_page
from fairprobe.reproduce.plan import LOCKSTEP, ONE_WALKER
from fairprobe.reproduce.run import wanted_cells

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def ledger() -> Ledger:
    return Ledger(DOCS / "paper.json")


def test_every_measurement_is_there(ledger):
    assert ledger.has_all(wanted_cells("all", FULL))


def test_page_is_that_of_the_measurements(ledger):
    assert (DOCS / "paper.md").read_text(encoding="utf-8") == page(FULL, ledger)


def test_figures_are_those_of_the_measurements(ledger, tmp_path):
    write_page(FULL, ledger, tmp_path / "paper.md")
    drawn = sorted(path.name for path in tmp_path.glob("*.svg"))
    assert drawn == sorted(path.name for path in DOCS.glob("paper-*.svg"))


@pytest.mark.parametrize("how", [ONE_WALKER, LOCKSTEP], ids=["one walker", "lockstep"])
@pytest.mark.parametrize("subject", FULL.subjects)
def test_fully_directed_beats_uniform_sampling(ledger, subject, how):
    ours, uniform = (percents(FULL, ledger, subject, strategy, how) for strategy in ("fully-directed", "uniform"))
    assert min(ours) > max(uniform) > 0
