"""`fairprobe runs`: what is in run folders, and the cases out of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from fairprobe.arguments import REQUIRED
from fairprobe.checks import nearest
from fairprobe.cli import options as o
from fairprobe.cli.command import Request
from fairprobe.cli.destination import Destination, for_parquet
from fairprobe.cli.words import aligned, note, say
from fairprobe.errors import FairprobeError, RunError, SettingError
from fairprobe.store.run_folder import ABOUT, RunReader
from fairprobe.store.shard_file import summary_of
from fairprobe.store.whole_files import as_written, read_own
from fairprobe.wording import counted, percent

ACTIONS = ("list", "show", "merge", "export")
SUMMARY = "List, show, merge and export runs that were kept by --store."
MEGABYTE = 1_000_000

OPTIONS = [
    o.own("action", "str", f"one of {', '.join(ACTIONS)}.", default=REQUIRED, is_positional=True),
    o.own(
        "folders",
        "Sequence[str] | None",
        "run folders; for list, where they are (by default runs).",
        is_positional=True,
    ),
    o.out("for merge and export: write the cases as .csv or .parquet; an older file is overwritten."),
    o.own("json", "Flag", "print what list and show say as JSON."),
]


def run(request: Request) -> int:
    """List, show, merge and export runs that were kept by --store.

    list names the runs of a folder; show says what a run is and where it stands, and checks every file; export writes
    the cases of a search as it would have written them itself; merge writes the distinct cases of all finished shards
    of one or more runs of one domain. Neither needs the model.
    """
    action, folders = request["action"], list(request["folders"] or ())
    if action not in ACTIONS:
        near = nearest(action, ACTIONS)
        raise SettingError(f"runs must be followed by one of {', '.join(ACTIONS)}; got {action!r}{near}")
    if action in ("show", "export") and len(folders) != 1:
        raise SettingError(f"runs {action} must be given one run folder, got {len(folders)}")
    if action in ("list", "show"):
        found = listed(Path(folders[0] if folders else "runs")) if action == "list" else [shown(folders[0], check=True)]
        if request["json"]:
            sys.stdout.write(json.dumps(found if action == "list" else found[0]) + "\n")
        else:
            (show_list if action == "list" else show_one)(found)
        return 0
    return write_cases(request, action, folders)


# What there is


def listed(folder: Path) -> list[dict[str, Any]]:
    """The runs of a folder, and itself if it is one."""
    if not folder.is_dir():
        raise SettingError(f"runs list must be given a folder that exists, got {folder}")
    paths = sorted(path.parent for path in folder.rglob(ABOUT))
    return [shown(path) for path in paths]


def shown(path: str | Path, *, check: bool = False) -> dict[str, Any]:
    """A run in plain values; with `check`, every file is read."""
    try:
        with as_written(path):
            return _shown(RunReader(path), check=check)
    except FairprobeError as error:
        if check:
            raise
        return {"path": str(path), "error": str(error)}


def _shown(reader: RunReader, *, check: bool) -> dict[str, Any]:
    if check:
        for name in list(reader.entries):
            reader.read(name)
    shards = [entry for name, entry in reader.entries.items() if name.rpartition("-")[2].isdigit()]
    end = reader.end
    return {
        "path": str(reader.path),
        "kind": reader.kind,
        "format": reader.about["format"],
        "state": "model changed" if reader.is_changed else _state(end),
        "n_shards": len(shards),
        "n_bytes": sum(entry.path.stat().st_size for entry in reader.entries.values()),
        **_figures(reader, [summary_of(read_own(entry.path)) for entry in shards]),
        "settings": reader.about["settings"],
        "model": reader.about["model"],
        "versions": reader.about["versions"],
        "end": end,
        "remarks": [{"check": name, "message": text} for name, text in reader.remarks],
    }


def _state(end: dict[str, Any] | None) -> str:
    return "not finished" if end is None else str(end.get("stop_reason", "finished"))


def _figures(reader: RunReader, shards: list[tuple[int, dict[str, Any]]]) -> dict[str, Any]:
    n_rows = sum(n for n, _ in shards)
    if reader.kind != "search":
        return {"n_queries": n_rows}
    return {"n_judged": sum(about["n_judged"] for _, about in shards), "n_cases": n_rows}


def show_list(found: list[dict[str, Any]]) -> None:
    """A line a run."""
    if not found:
        say("no runs")
        return
    rows = [["run", "kind", "state", "shards", "found in them", "MB"]]
    for each in found:
        if "error" in each:
            note(f"unreadable-run: {each['error']}")
            continue
        rows.append([each["path"], each["kind"], each["state"], f"{each['n_shards']:,}", _held(each), _megabytes(each)])
    for line in aligned(rows, left=(0, 1, 2)):
        say(line)


def _held(each: dict[str, Any]) -> str:
    return counted(each["n_cases"], "case") if "n_cases" in each else counted(each["n_queries"], "answer")


def _megabytes(each: dict[str, Any]) -> str:
    return f"{each['n_bytes'] / MEGABYTE:,.1f}"


def show_one(found: list[dict[str, Any]]) -> None:
    """All about a run."""
    (each,) = found
    settings, end = each["settings"], each["end"]
    names = ("strategy", "population", "seed", "output", "threshold", "shard_inputs")
    told = ", ".join(f"{name.replace('_', ' ')} {settings[name]}" for name in names if name in settings)
    say(f"{each['path']}: {each['kind']}, {each['state']}")
    say(f"  model     {each['model']['kind']}", 12)
    say(f"  settings  {told}", 12)
    say(f"  stored    {counted(each['n_shards'], 'shard')} ({_megabytes(each)} MB) with {_held(each)}", 12)
    if end is not None and "n_cases" in end:
        say(f"  result    {counted(end['n_cases'], 'case')} in {counted(end['n_distinct'], 'distinct input')}", 12)
    for share in [] if end is None else end.get("shares", []):
        sensitive = " x ".join(share["sensitive"])
        low, high = (percent(share[name]) if share[name] is not None else "?" for name in ("low", "high"))
        say(f"  share     {sensitive}: {share['hits']:,} of {share['n']:,}, between {low} and {high}", 12)
    versions = ", ".join(f"{name} {number}" for name, number in each["versions"].items())
    say(f"  versions  {versions}", 12)
    for remark in each["remarks"]:
        note(f"{remark['check']}: {remark['message']}")


# Cases out of it


def write_cases(request: Request, action: str, folders: list[str]) -> int:
    """Merge or export."""
    if not folders:
        raise SettingError("runs merge must be given the folders of runs, got none")
    target = Destination.of(request["out"], (".csv", ".parquet"), may_be_stdout=False)
    if target is None:
        raise SettingError(f"runs {action} needs --out FILE, got none")
    with as_written(", ".join(folders)):
        return _written(action, folders, target)


def _written(action: str, folders: list[str], target: Destination) -> int:
    from fairprobe.searching.stored_cases import StoredCases, merged, write_csv, write_parquet

    runs = [StoredCases(folder) for folder in folders]
    most = None
    if action == "export":
        entries, most = runs[0].of_result()
        parts = [(runs[0], entries)]
        if most is None:
            note(f"not-finished: {folders[0]} has not come to its end: these are the cases of its finished shards")
    else:
        parts = [(each, each.finished()) for each in runs]
    if not any(entries for _, entries in parts):
        raise RunError(f"runs {action} must be given a finished shard at least, got none in {', '.join(folders)}")
    counts: list[int] = []

    def write(part: Path) -> None:
        frames = merged(parts)
        is_csv = target.path.suffix.lower() == ".csv"
        counts.append(write_csv(frames, part, most) if is_csv else write_parquet(frames, part, for_parquet, most))

    target.write_by(write)
    say(f"{target.name}: {counted(counts[0], 'case')} of {counted(sum(len(e) for _, e in parts), 'shard')}")
    return 0
