"""A search that other processes run, to be ended in the middle: `python kept_run.py RUN [OUT]`.

A model that sleeps a little, so that there is a middle; of the cases found, OUT gets the bytes.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import fairprobe

DOMAIN = fairprobe.Domain(
    [
        fairprobe.Integer("age", 0, 99),
        fairprobe.Integer("income", 0, 999),
        fairprobe.Integer("hours", 0, 99),
        fairprobe.Category("sex", ["Female", "Male"]),
    ],
    sensitive=["sex"],
)
SETTINGS = {
    "strategy": "random",
    "max_cases": 6000,
    "n_walkers": 100,
    "n_global": 500,
    "n_local": 10,
    "shard_inputs": 2000,
    "seed": 5,
}
SECONDS = 0.001


def model(frame):
    time.sleep(SECONDS)
    bonus = 10 * (frame["sex"] == "Male")
    return (frame["age"] + bonus + frame["hours"] % 7 > 50) & (frame["income"] > 300)


def bytes_of(found) -> bytes:
    """All that is said of the cases."""
    return found.to_frame().to_csv().encode()


if __name__ == "__main__":
    found = fairprobe.search(model, DOMAIN, store=sys.argv[1], **SETTINGS)
    Path(sys.argv[2]).write_bytes(bytes_of(found))
