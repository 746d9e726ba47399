from __future__ import annotations

import os
import time
from dataclasses import replace

import pytest

from fairprobe.reproduce import QUICK, Plan, reproduce
from fairprobe.reproduce.ledger import Ledger

TINY = replace(
    QUICK,
    name="tiny",
    subjects=("decision-tree", "mlp"),
    n_seeds=2,
    part=0.01,
    n_cases=100,
    row_seconds=0.1,
    timed_seconds=1.0,
    n_experiments=5,
    n_samples=500,
    sweep_subjects=("decision-tree",),
    sweep_inputs=1500,
    n_walkers=(1, 20),
    other_inputs=500,
    n_neighbourhoods=20,
    n_first=50,
    retrained=("decision-tree",),
    max_rounds=2,
    n_select=2000,
    n_report=4000,
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
        while not (folder / "paper.md").exists() and time.monotonic() < deadline:
            time.sleep(0.2)
    else:
        reproduce("all", plan=tiny, out=folder, n_jobs=2)
    return folder


@pytest.fixture
def ledger(written) -> Ledger:
    return Ledger(written / "paper.json")
