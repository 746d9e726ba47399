"""Files of results are whole or not there."""

import errno
import os

import pytest

from fairprobe.errors import RunError
from fairprobe.files import check_folder, flush, replace_with, write_bytes, write_results


def test_a_file_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / "result.csv"
    path.write_text("old")
    seen = []

    def write(part):
        part.write_text("new")
        seen.append(path.read_text())

    replace_with(path, write, is_durable=True)
    assert (seen, path.read_text(), os.listdir(tmp_path)) == (["old"], "new", ["result.csv"])


def test_a_failure_keeps_the_file_of_before_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "result.csv"
    path.write_text("old")

    def write(part):
        part.write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(RunError, match="must be written, got No space left on device: --out"):
        write_results(path, write, "--out")
    assert (path.read_text(), os.listdir(tmp_path)) == ("old", ["result.csv"])


def test_a_link_under_the_temporary_name_is_not_followed(tmp_path):
    other = tmp_path / "other"
    other.write_text("mine")
    (tmp_path / f".result.{os.getpid()}.part").symlink_to(other)
    write_bytes(tmp_path / "result", b"new")
    assert other.read_text() == "mine"


def test_a_file_system_that_cannot_flush_is_no_failure(tmp_path, monkeypatch):
    def fails(descriptor):
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, "fsync", fails)
    write_bytes(tmp_path / "result", b"new", is_durable=True)
    assert not flush(0)


def test_a_folder_is_tried_before_the_work(tmp_path):
    check_folder(tmp_path)
    assert not os.listdir(tmp_path)
    with pytest.raises(OSError, match="No such file"):
        check_folder(tmp_path / "nowhere")
