"""What is sent to other processes is for nobody else, and no kill leaves it for long."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

import pytest

from fairprobe.engine.scratch import Scratch


@pytest.mark.parametrize("is_stored", [True, False])
def test_what_a_killed_process_left_is_taken_away(tmp_path, monkeypatch, is_stored):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    where = tmp_path / "run" if is_stored else None
    (tmp_path / "run").mkdir()
    code = "import os, signal, sys\nfrom pathlib import Path\nfrom fairprobe.engine.scratch import Scratch\n"
    code += f"made = Scratch({f'Path({str(where)!r})' if where else None})\nmade.write('task', b'model')\n"
    code += "print(made.path, flush=True)\nsys.stdin.read()"
    other = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    left = other.stdout.readline().strip()
    assert os.path.dirname(left) == str(where or tmp_path)
    assert (os.stat(f"{left}/task").st_mode & 0o777, os.stat(left).st_mode & 0o777) == (0o600, 0o700)
    Scratch(where).cleanup()
    assert os.path.exists(left), "its process lives"
    other.kill()
    other.communicate()
    assert os.path.exists(left)
    ours = Scratch(where)
    assert not os.path.exists(left)
    ours.cleanup()
    assert not ours.path.exists()
