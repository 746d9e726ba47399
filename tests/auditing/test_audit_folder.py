"""Files of an audit: the run folder, attempts, the store, what is masked, and texts that stay texts."""

from __future__ import annotations

import json
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from audited import linked_domain, model, rows, small, titled

from fairprobe import Audit
from fairprobe.auditing.result import RunFolder
from fairprobe.auditing.state import MASKED, Mask
from fairprobe.errors import RunError, SettingError
from fairprobe.store.run_folder import RunReader

REPORTS = {"junit.xml", "model-card.md", "report.html", "report.md"}
FILES = {"attempts.jsonl", "audit.json", "cases.csv", "config.json", "domain.toml", *REPORTS}


def test_everything_is_there(tmp_path):
    audit = small(max_share=0.01, favourable="yes", folder=tmp_path / "run", title="Of <b>us</b>")
    assert {path.name for path in (tmp_path / "run").iterdir()} == FILES
    assert json.loads((tmp_path / "run/audit.json").read_text()) == audit.content
    assert "<b>Bree</b>" not in (tmp_path / "run/report.html").read_text().partition("<script")[0]


def test_attempts_are_counted(tmp_path):
    folder = tmp_path / "run"
    asked = {"folder": folder, "favourable": "yes", "populations": ["rows"]}
    first = small(max_share=0.01, **asked)
    written = (folder / "audit.json").read_bytes()
    assert len(small(max_share=0.01, **asked).content["about"]["attempts"]) == 1
    assert (folder / "audit.json").read_bytes() == written  # the same run gives the same bytes
    other = small(max_share=0.9, seed=7, **asked)
    assert other.content["digest"] != first.content["digest"]
    told = [(each["seed"], each["outcome"], each["is_this"]) for each in other.content["about"]["attempts"]]
    assert told == [(0, "violated", False), (7, "passed", True)]
    small(titled, max_share=0.01, **asked)  # another model
    ends = [json.loads(line)["outcome"] for line in (folder / "attempts.jsonl").read_text().splitlines()]
    assert ends == ["not finished", "violated", "not finished", "passed", "not finished", "violated"]


def test_ctrl_c_while_it_is_written_loses_nothing(tmp_path, monkeypatch):
    def interrupted(self, *_):
        signal.raise_signal(signal.SIGINT)
        return cases_table(self)

    cases_table = Audit.cases_table
    monkeypatch.setattr(Audit, "cases_table", interrupted)
    audit = small(max_share=0.01, folder=tmp_path / "run")
    assert audit.interrupted is None
    assert {path.name for path in (tmp_path / "run").iterdir()} == FILES


def test_one_that_is_broken_off_is_counted_too(tmp_path):
    def fails(frame):
        if len(frame) < 500:
            raise SystemExit
        return titled(frame)

    with pytest.raises(SystemExit):
        small(fails, folder=tmp_path)
    attempt = json.loads((tmp_path / "attempts.jsonl").read_text())
    assert attempt["outcome"] == "not finished"


def attempt_of(seed, outcome="not finished"):
    return {"model": "m", "data": "d", "config_hash": "c", "seed": seed, "date": None, "outcome": outcome}


def test_attempts_made_at_once_are_all_kept(tmp_path):
    """Each reads before any of the others has written, and each ends while others begin."""
    folders = [RunFolder(tmp_path) for _ in range(40)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda seed: folders[seed].note(attempt_of(seed)), range(40)))
        list(pool.map(lambda seed: folders[seed].note(attempt_of(seed, "passed")), range(40)))
    told = folders[0].note(attempt_of(0, "passed"))
    assert sorted(each["seed"] for each in told) == list(range(40))
    assert {each["outcome"] for each in told} == {"passed"}


@pytest.mark.parametrize("cut", [1, 20])
def test_a_torn_last_line_is_left_out(tmp_path, cut):
    RunFolder(tmp_path).note(attempt_of(0))
    path = tmp_path / "attempts.jsonl"
    path.write_text(path.read_text() + json.dumps(attempt_of(1))[:-cut])
    told = RunFolder(tmp_path).note(attempt_of(2, "passed"))
    assert [(each["seed"], each["outcome"]) for each in told] == [(0, "not finished"), (2, "passed")]
    assert len(RunFolder(tmp_path).note(attempt_of(3, "passed"))) == 3


@pytest.mark.parametrize("content", ["no JSON\n", "5\n", "[]\n"])
def test_attempts_that_cannot_be_read_are_refused(tmp_path, content):
    (tmp_path / "attempts.jsonl").write_text(content)
    with pytest.raises(SettingError, match="must hold the attempts of before"):
        RunFolder(tmp_path).note(attempt_of(0))


