"""The command line: `fairprobe demo`, `fairprobe search`, `fairprobe domain`.

Exit codes: 0 done, 2 wrong use or bad input, 3 the model or the run failed, 130 interrupted.
"""

from fairprobe.cli.entry import main

__all__ = ["main"]
