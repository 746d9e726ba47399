import subprocess
import sys

import pytest
from pages import ROOT


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The documentation, built strictly: a warning, as of a link to nowhere, is an error."""
    pytest.importorskip("mkdocs", reason="mkdocs is not installed: pip install 'fairprobe[docs]'")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder
