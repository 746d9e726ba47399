"""Keys: what telling a million cases apart takes where a key fills two words, against where it fits one.

The two take turns, so that both see the same machine. First the set of keys alone, in batches as a search hands them
over: large ones, and the small ones of a search with a deadline. Then whole searches, whose limit is 1.5, of a cheap
model over twenty columns: of 26 values each (1.5e27 inputs), and of 6 each (1.2e15).

    python benchmarks/keys.py [--turns 5] [--cases 1000000]
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import numpy as np

import fairprobe
from _common import print_table, turns
from fairprobe.store import Distinct, Keys

N_COLUMNS = 20
ONE_WORD, TWO_WORDS = 6, 26
"""Values of a column."""

BATCHES = {"large batches": 400_000, "small batches": 2000}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--cases", type=int, default=1_000_000)
    options = parser.parse_args()
    rows = [
        *(_set_row(name, size, options.cases, options.turns) for name, size in BATCHES.items()),
        *(_search_row(strategy, options.cases, options.turns) for strategy in ("anchored", "uniform")),
    ]
    print_table(["what", "two words, s", "one word, s", "ratio", "spread"], rows)


def domain_of(n_values: int) -> fairprobe.Domain:
    """Twenty columns of so many values, one of two that is sensitive."""
    columns = [fairprobe.Integer(f"x{i}", 0, n_values - 1) for i in range(N_COLUMNS - 1)]
    return fairprobe.Domain([*columns, fairprobe.Integer("s", 0, 1)], sensitive=["s"])


def _model(n_values: int) -> Any:
    """A quarter of the inputs are cases."""
    middle = 3 * (n_values - 1) / 2

    def model(X: np.ndarray) -> np.ndarray:
        return X[:, 0] + X[:, 1] + X[:, 2] + 2 * n_values * X[:, -1] * (X[:, 3] % 2) > middle

    return model


def _set_row(name: str, size: int, n_keys: int, n_turns: int) -> list[object]:
    two, one = (partial(_fill, _batches(n_values, size, n_keys)) for n_values in (TWO_WORDS, ONE_WORD))
    return [f"set, {name}", *turns(two, one, n_turns)]


def _batches(n_values: int, size: int, n_keys: int) -> list[np.ndarray]:
    """Keys of uniform inputs, one in three of which came before."""
    domain = domain_of(n_values)
    rng = np.random.default_rng(0)
    words = Keys(domain).of(domain.sample_codes(n_keys, rng))
    again = words[rng.integers(0, n_keys, n_keys // 2)]
    both = rng.permutation(np.concatenate([words, again]))
    return np.split(both, range(size, len(both), size))


def _fill(batches: list[np.ndarray]) -> None:
    distinct = Distinct(batches[0].shape[1])
    for batch in batches:
        distinct.add(batch)


def _search_row(strategy: str, n_cases: int, n_turns: int) -> list[object]:
    two, one = (partial(_search, n_values, strategy, n_cases) for n_values in (TWO_WORDS, ONE_WORD))
    return [f"search, {strategy}", *turns(two, one, n_turns)]


def _search(n_values: int, strategy: str, n_cases: int) -> None:
    found = fairprobe.search(_model(n_values), domain_of(n_values), strategy=strategy, max_cases=n_cases)
    assert found.n_cases == n_cases


if __name__ == "__main__":
    main()
