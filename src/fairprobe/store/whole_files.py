"""Reading, writing and locking of the files of a run folder.

A run folder may come from a stranger. No link in it is followed, and only regular files are opened.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from fairprobe.errors import FairprobeError, RunError, SettingError
from fairprobe.files import UNSUPPORTED, flush, write_bytes

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be replaced and there are no such locks
    fcntl = None  # type: ignore[assignment]

LOCK = "lock"

MOST_BYTES: Final = 2**30
"""Largest size in bytes of a file in a run folder that is read. Chosen: twice that of the largest shard, unpacked."""


def own(path: str, flags: int) -> int:
    """Return a file descriptor for a path; an opener for `open` that refuses links and all but regular files."""
    try:
        # O_NONBLOCK: to open a pipe would wait for a writer.
        descriptor = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0), 0o666)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.EMLINK, errno.ENXIO):
            raise
    raise SettingError.about("store", f"must hold files of its own, got a link or a device: {path}")


@contextmanager
def as_written(where: Any) -> Iterator[None]:
    """Within the context, turn any error about a run's content into a `SettingError` about the store."""
    try:
        yield
    except FairprobeError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        what = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise SettingError.about("store", f"must hold a run as it was written, got {what} in {where}") from None


def read_own(path: Path) -> bytes:
    """Return the bytes of a file in a run folder; refuse links, all but regular files and files that are too large."""
    with open(path, "rb", opener=own) as file:
        n_bytes = os.fstat(file.fileno()).st_size
        if n_bytes > MOST_BYTES:
            rule = f"must hold files of at most {MOST_BYTES:,} bytes"
            raise SettingError.about("store", f"{rule}, got {n_bytes:,} bytes: {path}")
        return file.read()


def write_whole(path: Path, data: Any) -> None:
    """Write a file in a run folder atomically: afterwards it is complete on the disk, or unchanged."""
    try:
        write_bytes(path, data, is_durable=True)
    except OSError as error:
        raise RunError(
            f"a run must be stored, got {error.strerror or error}: {path}; what was stored before stays: make room, or "
            "let it be written to, and start the same again"
        ) from None


def probe(folder: Path) -> bool:
    """Check that files can be written and renamed in a folder; return True if a write can be forced to the disk."""
    path = folder / f".probe.{os.getpid()}"
    try:
        write_bytes(path, b"probe")
        with path.open("rb+") as file:
            return flush(file.fileno())
    except OSError as error:
        rule = "must be a folder on a file system where files can be written and renamed"
        raise SettingError.about("store", f"{rule}, got {error.strerror or error}: {folder}") from None
    finally:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


@contextmanager
def locked(folder: Path) -> Iterator[bool]:
    """Within the context, lock the folder against other processes; yield True if the file system has locks.

    The process that holds the lock releases it at its end, even after a crash.
    """
    path = folder / LOCK
    open(path, "ab", opener=own).close()
    with open(path, "rb", opener=own) as file:  # open for reading: the file system may become read-only meanwhile
        is_ours = False
        try:
            is_ours = _lock(file, folder)
            yield is_ours
        finally:
            with contextlib.suppress(OSError, SettingError):
                if is_ours:
                    _sign(folder, "")


def _lock(file: Any, folder: Path) -> bool:
    if fcntl is None:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in UNSUPPORTED:
            return False
        if error.errno not in (errno.EAGAIN, errno.EACCES):
            raise
        holder = file.read().decode().strip() or "another process"
        raise SettingError.about(
            "store", f"must be a run that nobody else is at, got {folder}, which {holder} holds: wait for it, or end it"
        ) from None
    _sign(folder, f"process {os.getpid()}\n")
    return True


def _sign(folder: Path, holder: str) -> None:
    with open(folder / LOCK, "wb", opener=own) as file:
        file.write(holder.encode())
