"""`random`: walkers around the start cases that learn nothing (the paper's AEQUITAS random)."""

from __future__ import annotations

from fairprobe.searching.strategy import Walk


class RandomWalk(Walk):
    """Walks in which every parameter and both directions stay equally likely."""
