"""Runs on disk: taken up where they ended, even by kill -9, extended, and refused where they are another's."""

import errno
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import kept_run
import numpy as np
import pandas as pd
import pytest
from kept_run import DOMAIN, SETTINGS, bytes_of

import fairprobe
from fairprobe import Domain, Integer, breakdown, estimate
from fairprobe.errors import HealthWarning, RunError, SettingError
from fairprobe.searching import run as running
from fairprobe.searching.stored_search import StoredCases, merged
from fairprobe.store import run_folder, shard_file
from fairprobe.store.digests import hash_of_model
from fairprobe.store.run_folder import FORMAT, RunReader
from fairprobe.store.shard_file import ShardContent, from_bytes, to_bytes

ASSETS = Path(__file__).parent / "assets"


def quick(frame):
    bonus = 10 * (frame["sex"] == "Male")
    return (frame["age"] + bonus + frame["hours"] % 7 > 50) & (frame["income"] > 300)


class Counting:
    """Answers as `quick` does, or otherwise from some row on, and counts the rows."""

    def __init__(self, changes_after=float("inf")):
        self.n = 0
        self.changes_after = changes_after

    def __call__(self, frame):
        self.n += len(frame)
        return quick(frame) if self.n <= self.changes_after else ~quick(frame)

    def __reduce__(self):  # its count is no part of it
        return Counting, ()


def search(store=None, model=quick, **changes):
    return fairprobe.search(model, DOMAIN, store=store, **{**SETTINGS, **changes})


@pytest.fixture(scope="module")
def whole():
    return bytes_of(search())


@pytest.fixture(scope="module")
def one_run(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "one"
    search(path)
    return path


@pytest.fixture
def run(one_run, tmp_path):
    """A copy of a run that came to its end, to be spoilt."""
    shutil.copytree(one_run, tmp_path / "run")
    return tmp_path / "run"


def shards(path):
    return sorted(name for name in RunReader(path).entries if name.isdigit())


def file_of(run, name):
    return RunReader(run).entries[name].path


@pytest.fixture
def shards_run(monkeypatch):
    """The numbers of the shards that are run, not read."""
    ran, run_shard = [], running.run_shard
    monkeypatch.setattr(running, "run_shard", lambda job, n, *rest: ran.append(n) or run_shard(job, n, *rest))
    return ran


def test_a_store_changes_nothing_and_a_run_that_ended_is_read(run, whole, shards_run):
    assert bytes_of(search(run)) == whole
    assert shards_run == []


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_run_that_lacks_shards_runs_these_alone(run, whole, shards_run, n_jobs, warm_workers):
    before = search()
    for name in ("000002", "000005"):
        file_of(run, name).unlink()
    shards_run.clear()
    found = search(run, n_jobs=n_jobs)
    assert bytes_of(found) == whole
    for name in ("n_inputs", "n_judged", "n_queries", "stop_reason"):
        assert getattr(found, name) == getattr(before, name)
    if n_jobs == 1:
        assert shards_run == [2, 5]
    else:  # what others ran is not seen here, and shards ahead may have been begun
        assert not set(shards_run) & {0, 1, 3, 4}
    assert len(shards(run)) >= 6


@pytest.mark.parametrize(
    "limits",
    [
        {"max_cases": 9000},
        {"max_cases": 300},
        {"max_cases": None, "max_inputs": 21_000},
        {"max_cases": None, "max_queries": 30_000},
        {"max_cases": None, "max_barren": 3},
    ],
    ids=str,
)
def test_other_limits_give_what_a_fresh_run_gives(run, limits, shards_run):
    n = len(shards(run))
    extended = search(run, **limits)
    assert min(shards_run, default=n) >= min(n, extended.n_judged // SETTINGS["shard_inputs"])
    fresh = search(**limits)
    assert bytes_of(extended) == bytes_of(fresh)
    assert extended.stop_reason == fresh.stop_reason
    assert extended.n_queries == fresh.n_queries


@pytest.mark.parametrize(
    "changes",
    [
        {"strategy": "anchored", "output": "label"},
        {"strategy": "anchored", "start": pd.DataFrame({"age": [45, 46], "income": 500, "hours": 3, "sex": "Male"})},
        {"strategy": "uniform", "max_cases": 2000},
    ],
    ids=["anchored", "rows", "uniform"],
)
def test_what_is_stored_is_what_was_found(tmp_path, changes):
    first = search(tmp_path / "run", **changes)
    again = search(tmp_path / "run", **changes)
    fresh = search(**changes)
    assert bytes_of(first) == bytes_of(again) == bytes_of(fresh)
    assert first.health == again.health == fresh.health


def test_a_seed_that_was_drawn_and_a_strategy_that_was_picked_stay(tmp_path):
    first = search(tmp_path / "run", seed=None, strategy="auto", max_inputs=4000, max_cases=None)
    again = search(tmp_path / "run", seed=None, strategy="auto", max_inputs=8000, max_cases=None)
    assert (again.seed, again.settings) == (first.seed, first.settings)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seed": 6, "n_local": 11}, r"where settings.n_local is 10, not 11; settings.seed is 5, not 6: name another"),
        ({"shard_inputs": 1000}, r"settings.shard_inputs is 2000, not 1000"),
        ({"model": lambda frame: frame["age"] > 50}, r"model.hash is"),
    ],
)
def test_another_run_is_refused_with_what_differs(run, changes, said):
    with pytest.raises(SettingError, match=f"store must be a run of the same model, domain and settings, got .*{said}"):
        search(run, **changes)


