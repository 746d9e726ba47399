"""Where to look."""

from fairprobe.search.found import Found
from fairprobe.search.registry import STRATEGIES, register
from fairprobe.search.searching import search
from fairprobe.search.settings import StopReason
from fairprobe.search.strategy import Strategy, Walk

__all__ = ["STRATEGIES", "Found", "StopReason", "Strategy", "Walk", "register", "search"]
