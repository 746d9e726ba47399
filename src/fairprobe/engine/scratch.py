"""Folders for files that go to other processes, as the model. Others cannot read them, and a kill leaves none."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, where a folder of a killed process stays
    fcntl = None  # type: ignore[assignment]

PREFIX = f".fairprobe-{os.getuid() if hasattr(os, 'getuid') else 'work'}-"


class Scratch:
    """A folder of this process alone, in the run's folder if there is one. Folders of dead processes are removed."""

    def __init__(self, where: Path | None = None) -> None:
        parent = Path(tempfile.gettempdir()) if where is None else where
        _take_away(parent)
        self._held = -1
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))  # others may not enter it
        while fcntl is not None:
            self._held = os.open(self.path, os.O_RDONLY)
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(self._held, fcntl.LOCK_EX)
            if self.path.exists():
                break
            os.close(self._held)  # another process has removed it before it was locked
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))

    def write(self, name: str, data: bytes) -> None:
        """Write a file that nobody else may read."""
        with open(os.open(self.path / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)

    def cleanup(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._held >= 0:
            os.close(self._held)
            self._held = -1


def _take_away(parent: Path) -> None:
    """Remove this user's folders whose process is gone, which then holds no lock."""
    for path in parent.glob(f"{PREFIX}*") if fcntl is not None else ():
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)
            try:
                if os.fstat(descriptor).st_uid == os.getuid():
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(path)
            finally:
                os.close(descriptor)
