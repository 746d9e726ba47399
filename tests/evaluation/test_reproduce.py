"""A whole run in small, and its command: what is measured, that it goes on where it stopped, that figures repeat."""

import json
import shutil
from dataclasses import replace
from itertools import product

import pytest

from evaluation import __main__ as command
from evaluation import run as runs
from evaluation.ledger import Cell, Ledger
from evaluation.plan import FULL, LOCKSTEP, ONE_WALKER, QUICK
from evaluation.printed import EFFECTIVENESS
from evaluation.run import FILE, PARTS, reproduce, wanted_cells


def test_page_and_figures_are_written(written):
    text = (written / "paper.md").read_text(encoding="utf-8")
    for title in ("The subjects", "RQ1", "RQ2", "RQ3", "What held", "Slips of the paper"):
        assert f"# {title}" in text
    for name in ("first", "convergence", "effectiveness", "walks"):
        assert f"(paper-{name}.svg)" in text
        assert (written / f"paper-{name}.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert "nan" not in text
    strategies = (written / "strategies.md").read_text(encoding="utf-8")
    for title in ("Most cases", "What `auto` is", "At equal inputs", "At 200 queries", "At equal seconds"):
        assert f"## {title}" in strategies
    assert (written / "strategies.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_nothing_is_measured_twice(written, tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "taken", lambda cells, n_jobs: iter([]) if not cells else pytest.fail("measured again"))
    again = shutil.copytree(written, tmp_path / "again")
    reproduce("all", plan=tiny, out=again)
    for name in (FILE, "paper.md", "strategies.md"):
        assert (again / name).read_bytes() == (written / name).read_bytes()


def test_an_interrupted_run_goes_on(tiny, tmp_path):
    def stop(done: int, n_all: int, cell: Cell | None) -> None:
        if done == 5:
            raise KeyboardInterrupt

    small = replace(tiny, subjects=("decision-tree",), part=0.005, other_inputs=100)
    with pytest.raises(KeyboardInterrupt):
        reproduce("effectiveness", plan=small, out=tmp_path, n_jobs=1, progress=stop)
    kept = json.loads((tmp_path / FILE).read_text())["tasks"]["search_inputs"]
    assert sum(len(line["seeds"]) for line in kept) == 5
    left = []
    reproduce("effectiveness", plan=small, out=tmp_path, n_jobs=1, progress=lambda done, n_all, _: left.append(n_all))
    assert left[0] == len(wanted_cells("effectiveness", small)) - 5
    assert "## RQ1" in (tmp_path / "paper.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_figures_repeat_whatever_the_number_of_processes(written, ledger, tiny, tmp_path):
    tree = replace(tiny, subjects=("decision-tree",))
    reproduce("effectiveness", plan=tree, out=tmp_path, n_jobs=1)
    again = Ledger(tmp_path / FILE)
    for cell in wanted_cells("effectiveness", tree):
        assert again[cell] == ledger[cell]


DIRECTED = ("random", "semi-directed", "fully-directed")


@pytest.mark.parametrize("plan", [FULL, QUICK])
def test_plans_have_every_part_of_all_six(plan):
    for what in PARTS:
        assert wanted_cells(what, plan)
    assert plan.subjects == tuple(EFFECTIVENESS)


def test_the_full_budgets_are_the_papers():
    cells = [cell.settings for cell in wanted_cells("effectiveness", FULL)]
    for subject, row in EFFECTIVENESS.items():
        for strategy, how, seed in product(DIRECTED, (ONE_WALKER, LOCKSTEP), range(5)):
            about = {"subject": subject, "sensitive": ["sex"], "strategy": strategy, "seed": seed}
            wanted = about | {"n_inputs": row[strategy].n_inputs} | how
            assert any(wanted.items() <= cell.items() for cell in cells)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("option", "value"), [("--seed", "-1"), ("--seed", "x"), ("--jobs", "0")])
def test_bad_options(capsys, folder, option, value):
    with pytest.raises(SystemExit) as left:
        command.main((option, value))
    assert left.value.code == 2
    assert f"{option}: must be a whole number" in capsys.readouterr().err


def test_dry_run_measures_nothing(capsys, folder):
    assert command.main(["figures", "--quick", "--dry-run"]) == 0
    assert "would take 40 measurements of 40" in capsys.readouterr().out
    assert not list(folder.iterdir())


def test_an_interruption_is_said(capsys, folder, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "reproduce", stop)
    assert command.main(["effectiveness", "--quick", "--out", "out"]) == 130
    assert "interrupted; what was measured is kept in out" in capsys.readouterr().err


def test_a_part_is_written(capsys, folder, monkeypatch):
    small = replace(
        command.QUICK, subjects=("decision-tree",), part=0.005, n_experiments=3, n_neighbourhoods=5, n_first=5,
        fit_seeds=(4,),
    )  # fmt: skip
    monkeypatch.setattr(command, "QUICK", small)
    assert command.main(["figures", "--quick", "--jobs", "1", "--out", "out"]) == 0
    captured = capsys.readouterr()
    assert "written: out/paper.md" in captured.out
    assert "of 13 measurements" in captured.err
    assert "## The subjects" in (folder / "out" / "paper.md").read_text(encoding="utf-8")
    assert not (folder / "out" / "strategies.md").exists()
