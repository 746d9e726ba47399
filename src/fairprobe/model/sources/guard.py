"""Files are first opened in a process of their own: a loader that crashes, never ends or takes all memory ends that."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fairprobe import errors
from fairprobe.errors import DataError, FairprobeError, RunError

if TYPE_CHECKING:
    from fairprobe.model.sources.reading import Permission

SECONDS: Final = 60.0
SECONDS_A_BYTE: Final = 1e-7
"""How long a loader may take: ten megabytes a second are slow."""

BYTES: Final = 4 * 2**30
BYTES_A_BYTE: Final = 20
"""The memory that it may take: a model needs several times the size of its file."""

STARTING: Final = 120.0
"""Seconds for an interpreter to start and import what loads, on a machine that is busy."""

ADVICE: Final = "; if the file is broken, save or copy it anew"

_CODE: Final = (
    "import json, sys; job = json.loads(sys.stdin.readline()); sys.path[:] = job['path']; "
    "from fairprobe.model.sources.child import main; main(job)"
)


def tried(module: str, paths: Sequence[Path], permission: Permission) -> list[FairprobeError | None]:
    """By file, what is wrong with it; None if it was read in the other process by a module of `FILES`."""
    size = max(_size(path) for path in paths)
    limits = {"seconds": SECONDS + SECONDS_A_BYTE * size, "bytes": BYTES + BYTES_A_BYTE * size}
    job = {"path": sys.path, "module": module, "files": [str(path.absolute()) for path in paths], **limits}
    job["permission"] = asdict(permission)
    patience = STARTING + len(paths) * (limits["seconds"] + 5)
    try:
        ended = subprocess.run(
            [sys.executable, "-c", _CODE],
            input=json.dumps(job) + "\n",
            capture_output=True,
            text=True,
            timeout=patience,
            check=False,
            env=os.environ | {"PYTHONWARNINGS": "ignore"},
        )
        said, code = ended.stdout, ended.returncode
    except subprocess.TimeoutExpired:
        said, code = "", -signal.SIGALRM
    except OSError as error:
        raise RunError(f"a model's file is first opened in a process of its own, got none: {error}") from error
    lines = [json.loads(line) for line in said.splitlines()]
    # What nothing is said of ended the process.
    lines += [{"code": code}] * (len(paths) - len(lines))
    return [_error(line, path, limits) for line, path in zip(lines, paths, strict=True)]


def _error(said: dict[str, Any], path: Path, limits: dict[str, Any]) -> FairprobeError | None:
    if said.get("ok"):
        return None
    known = getattr(errors, said.get("error", ""), DataError)
    return known(said["message"]) if known is not DataError else DataError(_what(said, path, limits) + ADVICE)


def _what(said: dict[str, Any], path: Path, limits: dict[str, Any]) -> str:
    """What is wrong with the file itself."""
    if "message" in said:
        return str(said["message"]) if str(path) in said["message"] else f"{said['message']}: {path}"
    code = said["code"]
    if code == -signal.SIGALRM:
        return f"a model's file must be read within {limits['seconds']:.0f} seconds, got no end: {path}"
    how = f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
    return f"a model's file must not crash what reads it, got a process that {how}: {path}"


def _size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
