"""Mining rules and proposing links: on planted data, and on the natural census.

    python benchmarks/mining.py [--seeds 100] [--only rules|links|census]

- rules: data sets of which all planted rules are found (nine in ten at least of the shuffled rows that break one must
  break what was mined), and data sets without rules that get any.
- links: data sets whose planted roles are found, all and no others, and data sets without roles that get any.
- census: what is mined and proposed there, and the seconds that it takes.
"""

from __future__ import annotations

import argparse
import time
import warnings

import fairprobe
from fairprobe import Domain
from mining_worlds import mined, proposed, roles_are_found, rules_not_found, without_roles, without_rules


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--only", choices=("rules", "links", "census"))
    asked = parser.parse_args()
    warnings.simplefilter("ignore", fairprobe.errors.HealthWarning)
    for name, measure in (("rules", measure_rules), ("links", measure_links), ("census", show_census)):
        if asked.only in (None, name):
            measure(asked.seeds)


def measure_rules(n_seeds: int) -> None:
    """Planted rules, and none."""
    lost = {seed: texts for seed in range(n_seeds) if (texts := rules_not_found(seed))}
    print(f"planted rules: all found in {n_seeds - len(lost)} of {n_seeds} data sets {lost or ''}")
    false = {seed: [rule.text for rule in rules] for seed in range(n_seeds) if (rules := mined(without_rules(seed)))}
    print(f"no rules: {len(false)} of {n_seeds} data sets get any {false or ''}")


def measure_links(n_seeds: int) -> None:
    """Planted roles, and none."""
    lost = [seed for seed in range(n_seeds) if not roles_are_found(seed)]
    print(f"planted roles: found, and no others, in {n_seeds - len(lost)} of {n_seeds} data sets {lost or ''}")
    false = [seed for seed in range(n_seeds) if proposed(*without_roles(seed))]
    print(f"no roles: {len(false)} of {n_seeds} data sets get a link {false or ''}")


def show_census(_: int) -> None:
    """What the natural census gives."""
    X, _ = fairprobe.datasets.load_census(encoded=False, split="train")
    for sensitive in ("sex", "race"):
        domain = Domain.from_frame(X, sensitive=[sensitive])
        started = time.perf_counter()
        rules = domain.mine_constraints(X)
        between = time.perf_counter()
        links = domain.propose_links(X)
        seconds = between - started, time.perf_counter() - between
        print(f"\ncensus, sensitive {sensitive}, {X.shape[0]:,} x {X.shape[1]}: "
              f"{len(rules)} rules in {seconds[0]:.1f} s, {len(links)} links in {seconds[1]:.1f} s")  # fmt: skip
        for line in [rule.words() for rule in rules] + links.words():
            print(f"  {line if len(line) < 300 else f'{line[:120]} ... {line[-100:]}'}")


if __name__ == "__main__":
    main()
