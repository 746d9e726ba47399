"""The pages in docs are of the measurements beside them, and the paper's tables are as its text derives from them."""

from pathlib import Path
from statistics import fmean

import pytest

from evaluation import retraining
from evaluation.effectiveness import percents, printed_ratios
from evaluation.efficiency import printed_faster
from evaluation.ledger import Cell, Ledger
from evaluation.plan import FULL, LOCKSTEP, ONE_WALKER
from evaluation.printed import EFFECTIVENESS, EFFICIENCY, RETRAINING, TITLES
from evaluation.run import FILE, PAGES, wanted_cells
from fairprobe.subjects import names

DOCS = Path(__file__).parents[2] / "docs"
[PAPER] = [page for page in PAGES if page.name == "paper"]


@pytest.fixture(scope="module")
def ledger() -> Ledger:
    return Ledger(DOCS / FILE)


@pytest.fixture(scope="module")
def text(ledger) -> str:
    return PAPER.text(FULL, ledger)


def test_measurements_are_what_the_pages_use_and_no_more(ledger):
    wanted = {cell.key for cell in wanted_cells("all", FULL)}
    assert {Cell(cell.task, cell.settings).key for cell, _, _ in ledger._taken.values()} == wanted
    assert sum(path.stat().st_size for path in DOCS.glob("*.json")) <= 300_000


def test_pages_and_figures_are_those_of_the_measurements(ledger, tmp_path):
    assert ledger.has_all(wanted_cells("all", FULL))
    for page in PAGES:
        page.write(FULL, ledger, tmp_path)
        text = (DOCS / f"{page.name}.md").read_text(encoding="utf-8")
        assert (tmp_path / f"{page.name}.md").read_text(encoding="utf-8") == text
        assert not any(word in text for word in ("inf%", "inf ", "nan"))
    drawn = sorted(path.name for path in tmp_path.glob("*.svg"))
    assert drawn == sorted(path.name for path in DOCS.glob("*.svg"))


@pytest.mark.parametrize("how", [ONE_WALKER, LOCKSTEP], ids=["one walker", "lockstep"])
@pytest.mark.parametrize("subject", FULL.subjects)
def test_fully_directed_beats_uniform_sampling(ledger, subject, how):
    ours, uniform = (percents(FULL, ledger, subject, strategy, how) for strategy in ("fully-directed", "uniform"))
    assert min(ours) > max(uniform) > 0


def test_chance_is_no_success(ledger, text):
    """47 cases of 20,000 before and 21 after are not enough, so the SVM is not among those shown to be better."""
    svm = ledger[retraining.run(FULL, "svm", "paper")]
    assert (svm["before"]["domain"], svm["after"]["domain"]) == ([47, 20_000], [21, 20_000])
    [line] = [line for line in text.splitlines() if "Retraining lowers the share by 43.2%" in line]
    assert "its algorithm" in line
    assert "shown to be lower on Fair SVM, Decision Tree, Ensemble, higher on none" in line
    assert line.endswith("| held on 3 of 6 |")


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
