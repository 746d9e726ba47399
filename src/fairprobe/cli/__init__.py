"""The command line: `fairprobe demo`, `fairprobe search`, `fairprobe estimate`, `fairprobe domain`.

Exit codes: 0 done or passed, 1 violated, 2 wrong use or bad input, 3 the model or the run failed, 4 inconclusive,
130 interrupted.
"""

from fairprobe.cli.entry import main

__all__ = ["main"]
