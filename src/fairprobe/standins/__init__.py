"""Stand-ins for models: they label an input and all its twins together, faster than the model. The model confirms."""

from fairprobe.standins.compile import StandIn, compile_stand_in, may_screen
from fairprobe.standins.screen import DisagreementError, Instead, Screen, quick_asker

__all__ = ["DisagreementError", "Instead", "Screen", "StandIn", "compile_stand_in", "may_screen", "quick_asker"]
