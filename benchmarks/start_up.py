"""The cost of starting: importing the package, the help, and a pytest run that does not use the plugin.

    python benchmarks/start_up.py [ROUNDS]

Seconds of CPU (user and system, of the process and its children), medians; all are run in turns, with warm bytecode. A
run of pytest has one empty test, with the plugin and with `-p no:fairprobe`.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from _common import print_table

PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:hypothesispytest")
COMMANDS = {
    "python": ("-c", "pass"),
    "import numpy": ("-c", "import numpy"),
    "import fairprobe": ("-c", "import fairprobe"),
    "import fairprobe, and its first use": ("-c", "import fairprobe; fairprobe.search"),
    "fairprobe --help": ("-m", "fairprobe", "--help"),
    "fairprobe search --help": ("-m", "fairprobe", "search", "--help"),
    "pytest": (*PYTEST, "test_empty.py"),
    "pytest -p no:fairprobe": (*PYTEST, "-p", "no:fairprobe", "test_empty.py"),
}
LIMITS = {"import fairprobe": 0.25, "fairprobe --help": 0.35}
PLUGIN_LIMIT = 0.020


def cpu_seconds(arguments: Sequence[str], folder: str, environment: dict[str, str]) -> float:
    """Of a run of Python."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure in turns, and print the table."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 21
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_empty.py").write_text("def test_empty():\n    pass\n", encoding="utf-8")
        for turn in range(rounds + 1):
            for name, arguments in COMMANDS.items():
                took = cpu_seconds(arguments, folder, environment)
                if turn:  # the first writes bytecode
                    seconds[name].append(took)
    medians = {name: statistics.median(each) for name, each in seconds.items()}
    rows = [[name, f"{medians[name]:.3f}", f"{min(each):.3f}", _limit(name)] for name, each in seconds.items()]
    pairs = zip(seconds["pytest"], seconds["pytest -p no:fairprobe"], strict=True)
    plugin = statistics.median(used - unused for used, unused in pairs)
    rows.append(["the plugin, unused", f"{plugin:.3f}", "", f"{PLUGIN_LIMIT:.3f}"])
    print_table(["seconds of CPU", "median", "least", "at most"], rows)


def _limit(name: str) -> str:
    return f"{LIMITS[name]:.2f}" if name in LIMITS else ""


if __name__ == "__main__":
    main()
