"""Engines from the command line: what is refused, and what a failed scheduler comes to."""

from __future__ import annotations

import socket

import pytest

from fairprobe.cli import main

CENSUS = ["--model", "subject:decision-tree", "--domain", "fairprobe.datasets:census_domain"]


def test_a_scheduler_that_does_not_answer(monkeypatch, capsys):
    pytest.importorskip("distributed")
    monkeypatch.setattr("fairprobe.engine.dask.TIMEOUT_SECONDS", 1.0)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        engine = f"dask://127.0.0.1:{listener.getsockname()[1]}"
        assert main(["search", *CENSUS, "--engine", engine]) == 3
        assert main(["estimate", *CENSUS, "--engine", engine, "--method", "sample"]) == 3
    said = " ".join(capsys.readouterr().err.split())
    assert said.count("a Dask scheduler must answer within 1 s, got no answer from 127.0.0.1:") == 2
