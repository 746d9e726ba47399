"""`fairprobe selfcheck`: whether it measures right on this machine."""

from __future__ import annotations

from typing import Any

from fairprobe.cli.command import Request
from fairprobe.cli.entry import FAILED
from fairprobe.cli.options import HOW, option, whole
from fairprobe.cli.words import say
from fairprobe.errors import SettingError

OPTIONS = [option("seed", "N", "Another seed draws other inputs.", HOW, kind=Any, parser=whole, default=0)]


def run(request: Request) -> int:
    """Search, estimate and explain models whose cases are planted, and see whether what is said of them is right.

    Exit code 0 if all checks passed, else 3. Takes some seconds.
    """
    from fairprobe.testing.selfcheck import selfcheck

    if request["seed"] < 0:
        raise SettingError(f"--seed must be a whole number of at least 0, got {request['seed']}")
    result = selfcheck(request["seed"])
    for check in result.checks:
        say(f"  {'ok    ' if check.ok else 'FAILED'}  {check.name}{f': {check.detail}' if check.detail else ''}", 10)
    say(result.line)
    return 0 if result.ok else FAILED
