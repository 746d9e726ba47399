"""Writes a run of the format of today, to be kept: python tests/store/assets/make.py, when FORMAT has changed."""

import sys
from pathlib import Path

import fairprobe
from fairprobe.store.run_folder import FORMAT

sys.path.insert(0, str(Path(__file__).parents[1]))
from kept_run import DOMAIN, SETTINGS
from test_run_folder import quick

if __name__ == "__main__":
    path = Path(__file__).parent / f"format-{FORMAT}"
    settings = {**SETTINGS, "max_cases": 300, "shard_inputs": 300, "n_global": 100}
    found = fairprobe.search(quick, DOMAIN, store=path, model_id="quick", **settings)
    found.to_frame().to_csv(path / "cases.csv", index=False)
    (path / "lock").unlink()
