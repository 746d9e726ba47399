"""Installs a wheel into an empty environment and uses it there: the library, the command line, the plugin, the census.

python scripts/try_wheel.py dist/fairprobe-*.whl
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

LIBRARY = """
import sys
from pathlib import Path
import fairprobe
assert Path(fairprobe.__file__).is_relative_to(sys.prefix), fairprobe.__file__
assert Path(fairprobe.__file__).with_name("py.typed").exists()
X, y = fairprobe.datasets.load_census(encoded=False, split="test")
assert len(X) == len(y) == 16281
model = fairprobe.subjects.load("decision-tree")
found = fairprobe.search(model, fairprobe.datasets.census_domain(), max_cases=50)
assert found.n_cases == 50, found
share = fairprobe.estimate(model, fairprobe.datasets.census_domain(), n_experiments=10)
assert 0 < share.value < 0.1, share
print(fairprobe.__version__, found, share.sentence())
"""

TEST = """
from fairprobe import datasets, subjects

def test_gate(assert_no_discrimination):
    rows, _ = datasets.load_census(split="test")
    model = subjects.load("decision-tree")
    assert_no_discrimination(model, rows, domain=datasets.census_domain(), max_share=0.01)
"""

CENSUS = ["--model", "subject:decision-tree", "--domain", "fairprobe.datasets:census_domain"]


def main() -> None:
    """Install, use, and say what went wrong."""
    wheel = Path(sys.argv[1]).resolve()
    check_content(wheel)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "venv", with_pip=True)
        here = Trial(folder)
        here.run("pip", "install", "--quiet", str(wheel))
        here.run("python", "-c", LIBRARY, says="50 cases")
        here.run("fairprobe", "--version", says="fairprobe ")
        here.run("fairprobe", "search", *CENSUS, "--max-cases", "50", "--out", "cases.csv", says="50 cases")
        here.run("fairprobe", "replay", "cases.csv", *CENSUS, says="50 still hold", code=1)
        here.run("pip", "install", "--quiet", "pytest")
        (folder / "test_gate.py").write_text(TEST, encoding="utf-8")
        again = "again: pytest test_gate.py::test_gate --fairprobe-seed 0"
        here.run("pytest", "-q", "--fairprobe-budget", "20000", says=again, code=1)
        here.run("fairprobe", "replay", ".fairprobe", "--model", "subject:decision-tree", says="still hold", code=1)
    print(f"{wheel.name}: the library, the command line, the plugin and the census work in an empty environment")


class Trial:
    """Runs programs of an environment in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.programs = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
        self.environment = {**os.environ, "FAIRPROBE_CACHE": str(folder / "cache")}

    def run(self, program: str, *arguments: str, says: str = "", code: int = 0) -> None:
        """Run one; its exit code and something that it says must be these."""
        command = [str(self.programs / program), *arguments]
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        if done.returncode != code or says not in done.stdout:
            wanted = f"exit code {code} and {says!r}"
            raise SystemExit(f"{program}: wanted {wanted}, got {done.returncode}:\n{done.stdout}\n{done.stderr}")


def check_content(wheel: Path) -> None:
    """Only what is meant to be installed."""
    with zipfile.ZipFile(wheel) as file:
        tops = {name.partition("/")[0] for name in file.namelist()}
    info = {name for name in tops if name.endswith(".dist-info")}
    if tops - info != {"fairprobe", "fairprobe_pytest.py"}:
        raise SystemExit(f"the wheel must hold fairprobe and fairprobe_pytest.py alone, got {', '.join(sorted(tops))}")


if __name__ == "__main__":
    main()
