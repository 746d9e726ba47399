"""Run folders: a search or estimate stored on disk, which can be resumed after any interruption.

    run.toml                        description of the run: domain, model, data, settings, versions
    shards/000000.HASH.parquet ...  the results or answers of each shard (part of the run)
    shards/canaries.HASH.parquet    the model's answers to some inputs when the run began
    end.json                        how the last call ended
    lock                            held by the process that works on the run

A file is renamed into place when it is on the disk, so a file that exists is complete. The name of a shard's file holds
the beginning of the hash of its bytes, so damage is detected. A run folder may come from a stranger. No link in it is
followed, and only regular files are opened.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import platform
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any

from fairprobe._version import __version__
from fairprobe.blocks import Remark
from fairprobe.checks import parsed_toml
from fairprobe.errors import FairprobeError, RunError, SettingError
from fairprobe.files import UNSUPPORTED, flush, write_bytes
from fairprobe.model.fingerprint import UNTOLD
from fairprobe.store.digests import canonical, sha256
from fairprobe.store.shard_file import ShardContent, to_bytes

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be replaced and there are no such locks
    fcntl = None  # type: ignore[assignment]

FORMAT = 3
"""Version of the format of run folders; folders of other versions are refused. `tests/store/assets` has a run of this
version."""

ABOUT, END, SHARDS, LOCK = "run.toml", "end.json", "shards", "lock"

MOST_BYTES = 2**30
"""Largest size in bytes of a file in a run folder that is read. Chosen: twice that of the largest shard, unpacked."""

PACKAGES = ("numpy", "pandas", "pyarrow", "scikit-learn")

HASH_DIGITS = 16
"""Number of hexadecimal digits of a file's hash that are part of its name. Chosen: 64 bits miss no damage by chance."""

BEGIN_ANEW = "name another folder to begin a new run"
"""Advice of an error about a folder whose run cannot be resumed."""

MOST_DIFFERENCES = 5
"""Largest number of differing settings that an error message lists. Chosen."""


@dataclass(frozen=True)
class Entry:
    """A complete file of a run, with one shard or the canaries."""

    name: str
    """Name of the shard in the file, such as "000002"."""
    path: Path
    hash: str
    """First `HASH_DIGITS` hexadecimal digits of the SHA-256 hash of the file's bytes."""


class RunReader:
    """A run folder as read from disk: its description, its complete files and its end."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        self.about = _read_about(self.path)
        self.remarks: list[Remark] = []
        with as_written(self.path):
            self.entries = {entry.name: entry for entry in self._found()}
            noted = self._noted()
        self.end: dict[str, Any] | None = noted.get("end")
        """Figures about the end of the last call that worked on the run; None if no call has ended."""
        self.is_changed: bool = noted.get("is_changed", False)
        """True if an earlier call found that the model's answers had changed."""

    @property
    def kind(self) -> str:
        """Kind of the run: "search" or "estimate"."""
        return str(self.about["kind"])

    def read(self, name: str) -> bytes | None:
        """Return the bytes of a shard's file by the shard's name; None if there is none.

        If the file is damaged, a remark is added and None is returned.
        """
        entry = self.entries.get(name)
        if entry is None:
            return None
        try:
            data, what = read_own(entry.path), "other bytes than written"
            if sha256(data).partition(":")[2].startswith(entry.hash):
                return data
        except OSError as error:
            what = error.strerror or str(error)
        text = f"{entry.path} must be as it was written, got {what}: it does not count"
        self.remarks.append(Remark("damaged-shard", text))
        del self.entries[name]
        return None

    def _found(self) -> Iterator[Entry]:
        for path in sorted((self.path / SHARDS).glob("[!.]*.parquet")):
            name, _, digest = path.stem.rpartition(".")
            if len(digest) == HASH_DIGITS:
                yield Entry(name, path, digest)

    def _noted(self) -> dict[str, Any]:
        path = self.path / END
        try:
            return dict(json.loads(read_own(path))) if path.exists() or path.is_symlink() else {}
        except OSError as error:
            raise unusable(f"must be readable, got {error.strerror}: {path}") from None