@pytest.mark.parametrize("what", ["a link", "a link to nothing", "a pipe"])
def test_attempts_are_not_written_elsewhere(tmp_path, what):
    """Nothing is written through a link, and nobody waits for a pipe."""
    mine, path = tmp_path / "mine", tmp_path / "run" / "attempts.jsonl"
    path.parent.mkdir()
    if what == "a link":
        mine.write_text("")
    os.mkfifo(path) if what == "a pipe" else path.symlink_to(mine)
    with pytest.raises(SettingError, match="folder must hold files of its own, got a link or a device"):
        RunFolder(tmp_path / "run").note(attempt_of(0))
    assert mine.exists() == (what == "a link")
    assert not mine.exists() or not mine.read_text()


def test_masks_hold_everywhere(tmp_path):
    town = {"mask": ["town", "title"], "folder": tmp_path, "show_rows": True}

    small(_looks_at_town, domain=linked_domain(), max_share=0.01, favourable="yes", **town)
    for path in tmp_path.iterdir():
        text = path.read_bytes().decode("utf-8", errors="replace")
        for value in ("Mordor", "Gondor", "Bree", "SUM(A1)", '"Mr"', '"Ms"', "Mr,"):
            assert value not in text, (path.name, value)
    assert MASKED in (tmp_path / "cases.csv").read_text()


def _looks_at_town(frame):
    """At what is masked, so that regions name it."""
    title, is_man = frame["title"], frame["sex"] == "Male"
    return np.where((frame["age"] > 30) & (frame["town"] != "Mordor") & (is_man | (title == "Ms")), "yes", "no")


def test_rows_are_not_shown_unless_asked_for(plain_audit):
    flip = plain_audit.content["rows"]["flips"][0]
    assert set(flip) == {"row", "own", "changes", "answers", "population"}
    assert flip["changes"] == [["sex", "Female", "Male"]] or flip["changes"] == [["sex", "Male", "Female"]]
    for case in plain_audit.content["cases"]:
        if case["origin"] is not None:
            assert set(case["case"]) == {"sex"}
    shown = small(max_share=0.01, show_rows=True)
    flip = shown.content["rows"]["flips"][0]
    assert flip["values"] == rows().loc[flip["row"]].to_dict()
    assert all(case["origin"] is not None for case in shown.content["cases"])


def test_mask_of_texts():
    mask = Mask(["town"], rows())
    assert mask.text("town == 'Mordor'") == "masked (about town)"
    assert mask.text("in Mordor") == MASKED
    assert mask.text("town") == "town"
    assert mask.text("downtown") == "downtown"
    assert mask.everywhere({"curves": {"town": [1, 2], "age": [3]}}) == {"curves": {"town": MASKED, "age": [3]}}
    assert mask.command("fairprobe audit --mask town") == "fairprobe audit --mask town"
    assert mask.command("fairprobe audit --mask town --constraint 'town != 3'") == MASKED


def test_a_folder_that_cannot_be_written_to_is_refused_before_the_work(tmp_path):
    (tmp_path / "file").write_text("")

    def asked(frame):
        raise AssertionError("asked")

    with pytest.raises(SettingError, match="folder must be a folder that can be written to"):
        small(asked, folder=tmp_path / "file")


def test_a_full_disk_loses_nothing_that_was_found(tmp_path, monkeypatch):
    replaced = Path.replace

    def no_space(path, target):
        if os.fspath(target).endswith("audit.json"):
            raise OSError(28, "No space left on device")
        return replaced(path, target)

    monkeypatch.setattr(Path, "replace", no_space)
    with pytest.raises(RunError, match="No space left") as caught:
        small(max_share=0.01, folder=tmp_path)
    assert caught.value.found.verdict.outcome == "violated"


def test_an_audit_goes_on_from_its_store(tmp_path):
    """Made again, it asks nothing twice."""
    asked = []

    def counted(frame):
        asked.append(len(frame))
        return model(frame)

    kept = {"store": tmp_path / "runs", "model_id": "counted"}  # the model's list of calls is no part of it
    first = small(counted, **kept)
    n, asked[:] = sum(asked), []
    again = small(counted, **kept)
    assert sum(asked) < n
    assert first.content["shares"] == again.content["shares"]
    kinds = {path.name: RunReader(path).kind for path in (tmp_path / "runs").iterdir()}
    assert {"search", "estimate"} == set(kinds.values())
