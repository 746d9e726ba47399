"""`random`: walkers around the seeds that learn nothing (the paper's AEQUITAS random)."""

from __future__ import annotations

from fairprobe.searching.strategy import Walk


class RandomWalk(Walk):
    """Every parameter and both directions stay equally likely."""