def test_a_model_that_answers_otherwise_is_found_out_when_a_run_is_taken_up(tmp_path):
    search(tmp_path / "run", model=Counting())
    with pytest.raises(SettingError, match=r"whose model gave another output for 1,000 of 1,000 canary inputs"):
        search(tmp_path / "run", model=Counting(changes_after=0))


def test_a_model_that_changes_under_way_is_found_out_at_the_end(tmp_path):
    with pytest.raises(RunError, match=r"got another output for 1,000 of 1,000 canary inputs") as caught:
        search(tmp_path / "run", model=Counting(changes_after=20_000))
    assert caught.value.found.n_cases
    with pytest.raises(SettingError, match="whose model became another: name another folder"):
        search(tmp_path / "run", model=Counting())


@pytest.mark.parametrize("other", [FORMAT - 1, FORMAT + 1])
def test_another_format_is_refused(run, other):
    about = run / "run.toml"
    about.write_text(about.read_text().replace(f"format = {FORMAT}", f"format = {other}", 1))
    with pytest.raises(SettingError, match=rf"store must be a run of format {FORMAT}, got format {other} .*folder"):
        search(run)


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(SettingError, match=r"store must be a new folder or that of a run, got .* with notes.txt in it"):
        search(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"], "no lock of ours, and no folder"
    with pytest.raises(SettingError, match=r"a folder that can be written to, got (File exists|Not a directory)"):
        search(tmp_path / "notes.txt")


def test_two_at_one_run_and_a_dead_one(run, whole):
    code = "import sys,time\nfrom fairprobe.store.run_folder import locked\nfrom pathlib import Path\n"
    code += f"with locked(Path({str(run)!r})):\n    print('held', flush=True)\n    time.sleep(60)"
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"held\n"
    try:
        with pytest.raises(SettingError, match=f"that nobody else is at, got .*, which process {holder.pid} holds"):
            search(run)
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
    assert bytes_of(search(run)) == whole


def test_a_run_that_is_refused_is_let_go(run):
    """Whatever it was refused for: nobody holds it then, nor is said to, and the exception keeps nothing open."""
    refused = []
    for options in ({"seed": 6}, {"model": lambda frame: ~quick(frame)}):
        with pytest.raises(SettingError) as error:
            search(run, **options)
        refused.append(error)
        assert (run / "lock").read_bytes() == b""
        code = "from fairprobe.store.run_folder import locked\nfrom pathlib import Path\n"
        code += f"with locked(Path({str(run)!r})): pass"
        assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize("name", ["lock", "end.json", "run.toml", "shards", "000000"])
@pytest.mark.parametrize("what", ["a link", "a link to nothing", "a pipe"])
def test_no_link_out_of_a_run_is_followed(run, tmp_path, name, what):
    mine = tmp_path / "mine"
    name = file_of(run, name) if name.isdigit() else name
    if what == "a link":
        (run / name).rename(mine) if (run / name).exists() else mine.write_text("mine")
    before = sorted(mine.rglob("*")) if mine.is_dir() else mine.read_bytes() if mine.exists() else None
    shutil.rmtree(run / name) if (run / name).is_dir() else (run / name).unlink(missing_ok=True)
    os.mkfifo(run / name) if what == "a pipe" else (run / name).symlink_to(mine)
    with pytest.raises(SettingError, match=r"store must (hold|be|have)") as error:
        search(run)
    assert error.value.argument == "store"
    assert (sorted(mine.rglob("*")) if mine.is_dir() else mine.read_bytes() if mine.exists() else None) == before


@pytest.mark.parametrize("name", ["end.json", "run.toml", "000000"])
def test_no_file_of_a_run_is_read_that_is_too_large(run, name):
    os.truncate(file_of(run, name) if name.isdigit() else run / name, 2**40)
    with pytest.raises(SettingError, match=r"store must .*files of at most 1,073,741,824 bytes, got 1,099,511,627,776"):
        search(run)


@pytest.mark.parametrize(
    "name", [".run.toml.{pid}.part", "..probe.{pid}.{pid}.part", ".probe.{pid}", "shards/.{canaries}.{pid}.part"]
)
def test_a_link_where_a_file_is_about_to_be_written(tmp_path, whole, name, one_run):
    mine = tmp_path / "mine"
    mine.write_text("mine")
    link = tmp_path / "run" / name.format(pid=os.getpid(), canaries=file_of(one_run, "canaries").name)
    link.parent.mkdir(parents=True)
    link.symlink_to(mine)
    assert bytes_of(search(tmp_path / "run")) == whole
    assert mine.read_text() == "mine"


def other_bytes(data):
    return data[:300] + bytes([data[300] ^ 4]) + data[301:]


@pytest.mark.parametrize("spoil", [None, other_bytes])
@pytest.mark.parametrize("kind", ["search", "estimate"])
def test_finished_shards_are_not_mixed_with_those_of_another_model(tmp_path, kind, spoil):
    """Without its canaries nothing tells whether the model is still the one that the finished shards are of."""
    path = tmp_path / "run"

    def call(model):
        if kind == "search":
            return search(path, model=model, max_cases=3000)
        return fairprobe.estimate(model, DOMAIN, n_experiments=2, n_samples=1000, store=path)

    call(quick)
    canaries = file_of(path, "canaries")
    data = canaries.read_bytes()
    canaries.unlink()
    if spoil is not None:
        canaries.write_bytes(spoil(data))
    with pytest.raises(SettingError, match="store must have the canaries that it was begun with"):
        call(quick)


@pytest.mark.parametrize("spoil", [lambda data: data[: len(data) // 2], other_bytes, lambda data: b""])
def test_a_damaged_shard_is_said_and_run_again(run, whole, spoil, shards_run):
    path = file_of(run, "000001")
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.warns(HealthWarning, match=r"damaged-shard: .*000001\..*parquet must be as it was written, got other"):
        found = search(run)
    assert (bytes_of(found), shards_run) == (whole, [1])
    assert [name for name, _ in found.health] == ["damaged-shard"]
    assert [name for name, _ in search(run).health] == []


@pytest.mark.parametrize(
    "content",
    [
        ShardContent({"a": np.zeros(10_000, dtype=np.int8)}),
        ShardContent({"a": np.zeros(1)}, {"b": np.zeros(10_000, int)}),
    ],
    ids=["table", "array"],
)
def test_a_shard_that_unpacks_to_too_much_is_refused_before_it_fills_the_memory(content, monkeypatch):
    data = to_bytes(content)
    assert len(from_bytes(data).columns["a"])
    monkeypatch.setattr(shard_file, "MOST_BYTES", 5_000)
    with pytest.raises(RunError, match="a shard must unpack to"):
        from_bytes(data)


def test_a_disk_that_is_full_or_read_only_for_a_while(tmp_path, whole, monkeypatch):
    write, left = Path.open, [12]

    def opened(self, mode="r", *arguments, **keywords):
        if mode == "xb" and "shards" in self.parts:
            left[0] -= 1
            if left[0] < 0:
                raise OSError(errno.ENOSPC if left[0] % 2 else errno.EROFS, "No space left on device")
        return write(self, mode, *arguments, **keywords)

    monkeypatch.setattr(Path, "open", opened)
    for room in (2, 1, 3):
        left[0] = room
        with pytest.raises(RunError, match=r"must be stored, got No space left on device: .*what was stored before"):
            search(tmp_path / "run")
    assert shards(tmp_path / "run")
    monkeypatch.undo()
    assert bytes_of(search(tmp_path / "run")) == whole


def failing(*error):
    def fails(*_):
        raise OSError(*error)

    return fails


def test_a_file_system_without_rename_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "replace", failing(errno.ENOTSUP, "Operation not supported"))
    with pytest.raises(SettingError, match="where files can be written and renamed, got Operation not supported"):
        search(tmp_path / "run")


def test_a_file_system_without_fsync_or_locks_is_said(tmp_path, whole, monkeypatch):
    monkeypatch.setattr(os, "fsync", failing(errno.EINVAL, "Invalid argument"))
    monkeypatch.setattr(run_folder.fcntl, "flock", failing(errno.EINVAL, "Invalid argument"))
    found = search(tmp_path / "run")
    assert [name for name, _ in found.health] == ["no-fsync", "no-lock"]
    assert bytes_of(found) == whole


@pytest.mark.filterwarnings("ignore:other-versions")
def test_a_run_that_an_earlier_version_wrote_is_read_and_goes_on(tmp_path, shards_run):
    """tests/store/assets/make.py made it when the format last changed."""
    path = tmp_path / "run"
    shutil.copytree(ASSETS / f"format-{FORMAT}", path)
    stored = StoredCases(path)
    entries, most = stored.of_result()
    frame = pd.concat(list(merged([(stored, entries)], most)), ignore_index=True)
    pd.testing.assert_frame_equal(frame, pd.read_csv(path / "cases.csv"), check_dtype=False)
    more = search(path, model_id="quick", shard_inputs=300, n_global=100, max_cases=600).to_frame()
    assert more.to_csv(index=False).startswith((path / "cases.csv").read_text())
    assert min(shards_run) == 3


def test_the_slow_model_is_the_quick_one(whole):
    assert bytes_of(search(model=kept_run.model)) == whole


PEOPLE = Domain([Integer("age", 17, 90), Integer("hours", 1, 9999), Integer("sex", 0, 1)], sensitive=["sex"])


def above(cut, hour=-1):
    """Of so few inputs another answer that canaries do not see it."""
    return lambda X: ((X[:, 0] > 50) & (X[:, 2] == 1)) ^ ((X[:, 1] == hour) & (X[:, 0] > cut))


def found(model, store, **more):
    return fairprobe.search(model, PEOPLE, store=store, max_inputs=2000, shard_inputs=1000, **more)


def share(model, store, **more):
    return estimate(model, PEOPLE, store=store, n_experiments=1, method="sample", **more)


def by_parameter(model, store, **more):
    shares = breakdown(model, PEOPLE, store=store, n_experiments=1, method="sample", **more)
    return shares["sex"]


CALLS = [found, share, by_parameter]


def holding_a_file(folder):
    """A model that nothing but its answers tell from another."""
    file = (folder / "log").open("w")
    model = above(0)
    return lambda X: model(X) if file else None, file


@pytest.mark.parametrize("call", CALLS)
def test_a_model_that_cannot_be_told_is_named(call, tmp_path):
    model, file = holding_a_file(tmp_path)
    with file:
        with (
            pytest.warns(HealthWarning, match=r"untold-model: .*TextIOWrapper.*model_id")
            if call is found
            else (pytest.MonkeyPatch.context())
        ):
            result = call(model, tmp_path / "one")
        assert "untold-model" in dict(result.health)
        with pytest.raises(SettingError, match=r"must be a new folder.*TextIOWrapper.*name the model with model_id"):
            call(model, tmp_path / "one")
        named = [call(model, tmp_path / "two", model_id="logging 1") for _ in range(2)]
        assert "untold-model" not in dict(named[0].health)
        with pytest.raises(SettingError, match=r"model\.id is 'logging 1', not 'logging 2'"):
            call(model, tmp_path / "two", model_id="logging 2")
    with (tmp_path / "two" / "run.toml").open("rb") as about:
        assert tomllib.load(about)["model"]["id"] == "logging 1"


def test_a_constraint_that_cannot_be_told(tmp_path):
    with (tmp_path / "log").open("w") as file:
        ruled = PEOPLE.with_constraints([lambda frame: (frame["age"] > 20) & bool(file)])
        options = {"store": tmp_path / "run", "max_inputs": 1000}
        fairprobe.search(above(0), ruled, **options)
        with pytest.raises(SettingError, match=r"nothing tells a constraint from another.*give it as text"):
            fairprobe.search(above(0), ruled, **options)


@pytest.mark.parametrize(("model_id", "store"), [("mine", None), ("", "run"), (" ", "run"), (3, "run")])
def test_names_that_are_none(model_id, store, tmp_path):
    for call in CALLS:
        with pytest.raises(SettingError, match="model_id"):
            call(above(0), store and tmp_path / store, model_id=model_id)


def test_an_audit_is_of_the_model_named(tmp_path):
    rows = PEOPLE.sample(30, seed=0)

    def hashed(cut, **more):
        return hash_of_model(above(cut, 7), PEOPLE, rows, "label", None, **more)

    assert hashed(20) == hashed(20)
    assert hashed(20) != hashed(30)
    assert hashed(20, model_id="mine") == hashed(30, model_id="mine")
    settings = {"domain": PEOPLE, "n_experiments": 1, "n_samples": 100, "search_cases": 5, "populations": ["rows"]}
    settings |= {"selfcheck": False, "store": tmp_path / "runs", "max_inputs": 200}
    audit = fairprobe.audit(above(20, 7), rows, **settings, model_id="mine")
    about = audit.content["about"]["model"]
    assert about["hash"] == hashed(30, model_id="mine")[0]
    assert "the name 'mine'" in about["hash_of"]
    for run in (tmp_path / "runs").iterdir():
        assert RunReader(run).about["model"]["id"] == "mine"


SCRIPT = Path(kept_run.__file__)
SLOW = "0.01"
"""Seconds that a call of the model takes, a dozen of which make a shard."""

WITHIN = 0.5
"""Seconds after the search has begun within which it is ended: some shards."""


def finished(run: Path) -> dict[str, str]:
    """The hashes of what is finished, by shard."""
    if not (run / "run.toml").exists():
        return {}
    return {name: entry.hash for name, entry in RunReader(run).entries.items() if name.isdigit()}


def end_often(command, run, numbers, rng):
    """Start the search again and again, and end each while it searches; gives how many were ended in the middle."""
    n_ended = 0
    for number in numbers:
        before, parts = finished(run), {*run.glob("shards/.*.part")}
        written = {name: RunReader(run).entries[name].path.stat().st_mtime_ns for name in before}
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            assert process.stdout.readline() == "begun\n"
            time.sleep(WITHIN * rng.random())
            process.send_signal(number)
            n_ended += process.wait(timeout=60) == -number
        after = finished(run)
        assert {name: after[name] for name in before} == before
        assert number == signal.SIGKILL or {*run.glob("shards/.*.part")} <= parts
        for name, when in written.items():  # no finished shard is run again
            assert RunReader(run).entries[name].path.stat().st_mtime_ns == when
    return n_ended


@pytest.mark.parametrize(
    ("numbers", "cases"),
    [
        ([signal.SIGKILL, signal.SIGTERM, signal.SIGKILL], 6000),
        pytest.param([signal.SIGKILL] * 50, 60_000, marks=pytest.mark.slow),
    ],
    ids=["some", "many"],
)
def test_ended_at_random_moments(tmp_path, numbers, cases):
    run, out = tmp_path / "run", tmp_path / "cases"
    command = [sys.executable, SCRIPT, run, out, SLOW, str(cases)]
    n_ended = end_often(command, run, numbers, random.Random(7))
    n_before = len(finished(run))
    subprocess.run([*command[:4], "0", str(cases)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    # All of them struck in the middle of the search, which had got somewhere and was not over.
    assert n_ended == len(numbers)
    assert n_ended < 50 or 10 < n_before < len(finished(run))
    assert out.read_bytes() == bytes_of(search(max_cases=cases))
