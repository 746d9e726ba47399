"""Directed search: strategies that look for discriminatory inputs, and the result of a search."""

from fairprobe.searching.found import Found
from fairprobe.searching.limits import StopReason
from fairprobe.searching.registry import STRATEGIES, register
from fairprobe.searching.searching import search
from fairprobe.searching.strategy import Strategy, Walk

__all__ = ["STRATEGIES", "Found", "StopReason", "Strategy", "Walk", "register", "search"]
