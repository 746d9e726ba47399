"""The paper's evaluation, made again."""

from fairprobe.reproduce.plan import FULL, QUICK, Plan
from fairprobe.reproduce.run import reproduce

__all__ = ["FULL", "QUICK", "Plan", "reproduce"]
