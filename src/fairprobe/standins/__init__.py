"""What proposes in a model's place, faster: an input and all its twins labelled together; the model itself confirms."""

from fairprobe.standins.compile import StandIn, compile_stand_in, may_screen
from fairprobe.standins.screen import DisagreementError, Screen, quick_asker

__all__ = ["DisagreementError", "Screen", "StandIn", "compile_stand_in", "may_screen", "quick_asker"]