class StoredRun(RunReader):
    """A run folder that this process has locked and writes to; created by `opened`."""

    is_new = True

    @classmethod
    @contextmanager
    def opened(cls, path: str | PathLike[str], kind: str, identity: Mapping[str, Any]) -> Iterator[StoredRun]:
        """Within the context, hold a run folder: a new one, or an existing one whose run has the same identity.

        `identity` describes the run's model, domain, data and settings.
        """
        import tomli_w

        folder = Path(path)
        if folder.is_dir() and not (folder / ABOUT).exists():
            _check_is_free(folder)  # before anything is made in it
        if (folder / SHARDS).is_symlink():
            raise unusable(f"must hold a folder {SHARDS} of its own, got a link: {folder}")
        try:
            (folder / SHARDS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            got = f"got {error.strerror or error}: {folder}"
            raise unusable(f"must be a folder that can be written to, {got}") from None
        flushes = probe(folder)
        with locked(folder) as is_locked:
            begun = {"format": FORMAT, "kind": kind, "versions": _versions(), **_plain(identity)}
            is_new = not (folder / ABOUT).exists()
            if is_new:
                _check_is_free(folder)
                write_whole(folder / ABOUT, tomli_w.dumps(begun).encode())
            run = cls(folder)
            run.is_new = is_new
            with as_written(folder):
                run._check_same(begun)
            run._remark_on_folder(begun, flushes=flushes, is_locked=is_locked)
            yield run

    def _remark_on_folder(self, begun: Mapping[str, Any], *, flushes: bool, is_locked: bool) -> None:
        why, text = _untold(begun), "its file system cannot tell when a file is on the disk: what is finished outlives"
        remarks = [
            ("untold-model", why is not None, f" cannot be taken up again: {why}"),
            ("no-fsync", not flushes, f": {text} a kill of the process, not one of the machine"),
            ("no-lock", not is_locked, ": its file system has no locks: see that nobody else is at it"),
        ]
        self.remarks += [Remark(name, f"{self.path}{text}") for name, applies, text in remarks if applies]

    def _check_same(self, ours: Mapping[str, Any]) -> None:
        """Raise a SettingError if the stored run has another identity; add a remark if package versions differ."""
        if self.is_changed:
            raise unusable(f"must be a run of one model, got {self.path}, whose model became another: {BEGIN_ANEW}")
        if not self.is_new and (why := _untold(ours)) is not None:
            raise unusable(f"must be a new folder, got the run {self.path}: {why}")
        mine, theirs = ({**about, "format": None, "versions": None} for about in (ours, self.about))
        differences = list(_differences(mine, theirs))
        if differences:
            got = f"got {self.path}, where {'; '.join(differences[:MOST_DIFFERENCES])}"
            raise unusable(f"must be a run of the same model, domain and settings, {got}: {BEGIN_ANEW}")
        before, now = dict(self.about["versions"]), ours["versions"]
        others = [f"{name} {before[name]}, now {now.get(name)}" for name in before if before[name] != now.get(name)]
        if others:
            text = f"{self.path} was begun with {', '.join(others)}: its shards are of both"
            self.remarks.append(Remark("other-versions", text))

    def save(self, name: str, content: ShardContent) -> None:
        """Store the content of a shard, replacing an earlier file of this name."""
        data = to_bytes(content)
        digest = sha256(data).partition(":")[2][:HASH_DIGITS]
        entry = Entry(name, self.path / SHARDS / f"{name}.{digest}.parquet", digest)
        write_whole(entry.path, data)
        before = self.entries.get(name)
        if before is not None and before.path != entry.path:
            before.path.unlink(missing_ok=True)
        self.entries[name] = entry

    def drop(self, name: str) -> None:
        """Delete the file of a shard, if there is one."""
        entry = self.entries.pop(name, None)
        if entry is not None:
            entry.path.unlink(missing_ok=True)

    def note(self, *, end: dict[str, Any] | None = None, is_changed: bool = False) -> None:
        """Write to the run's folder how the present call ended, as figures, or that the model has changed.

        A run whose model has changed cannot be resumed.
        """
        self.end, self.is_changed = end or self.end, is_changed or self.is_changed
        write_whole(self.path / END, canonical({"end": self.end, "is_changed": self.is_changed}))


def _untold(about: Mapping[str, Any]) -> str | None:
    """Return why a run's model or constraints cannot be recognised later, with advice; None if they can."""
    of_model, of_rules = about.get("model", {}).get("hash", ""), about.get("domain", {}).get("callables", ())
    if of_model.startswith(UNTOLD):
        return f"nothing tells its model from another, which is {of_model}: name the model with model_id"
    made = next((each for each in of_rules if each.startswith(UNTOLD)), None)
    return None if made is None else f"nothing tells a constraint from another, which is {made}: give it as text"


def _read_about(folder: Path) -> dict[str, Any]:
    path = folder / ABOUT
    try:
        about = parsed_toml(read_own(path).decode("utf-8"))
        number = about["format"]
    except OSError as error:
        raise unusable(f"must be the folder of a run, with a {ABOUT}, got {error.strerror}: {path}") from None
    except (ValueError, KeyError) as error:
        raise unusable(f"must have a {ABOUT} that can be read, got {error}: {path}") from None
    with as_written(path):
        if number != FORMAT:
            wrote = about.get("versions", {}).get("fairprobe", "unknown")
            got = f"got format {number!r} in {path}: fairprobe {wrote} wrote it, and this is fairprobe {__version__}"
            raise unusable(f"must be a run of format {FORMAT}, {got}. Use that version, or {BEGIN_ANEW}")
        for table in ("versions", "model", "settings", "domain"):
            dict(about[table])
        str(about["kind"]), about["model"]["kind"]
    return about


def _check_is_free(folder: Path) -> None:
    others = sorted(each.name for each in folder.iterdir() if each.name not in (LOCK, SHARDS) and each.name[0] != ".")
    if others:
        raise unusable(f"must be a new folder or that of a run, got {folder} with {others[0]} in it")


def _versions() -> dict[str, str]:
    return {"fairprobe": __version__, "python": platform.python_version(), **{name: version(name) for name in PACKAGES}}


def _plain(identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested tables without entries that are None, because TOML has no None."""
    known = {name: value for name, value in identity.items() if value is not None}
    return {name: _plain(value) if isinstance(value, Mapping) else value for name, value in known.items()}


def _differences(ours: Any, theirs: Any, name: str = "") -> Iterator[str]:
    """Yield a phrase for each difference between two nested tables, such as "seed is 1, not 2"."""
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        for key in dict.fromkeys([*theirs, *ours]):
            yield from _differences(ours.get(key), theirs.get(key), f"{name}.{key}" if name else key)
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for place, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            label = mine.get("name", place) if isinstance(mine, Mapping) else place
            yield from _differences(mine, other, f"{name}.{label}")
    elif ours != theirs:
        yield f"{name} is {theirs!r:.60}, not {ours!r:.60}"


def recorded_settings(path: str | PathLike[str] | None) -> dict[str, Any]:
    """Return the settings stored in a run folder, including the drawn seed and chosen strategy; empty without a run."""
    if path is None or not (Path(path) / ABOUT).exists():
        return {}
    return dict(RunReader(path).about.get("settings", {}))


# The files


def unusable(rule: str) -> SettingError:
    """Return the error that a folder cannot be used as `store`; the rule says what it must be, and what was got."""
    return SettingError.about("store", rule)


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
    raise unusable(f"must hold files of its own, got a link or a device: {path}")


@contextmanager
def as_written(where: Any) -> Iterator[None]:
    """Within the context, turn any error about a run's content into a `SettingError` about the store."""
    try:
        yield
    except FairprobeError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        what = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise unusable(f"must hold a run as it was written, got {what} in {where}") from None


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
        advice = "what was stored before stays: make room, or let it be written to, and start the same again"
        raise RunError(f"a run must be stored, got {error.strerror or error}: {path}; {advice}") from None


def probe(folder: Path) -> bool:
    """Check that files can be written and renamed in a folder; return True if a write can be forced to the disk."""
    path = folder / f".probe.{os.getpid()}"
    try:
        write_bytes(path, b"probe")
        with path.open("rb+") as file:
            return flush(file.fileno())
    except OSError as error:
        rule = "must be a folder on a file system where files can be written and renamed"
        raise unusable(f"{rule}, got {error.strerror or error}: {folder}") from None
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
        held = f"got {folder}, which {holder} holds: wait for it, or end it"
        raise unusable(f"must be a run that nobody else is at, {held}") from None
    _sign(folder, f"process {os.getpid()}\n")
    return True


def _sign(folder: Path, holder: str) -> None:
    with open(folder / LOCK, "wb", opener=own) as file:
        file.write(holder.encode())
