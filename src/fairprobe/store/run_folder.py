"""Runs on disk: a folder that a run can be taken up from, after anything that ended it.

    run.toml            what the run is: domain, model, data, settings, versions
    index.jsonl         a line for each shard that is finished, with the size and the hash of its file; how runs ended
    shards/000000.parquet ..., and canaries.parquet: what the model said of some inputs when the run began
    lock                held by the process that is at it

A shard is finished when its line is in the index: its file is whole by then. A line begins with its own checksum, so
that one cut in the middle is seen. Where a shard comes twice, the last line counts.
"""

from __future__ import annotations

import json
import platform
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any

from fairprobe._version import __version__
from fairprobe.blocks import Remark
from fairprobe.checks import parsed_toml
from fairprobe.errors import SettingError
from fairprobe.model.fingerprint import UNTOLD
from fairprobe.store.hashes import canonical, sha256
from fairprobe.store.whole_files import LOCK, append, as_written, locked, probe, read_own, write_whole

FORMAT = 1
"""Of the folder and its files. Who changes it keeps reading the old ones: tests/store/assets has one of each."""

ABOUT, INDEX, SHARDS = "run.toml", "index.jsonl", "shards"
PACKAGES = ("numpy", "pandas", "pyarrow", "scikit-learn")
MOST_DIFFERENCES = 5


@dataclass(frozen=True)
class Entry:
    """A line of the index about a file."""

    name: str
    """Of the shard."""
    size: int
    hash: str
    figures: dict[str, Any] = field(default_factory=dict)


