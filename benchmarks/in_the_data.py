"""Was it in the data? How often `region_in_data` is right on data of which that is known.

python benchmarks/in_the_data.py [--seeds 100]
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter

from _common import print_table
from fairprobe.explanation.region_rows import InData
from label_worlds import WORLDS, verdict


def main() -> None:
    """Print the table: a row a world, a column a verdict."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=100)
    n_seeds = parser.parse_args().seeds
    warnings.simplefilter("ignore")
    rows = []
    for make in WORLDS.values():
        counts = Counter(verdict(make(seed)) for seed in range(n_seeds))
        rows.append([make.__name__.replace("_", " "), *(counts[each] for each in InData)])
    print_table(["world", *InData], rows)


if __name__ == "__main__":
    main()
