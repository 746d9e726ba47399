"""Compiled twins: an input and all its twins scored together, to propose what the model then confirms."""

from fairprobe.accelerate.asker import quick_asker
from fairprobe.accelerate.check import agrees
from fairprobe.accelerate.compile import compile_twins, may_screen
from fairprobe.accelerate.protocol import Twins

__all__ = ["Twins", "agrees", "compile_twins", "may_screen", "quick_asker"]
