"""The cost of a model in a process of its own: seconds of CPU for batches of 4,000 rows, here and there.

    python benchmarks/isolate.py

Both processes count. Kinds of files whose packages are not installed are left out.
"""

from __future__ import annotations

import os
import resource
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
ROWS, SECONDS, TURNS = 4000, 0.5, 5


def cpu_of(model: Any) -> float:
    """Seconds of CPU so far, of this process and of the group in which an isolated model is."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    total = used.ru_utime + used.ru_stime
    process: Any = getattr(model, "_process", None)
    for stat in Path("/proc").glob("[0-9]*/stat") if process is not None else ():
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == process._popen.pid:
            total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def cost(asker: Asker, n: int) -> float:
    """Seconds of CPU for a batch, by the mean of some."""
    codes = asker.domain.sample_codes(ROWS, np.random.default_rng(0))
    asker.ask(codes)
    begun = cpu_of(asker.model)
    for _ in range(n):
        asker.ask(codes)
    return (cpu_of(asker.model) - begun) / n


def main() -> None:
    """The table."""
    import real_files  # type: ignore[import-not-found, unused-ignore]

    warnings.simplefilter("ignore")
    print(f"{'kind':22} {'loaded':>8} {'isolated':>9} {'CPU a batch, here':>18} {'there':>9} {'ratio':>6}")
    for name, write in {**real_files.SAFE, **real_files.UNSAFE}.items():
        os.chdir(folder := Path(tempfile.mkdtemp()))
        try:
            made = write(folder)
        except BaseException as error:  # pytest's Skipped is none of Exception's
            print(f"{name:22} {str(error)[:60]}")
            continue
        keywords = {"weights": made.weights, "allow_unsafe_load": name in real_files.UNSAFE}
        models, seconds = [], []
        for isolate in (False, True):
            begun = time.perf_counter()
            models.append(fairprobe.load_model(made.source or made.path, isolate=isolate, **keywords))
            seconds.append(time.perf_counter() - begun)
        askers = [Asker(model, Domain.from_frame(made.rows, ["sex"])) for model in models]
        n = 1 + int(SECONDS / cost(askers[0], 3))
        here, there = (
            np.median(each) for each in zip(*([cost(a, n) for a in askers] for _ in range(TURNS)), strict=True)
        )
        models[1].close()
        print(f"{name:22} {seconds[0]:6.2f} s {seconds[1]:7.2f} s {here:16.5f} s {there:7.5f} s {there / here:6.2f}")


if __name__ == "__main__":
    main()
