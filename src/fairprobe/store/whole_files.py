"""Files that are whole or not there: written aside, flushed to the disk, renamed, and the folder flushed too.

A run folder may come from somebody else: no link in it is followed, and nothing but a regular file is opened.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from fairprobe.errors import FairprobeError, RunError, SettingError
from fairprobe.files import UNSUPPORTED, flush, flush_folder, write_bytes

try:
    import fcntl
except ImportError:  # Windows, where an open file is not renamed over, and a folder is not flushed
    fcntl = None  # type: ignore[assignment]

LOCK = "lock"


def own(path: str, flags: int) -> int:
    """An opener for `open`: of a regular file that is no link, so that nothing outside of its folder is touched."""
    try:
        # Without waiting, as a pipe would keep whoever opens it.
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
    """Inside, a run is read: what is not as a run writes it, whoever wrote it, is refused in our own words."""
    try:
        yield
    except FairprobeError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        what = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise SettingError.about("store", f"must hold a run as it was written, got {what} in {where}") from None


def read_own(path: Path) -> bytes:
    """The bytes of a file of a run folder."""
    with open(path, "rb", opener=own) as file:
        return file.read()


def write_whole(path: Path, data: Any) -> None:
    """Write a file; whatever happens, it is whole or as it was before."""
    try:
        write_bytes(path, data, is_durable=True)
    except OSError as error:
        raise not_written(error, path) from None


def append(path: Path, data: bytes) -> None:
    """Add to a file, and be sure that it is on the disk; what was added in part is taken away again."""
    size = path.stat().st_size if path.exists() else 0
    try:
        with open(path, "ab", opener=own) as file:
            file.write(data)
            file.flush()
            flush(file.fileno())
        if not size:
            flush_folder(path.parent)
    except SettingError:
        raise
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.truncate(path, size)
        if isinstance(error, OSError):
            raise not_written(error, path) from None
        raise


def not_written(error: OSError, path: Path) -> RunError:
    """What is said where a disk is full, or a folder has become one that can only be read."""
    return RunError(
        f"a run must be stored, got {error.strerror or error}: {path}; what was stored before stays: make room, or let "
        "it be written to, and start the same again"
    )


def probe(folder: Path) -> bool:
    """Make sure that files can be written and renamed here; says whether they can be flushed to the disk, too."""
    first, second = (folder / f".probe.{os.getpid()}.{name}" for name in ("part", "whole"))
    try:
        for path in (first, second):
            path.unlink(missing_ok=True)
        with first.open("xb") as file:
            file.write(b"probe")
            file.flush()
            flushes = flush(file.fileno())
        second.open("xb").close()
        os.replace(first, second)  # what the tests put a file system without it in place of
    except OSError as error:
        rule = "must be a folder on a file system where files can be written and renamed"
        raise SettingError.about("store", f"{rule}, got {error.strerror or error}: {folder}") from None
    finally:
        for path in (first, second):
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
    return flushes


@contextmanager
def locked(folder: Path) -> Iterator[bool]:
    """Inside, no other process has the folder; says whether the file system knows locks. A dead holder keeps none."""
    path = folder / LOCK
    open(path, "ab", opener=own).close()
    with open(path, "rb", opener=own) as file:  # not to write: that would keep a file system from becoming read only
        _held.add(file)
        _let_go_in_copies()
        is_ours = False
        try:
            is_ours = _lock(file, folder)
            yield is_ours
        finally:
            _held.discard(file)
            with contextlib.suppress(OSError, SettingError):
                if is_ours:
                    _sign(folder, "")


_held: set[Any] = set()
"""Files that stand for a lock."""


@cache
def _let_go_in_copies() -> None:
    """A copy of this process, which may outlive it, holds no lock."""
    if fcntl is not None:
        os.register_at_fork(after_in_child=lambda: [file.close() for file in _held])


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
