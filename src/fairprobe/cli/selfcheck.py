"""The command `fairprobe selfcheck`: checks that fairprobe measures correctly on this machine.

It uses models with planted cases, whose shares are therefore known.
"""

from __future__ import annotations

from fairprobe.blocks import Sentence, Table
from fairprobe.cli import FAILED
from fairprobe.cli import options as o
from fairprobe.cli.words import say_blocks


def run(seed: int = 0) -> int:
    """Search, estimate and explain models with planted cases, and check that the results are right.

    Exit code 0 if all checks passed, else 3. Takes some seconds.

    Args:
        seed: the seed of the random inputs; another seed draws other inputs.
    """
    from fairprobe.testing.selfcheck import selfcheck

    result = selfcheck(seed)
    facts = [("FAILED" if wrong else "ok", f"{name}: {wrong or ''}") for name, wrong in result.wrong.items()]
    say_blocks([Table.of_facts(facts), Sentence(result.line)])
    return 0 if result.ok else FAILED


OPTIONS = o.options_of(run)
