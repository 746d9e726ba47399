import os
import time
from dataclasses import replace

import pytest

from evaluation.ledger import Ledger
from evaluation.plan import QUICK, Plan
from evaluation.run import FILE, reproduce

TINY = replace(
    QUICK,
    name="tiny",
    subjects=("decision-tree",),  # quick to fit, with each of the seeds
    n_seeds=2,
    part=0.003,
    n_cases=100,
    row_seconds=0.05,
    timed_seconds=0.2,
    n_experiments=5,
    n_samples=500,
    sweep_subjects=("decision-tree",),
    sweep_inputs=600,
    n_walkers=(1, 20),
    deltas=(1e-6, 1e-3, 1e-1),
    other_inputs=200,
    n_neighbourhoods=20,
    n_first=50,
    retrained=("decision-tree",),
    n_rows=1000,
    max_rounds=2,
    n_select=500,
    n_report=1000,
    fit_seeds=(3, 4),
    duel_subjects=("decision-tree",),
    duel_queries=(200, 1000),
    duel_seeds=2,
    duel_inputs=500,
    duel_seconds=0.05,
    duel_runs=2,
)
"""Everything that `--quick` does, but less of it."""


@pytest.fixture(scope="session")
def tiny() -> Plan:
    return TINY


@pytest.fixture(scope="session")
def written(tiny, tmp_path_factory):
    """The folder of a whole run, one for all processes of pytest-xdist: the first makes it, the others wait."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "fairprobe-paper"
    try:
        folder.mkdir()
    except FileExistsError:
        deadline = time.monotonic() + 240
        while not (folder / "strategies.md").exists() and time.monotonic() < deadline:
            time.sleep(0.2)
    else:
        reproduce("all", plan=tiny, out=folder, n_jobs=1)
    return folder


@pytest.fixture
def ledger(written) -> Ledger:
    return Ledger(written / FILE)
