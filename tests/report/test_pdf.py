"""The page as PDF: by a real Chromium where there is one, and clear errors where there is none or where it fails."""

from __future__ import annotations

import shutil

import pytest
from contents import content

from fairprobe.cli import main
from fairprobe.errors import RunError, SettingError
from fairprobe.report.html import html
from fairprobe.report.pdf import BROWSERS, pdf


@pytest.mark.skipif(not any(map(shutil.which, BROWSERS)), reason="no Chromium on this machine: scripts/browser gets it")
def test_a_page_becomes_a_pdf():
    made = pdf(html(content()))
    assert made.startswith(b"%PDF")
    assert made.count(b"/Type /Page\n") > 3 or made.count(b"/Type/Page") > 3


def test_without_a_browser_the_error_says_what_to_install_before_the_work(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SettingError, match=r"needs a browser of the Chromium family .*: install Chromium"):
        pdf("")
    (tmp_path / "rows.csv").write_text("sex,age\nF,3\n")
    asked = ["--model", "model.that.does.not.exist:m", "--data", str(tmp_path / "rows.csv"), "--sensitive", "sex"]
    assert main(["audit", *asked, "--pdf", str(tmp_path / "report.pdf")]) == 2
    assert "install Chromium" in capsys.readouterr().err


@pytest.mark.parametrize(("script", "got"), [("echo broken >&2; exit 7", "exit code 7: broken"), ("exit 0", "no file")])
def test_a_browser_that_fails_is_named_with_what_it_said(tmp_path, monkeypatch, script, got):
    (tmp_path / "chromium").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "chromium").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(RunError, match=f"chromium must print the page, got .*{got}"):
        pdf("")
