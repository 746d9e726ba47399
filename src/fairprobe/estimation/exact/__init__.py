"""Exact shares of trees, small additive ensembles of trees and linear classifiers, counted instead of sampled."""

from fairprobe.estimation.exact.solving import NotSolved, Solved, solve

__all__ = ["NotSolved", "Solved", "solve"]