class RunReader:
    """A run folder as it stands, to look at."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        self.about = _read_about(self.path)
        self.entries: dict[str, Entry] = {}
        self.ends: list[dict[str, Any]] = []
        """How calls ended, in order."""
        self.is_changed = False
        """Whether the model was found to be another one in the middle of it."""
        self.remarks: list[Remark] = []
        self._is_torn = False
        with as_written(self.path):
            self._read_index()

    @property
    def kind(self) -> str:
        """What was run: search or estimate."""
        return str(self.about["kind"])

    def file_of(self, name: str) -> Path:
        """Where a shard is."""
        return self.path / SHARDS / f"{name}.parquet"

    def read(self, name: str) -> bytes | None:
        """The bytes of a shard, if it is finished and they are what was written; what is not is said."""
        entry = self.entries.get(name)
        if entry is None:
            return None
        try:
            data = read_own(self.file_of(name))
            what = f"{len(data):,} of {entry.size:,} bytes" if len(data) != entry.size else "other bytes than written"
            if len(data) == entry.size and sha256(data) == entry.hash:
                return data
        except OSError as error:
            what = error.strerror or str(error)
        self.remarks.append(
            Remark("damaged-shard", f"{self.file_of(name)} must be as it was written, got {what}: it does not count")
        )
        del self.entries[name]
        return None

    def _read_index(self) -> None:
        path = self.path / INDEX
        try:
            lines = read_own(path).splitlines(keepends=True) if path.exists() else []
        except OSError as error:
            raise SettingError.about("store", f"must be readable, got {error.strerror}: {path}") from None
        for number, line in enumerate(lines, start=1):
            content = _content_of(line)
            if content is None:
                self._is_torn = True
                if number < len(lines):  # the last one was being written when the process ended
                    self.remarks.append(
                        Remark("damaged-index", f"line {number} of {path} is damaged: it does not count")
                    )
            else:
                self._take(content)

    def _take(self, content: dict[str, Any]) -> None:
        if "end" in content:
            self.ends.append(content["end"])
        elif "changed" in content:
            self.is_changed = True
        elif "dropped" in content:
            self.entries.pop(content["dropped"], None)
        else:
            self.entries[content["name"]] = Entry(**content)


class StoredRun(RunReader):
    """A run folder that this process holds and writes to; made by `opened`."""

    @classmethod
    @contextmanager
    def opened(cls, path: str | PathLike[str], kind: str, identity: Mapping[str, Any]) -> Iterator[StoredRun]:
        """Begin a run, or take one up, which must be the same one."""
        folder = Path(path)
        if folder.is_dir() and not (folder / ABOUT).exists():
            _check_is_free(folder)  # before anything is made in it
        if (folder / SHARDS).is_symlink():
            raise SettingError.about("store", f"must hold a folder {SHARDS} of its own, got a link: {folder}")
        try:
            (folder / SHARDS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            rule = "must be a folder that can be written to"
            raise SettingError.about("store", f"{rule}, got {error.strerror or error}: {folder}") from None
        flushes = probe(folder)
        with locked(folder) as is_locked:
            begun = {"format": FORMAT, "kind": kind, "versions": _versions(), **_plain(identity)}
            is_new = not (folder / ABOUT).exists()
            if is_new:
                _check_is_free(folder)
                write_whole(folder / ABOUT, _toml(begun))
            run = cls(folder)
            run.is_new = is_new
            with as_written(folder):
                run._check_same(begun)
            if (why := _untold(begun)) is not None:
                run.remarks.append(Remark("untold-model", f"{folder} cannot be taken up again: {why}"))
            if not flushes:
                text = "its file system cannot tell when a file is on the disk: what is finished outlives a kill of "
                run.remarks.append(Remark("no-fsync", f"{folder}: {text}the process, not one of the machine"))
            if not is_locked:
                run.remarks.append(
                    Remark("no-lock", f"{folder}: its file system has no locks: see that nobody else is at it")
                )
            if run._is_torn:
                run._rewrite_index()
            yield run

    is_new = True

    def _check_same(self, ours: Mapping[str, Any]) -> None:
        """Refuse a run of anything else; other versions are said."""
        if self.is_changed:
            raise SettingError.about(
                "store", f"must be a run of one model, got {self.path}, whose model became another: begin a new one"
            )
        theirs = dict(self.about)
        before, now = theirs.pop("versions"), dict(ours["versions"])
        if not self.is_new and (why := _untold(ours)) is not None:
            raise SettingError.about("store", f"must be a new folder, got the run {self.path}: {why}")
        differences = list(_differences({k: v for k, v in ours.items() if k != "versions"}, theirs))
        if differences:
            more = f", and {len(differences) - MOST_DIFFERENCES} more" if len(differences) > MOST_DIFFERENCES else ""
            raise SettingError.about(
                "store",
                f"must be a run of the same model, domain and settings, got {self.path}, where "
                f"{'; '.join(differences[:MOST_DIFFERENCES])}{more}: name another folder to begin a new run",
            )
        others = [f"{name} {before[name]}, now {now.get(name)}" for name in before if before[name] != now.get(name)]
        if others:
            text = f"{self.path} was begun with {', '.join(others)}: its shards are of both"
            self.remarks.append(Remark("other-versions", text))

    def save(self, name: str, data: Any, **figures: Any) -> None:
        """Keep a shard: its file, then its line in the index."""
        write_whole(self.file_of(name), data)
        entry = Entry(name, len(data), sha256(data), figures)
        self._append(vars(entry))
        self.entries[name] = entry

    def drop(self, name: str) -> None:
        """Forget a shard that another takes the place of."""
        if self.entries.pop(name, None) is not None:
            self._append({"dropped": name})
            self.file_of(name).unlink(missing_ok=True)

    def note_end(self, **figures: Any) -> None:
        """Write down how a call ended."""
        self.ends.append(figures)
        self._append({"end": figures})

    def note_change(self) -> None:
        """Write down that the model is not what it was: nobody takes this run up again."""
        self.is_changed = True
        self._append({"changed": True})

    def _append(self, content: Mapping[str, Any]) -> None:
        append(self.path / INDEX, _line(content))

    def _rewrite_index(self) -> None:
        """Leave out what is torn, so that the next line is one of its own."""
        contents = [*({"end": end} for end in self.ends), *map(vars, self.entries.values())]
        write_whole(self.path / INDEX, b"".join(map(_line, contents)))


def _untold(about: Mapping[str, Any]) -> str | None:
    """Why nothing tells what a run is about from anything else, and what to do."""
    of_model, of_rules = about.get("model", {}).get("hash", ""), about.get("domain", {}).get("callables", ())
    if of_model.startswith(UNTOLD):
        return f"nothing tells its model from another, which is {of_model}: name the model with model_id"
    made = next((each for each in of_rules if each.startswith(UNTOLD)), None)
    return None if made is None else f"nothing tells a constraint from another, which is {made}: give it as text"


def _line(content: Mapping[str, Any]) -> bytes:
    data = canonical(content)
    return b"%08x %s\n" % (zlib.crc32(data), data)


def _content_of(line: bytes) -> dict[str, Any] | None:
    check, _, data = line.partition(b" ")
    data, end = data[:-1], data[-1:]
    if end != b"\n" or check != b"%08x" % zlib.crc32(data):
        return None
    content: dict[str, Any] = json.loads(data)
    return content


def _read_about(folder: Path) -> dict[str, Any]:
    path = folder / ABOUT
    try:
        about = parsed_toml(read_own(path).decode("utf-8"))
        number = about["format"]
    except OSError as error:
        rule = f"must be the folder of a run, with a {ABOUT}"
        raise SettingError.about("store", f"{rule}, got {error.strerror}: {path}") from None
    except (ValueError, KeyError) as error:
        raise SettingError.about("store", f"must have a {ABOUT} that can be read, got {error}: {path}") from None
    with as_written(path):
        if not isinstance(number, int) or number > FORMAT:
            wrote = about.get("versions", {}).get("fairprobe", "unknown")
            raise SettingError.about(
                "store",
                f"must be of format {FORMAT} at most, got {number!r} in {path}: it was written by fairprobe {wrote}, "
                f"and this is {__version__}; update it",
            )
        for table in ("versions", "model", "settings", "domain"):
            dict(about[table])
        str(about["kind"]), about["model"]["kind"]
    return about


def _check_is_free(folder: Path) -> None:
    others = sorted(each.name for each in folder.iterdir() if each.name not in (LOCK, SHARDS) and each.name[0] != ".")
    if others:
        raise SettingError.about("store", f"must be a new folder or that of a run, got {folder} with {others[0]} in it")


def _versions() -> dict[str, str]:
    return {"fairprobe": __version__, "python": platform.python_version(), **{name: version(name) for name in PACKAGES}}


def _plain(identity: Mapping[str, Any]) -> dict[str, Any]:
    """As TOML holds it, which knows no None."""
    return {
        name: _plain(value) if isinstance(value, Mapping) else value
        for name, value in identity.items()
        if value is not None
    }


def _toml(content: Mapping[str, Any]) -> bytes:
    import tomli_w

    return tomli_w.dumps(content).encode()


def _differences(ours: Any, theirs: Any, name: str = "") -> Iterator[str]:
    """What differs, by name, in words."""
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        for key in dict.fromkeys([*theirs, *ours]):
            yield from _differences(ours.get(key), theirs.get(key), f"{name}.{key}" if name else key)
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for place, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            label = mine.get("name", place) if isinstance(mine, Mapping) else place
            yield from _differences(mine, other, f"{name}.{label}")
    elif ours != theirs:
        yield f"{name} is {_short(theirs)}, not {_short(ours)}"


def _short(value: Any) -> str:
    text = "not there" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def recorded_settings(path: str | PathLike[str] | None) -> dict[str, Any]:
    """The settings of a run that is there already: what was drawn or picked then is not drawn or picked anew."""
    if path is None or not (Path(path) / ABOUT).exists():
        return {}
    return dict(RunReader(path).about.get("settings", {}))
