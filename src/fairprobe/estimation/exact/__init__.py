"""Exact: the share of a tree, a small additive ensemble of trees or a linear classifier, counted instead of sampled."""

from fairprobe.estimation.exact.solving import NotSolved, Solved, solve

__all__ = ["NotSolved", "Solved", "solve"]
