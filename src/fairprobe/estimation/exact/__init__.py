"""Exact: the share of a tree, a small additive ensemble of trees or a linear classifier, counted instead of sampled."""

from fairprobe.estimation.exact.solved import NotSolved, Solved
from fairprobe.estimation.exact.solving import MAX_BOXES, MAX_HALF, solve

__all__ = ["MAX_BOXES", "MAX_HALF", "NotSolved", "Solved", "solve"]
