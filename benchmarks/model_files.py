"""Rows a second of models from files, beside the objects that they were written from.

    python benchmarks/model_files.py

Run where lightgbm, onnxruntime, xgboost and torch are installed (scripts/test-models makes such a place); what is not
installed is left out.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import fairprobe
from fairprobe import Domain
from fairprobe.model import Asker

sys.path.append(str(Path(__file__).parents[1] / "tests" / "model"))
SIZES = (1000, 10_000)


def rate(asker: Asker, size: int) -> float:
    """The best of three, by batches for about a third of a second."""
    codes = asker.domain.sample_codes(size, np.random.default_rng(0))
    asker.ask(codes)
    rates = []
    for _ in range(3):
        begun, n = time.perf_counter(), 0
        while time.perf_counter() - begun < 0.3:
            asker.ask(codes)
            n += size
        rates.append(n / (time.perf_counter() - begun))
    return max(rates)


def main() -> None:
    """The table."""
    import real_files  # type: ignore[import-not-found]

    warnings.simplefilter("ignore")
    kinds: dict[str, Any] = {**real_files.SAFE, "pickle": real_files.UNSAFE["pickle"]}
    print(f"{'kind':22} {'loaded in':>10}" + "".join(f" {f'{size:,} a call':>16}" for size in SIZES))
    for name, write in kinds.items():
        folder = Path(tempfile.mkdtemp())
        os.chdir(folder)
        try:
            made = write(folder)
        except BaseException as error:  # pytest's Skipped is none of Exception's
            print(f"{name:22} {str(error)[:60]}")
            continue
        begun = time.perf_counter()
        allowed = {"allow_unsafe_load": True} if name == "pickle" else {"weights": made.weights}
        model = fairprobe.load_model(made.source or made.path, **allowed)
        seconds = time.perf_counter() - begun
        domain = Domain.from_frame(made.rows, ["sex"])
        rates = [rate(Asker(model, domain), size) for size in SIZES]
        print(f"{name:22} {seconds:8.1f} s" + "".join(f" {f'{each:,.0f}/s':>16}" for each in rates))


if __name__ == "__main__":
    main()
