"""The other process: opens files and says what came of it, a line of JSON for each."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np

from fairprobe.errors import FairprobeError
from fairprobe.model.sources.reading import Permission, shortened

N_ROWS: Final = 64
"""Rows that a model is asked about, so that one that crashes when it is asked does so here."""


def main(job: dict[str, Any]) -> None:
    """Open every file; several of them each in a fork of this process, which has imported all that is needed."""
    out = os.fdopen(os.dup(1), "w")
    with open(os.devnull, "w") as nowhere:  # for whatever a loader prints
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    import_module(job["module"]).preload()
    for file in job["files"]:
        said = _in_a_fork(file, job) if len(job["files"]) > 1 else _alone(file, job)
        out.write(json.dumps(said) + "\n")
        out.flush()
    out.close()
    os._exit(0)  # what was loaded is not asked how it wants to end


def _alone(file: str, job: dict[str, Any]) -> dict[str, Any]:
    _limit(job)
    permission = Permission(**job["permission"])
    try:
        reading = import_module(job["module"])
        model = reading.read(Path(file), permission)
        reading.check(model, Path(file))
        _ask(model)
    except FairprobeError as error:
        return {"error": type(error).__name__, "message": str(error)}
    except MemoryError:
        limit = f"{job['bytes'] / 2**30:.0f} GiB of memory"
        return {"error": "", "message": f"a model's file must be read within {limit}, got one that takes more"}
    except BaseException as error:
        return {"error": "", "message": f"a model's file must be one that can be read, got {shortened(error)}"}
    return {"ok": True}


def _limit(job: dict[str, Any]) -> None:
    """Memory beyond what is taken already, and time: the signal that comes at the end of it ends the process."""
    with contextlib.suppress(ImportError, AttributeError, ValueError, OSError):
        import resource

        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        most = taken + int(job["bytes"])
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    if hasattr(signal, "alarm"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(int(job["seconds"]) + 1)


def _ask(model: Any) -> None:
    """Ask about all sorts of numbers. That it does not like them does not matter, only that it lives."""
    n = getattr(model, "n_features_in_", None)
    names = getattr(model, "feature_names_in_", None)
    if not callable(getattr(model, "predict", None)) or (n is None and names is None):
        return
    rng = np.random.default_rng(0)
    rows = rng.integers(-3, 100, (N_ROWS, len(names) if names is not None else int(n or 0))).astype(float)
    rows[1::4] *= 1e9
    rows[2::4][rng.random(rows[2::4].shape) < 0.5] = np.nan
    rows[3::4] = rng.normal(size=rows[3::4].shape)
    with contextlib.suppress(Exception):
        batch: Any = rows
        if names is not None:
            import pandas as pd

            batch = pd.DataFrame(rows, columns=list(names))
        model.predict(batch)


def _in_a_fork(file: str, job: dict[str, Any]) -> dict[str, Any]:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        os.write(writer, json.dumps(_alone(file, job)).encode()[:60_000])
        os._exit(0)
    os.close(writer)
    said = b""
    while select.select([reader], [], [], job["seconds"] + 5)[0]:
        part = os.read(reader, 65536)
        if not part:
            break
        said += part
    else:
        os.kill(pid, signal.SIGKILL)
    os.close(reader)
    _, status = os.waitpid(pid, 0)
    if said:
        result: dict[str, Any] = json.loads(said)
        return result
    return {"code": os.waitstatus_to_exitcode(status)}


if __name__ == "__main__":
    main(json.loads(sys.stdin.readline()))
