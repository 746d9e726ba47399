"""Stand-ins: they answer in place of a model, for an input and all its twins together, and faster.

The model confirms every reported case.
"""

from fairprobe.standins.compile import StandIn, compile_stand_in, may_screen
from fairprobe.standins.screen import DisagreementError, Instead, Screen, quick_asker

__all__ = ["DisagreementError", "Instead", "Screen", "StandIn", "compile_stand_in", "may_screen", "quick_asker"]
