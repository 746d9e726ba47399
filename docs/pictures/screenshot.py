"""Takes the pictures of the tutorial's report, in the light and in the dark, with Chromium: `scripts/docs pictures`."""

from __future__ import annotations

import base64
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FLAGS = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update"
)
SIZE = {"width": 1180, "height": 860, "deviceScaleFactor": 1, "mobile": False}


def report(folder: Path) -> Path:
    """The report that the tutorial ends with."""
    import fairprobe

    page = (HERE.parent / "tutorial.md").read_text(encoding="utf-8")
    said = re.search(r'```python title="census.py"\n(.*?)```', page, re.DOTALL)
    assert said is not None, "the tutorial must have a census.py"
    names: dict[str, Any] = {}
    exec(said[1], names)
    spouse = fairprobe.Link("relationship", "sex", [{"Male": "Husband", "Female": "Wife"}])
    domain = fairprobe.Domain.from_frame(names["X"], sensitive=["sex"], links=[spouse])
    made = fairprobe.audit(
        names["model"],
        names["people"],
        names["income"],
        domain=domain,
        max_share=0.01,
        favourable=">50K",
        rows_are="held-out",
        name="census tree",
        data_name="US census of 1994, test rows",
    )
    made.to_html(folder / "report.html")
    return folder / "report.html"


def main() -> None:
    """Open the report and take what a screen shows of its top."""
    from selenium import webdriver

    # Both by their paths: Selenium would ask other hosts for what it does not find.
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver):
        sys.exit("no Chromium with its driver on this machine: scripts/browser gets them")
    with tempfile.TemporaryDirectory() as made:
        options = webdriver.ChromeOptions()
        options.binary_location = chromium
        for flag in (*FLAGS.split(), "--hide-scrollbars", f"--user-data-dir={made}/chromium"):
            options.add_argument(flag)
        page = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else report(Path(made))
        with webdriver.Chrome(options=options, service=webdriver.ChromeService(driver)) as browser:
            for scheme in ("light", "dark"):
                media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
                browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
                browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", SIZE)
                browser.get(page.as_uri())
                shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
                (HERE / f"report-{scheme}.png").write_bytes(base64.b64decode(shot["data"]))


if __name__ == "__main__":
    main()
