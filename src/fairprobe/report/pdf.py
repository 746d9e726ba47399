"""Prints the page of a report as PDF with a Chromium that is installed on this machine; nothing is fetched."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from fairprobe.errors import RunError, SettingError

BROWSERS = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge", "microsoft-edge"),
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
"""Names and paths under which browsers of the Chromium family are installed. The first that is found is used."""

FLAGS = (
    *("--headless", "--disable-gpu", "--no-first-run", "--no-pdf-header-footer", "--disable-dev-shm-usage"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions"),
)

MOST_SECONDS = 120
"""Longest time that a browser may take to print a page; chosen: it takes seconds."""


def found_browser() -> str:
    """Return the path of a browser that can print a page; without one, a SettingError says what to install."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        rule = "a PDF needs a browser of the Chromium family (chromium, google-chrome or msedge) on the PATH, got none"
        raise SettingError(f"{rule}: install Chromium, or print the page of to_html from any browser")
    return found


def pdf(page: str) -> bytes:
    """Return the text of an HTML page as the bytes of a PDF, as it is printed."""
    browser = found_browser()
    # As root, a browser starts only without its sandbox. The page can fetch nothing and run nothing but its own script.
    as_root = ["--no-sandbox"] if getattr(os, "geteuid", lambda: 1)() == 0 else []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        source, target = Path(folder, "report.html"), Path(folder, "report.pdf")
        source.write_text(page, encoding="utf-8")
        places = [f"--user-data-dir={folder}/browser", f"--print-to-pdf={target}", source.as_uri()]
        try:
            done = subprocess.run(
                [browser, *FLAGS, *as_root, *places],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=MOST_SECONDS,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise RunError(f"{browser} must print the page, got {type(error).__name__}: {error}") from None
        if done.returncode or not target.exists():
            last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no file"]
            raise RunError(f"{browser} must print the page, got exit code {done.returncode}: {last[0]}")
        return target.read_bytes()
