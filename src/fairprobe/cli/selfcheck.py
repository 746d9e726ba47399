"""`fairprobe selfcheck`: whether it measures right on this machine."""

from __future__ import annotations

from fairprobe.cli import options as o
from fairprobe.cli.command import Request
from fairprobe.cli.entry import FAILED
from fairprobe.cli.words import say
from fairprobe.errors import SettingError

OPTIONS = [o.own("seed", "int", "another seed draws other inputs.", o.HOW, default=0)]


def run(request: Request) -> int:
    """Search, estimate and explain models whose cases are planted, and see whether what is said of them is right.

    Exit code 0 if all checks passed, else 3. Takes some seconds.
    """
    from fairprobe.testing.selfcheck import selfcheck

    seed = request["seed"] or 0
    if seed < 0:
        raise SettingError(f"--seed must be a whole number of at least 0, got {seed}")
    result = selfcheck(seed)
    for check in result.checks:
        say(f"  {'ok    ' if check.ok else 'FAILED'}  {check.name}{f': {check.detail}' if check.detail else ''}", 10)
    say(result.line)
    return 0 if result.ok else FAILED
