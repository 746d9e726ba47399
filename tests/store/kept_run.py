"""A search that other processes run, to be ended in the middle: `python kept_run.py RUN OUT [SECONDS [CASES]]`.

A model that sleeps a little, so that there is a middle; says "begun" when all is loaded and the search begins. Of the
cases found, OUT gets the bytes.
"""

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
EFFORT = {"max_cases": 6000, "n_walkers": 100, "n_global": 500, "n_local": 10}
SETTINGS = {"strategy": "random", **EFFORT, "shard_inputs": 2000, "seed": 5}
SECONDS = 0.001


def model(frame):
    time.sleep(SECONDS)
    bonus = 10 * (frame["sex"] == "Male")
    return (frame["age"] + bonus + frame["hours"] % 7 > 50) & (frame["income"] > 300)


def bytes_of(found) -> bytes:
    """All that is said of the cases."""
    return found.to_frame().to_csv().encode()


if __name__ == "__main__":
    SECONDS = float(sys.argv[3]) if len(sys.argv) > 3 else SECONDS
    limit = {"max_cases": int(sys.argv[4])} if len(sys.argv) > 4 else {}
    if len(sys.argv) > 3:  # all is imported before
        import pyarrow.parquet  # noqa: F401

        fairprobe.search(model, DOMAIN, **SETTINGS | {"max_cases": 5})
    sys.stdout.write("begun\n")
    sys.stdout.flush()
    # Its pause is a constant that differs: a name says that it is the same model all the same.
    found = fairprobe.search(model, DOMAIN, store=sys.argv[1], model_id="pausing", **SETTINGS | limit)
    Path(sys.argv[2]).write_bytes(bytes_of(found))
