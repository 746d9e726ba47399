"""How many rows may still be sent to a model."""

from __future__ import annotations

from fairprobe.oracle import Oracle


class Budget:
    """The queries left of a limit; None stands for no limit."""

    def __init__(self, oracle: Oracle, max_queries: int | None, *, reserved: int = 0) -> None:
        self._oracle = oracle
        self.max_queries = max_queries
        self._reserved = reserved
        self.cost = len(oracle.families) * (2 if oracle.asks_twice else 1)
        """Rows that one input takes at most."""

    @property
    def n_left(self) -> int | None:
        """Rows that may still be sent; None without a limit."""
        if self.max_queries is None:
            return None
        return max(0, self.max_queries - self._reserved - self._oracle.asker.n_queries)

    def part(self, part: float) -> Budget:
        """A part of what is left, as a budget of its own."""
        left = self.n_left
        return Budget(self._oracle, None if left is None else self._oracle.asker.n_queries + int(left * part))

    def inputs(self, n_wanted: int, part: float = 1.0) -> int:
        """How many of the inputs wanted a part of what is left is enough for."""
        left = self.n_left
        return n_wanted if left is None else min(n_wanted, int(left * part) // self.cost)
