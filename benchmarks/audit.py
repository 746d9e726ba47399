"""Whole audits with the default effort: how long they take, how large its files are, whether bytes repeat.

    python benchmarks/audit.py [--models forest,boosting] [--twice]

`forest` is the census forest of 10 trees (asked: under 2 minutes on 2 cores), `boosting` a pipeline of gradient
boosting on the natural census, with a link and a rule (asked: under 4 minutes).
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import fairprobe
from _common import print_table
from pipelines import fitted

ASKED = {"forest": 120, "boosting": 240}


def arguments_of(name: str) -> tuple[Any, Any, Any, dict[str, Any]]:
    """The model, rows, labels and what else `audit` takes."""
    if name == "forest":
        X, y = fairprobe.datasets.load_census(split="train")
        about = {"domain": fairprobe.datasets.census_domain(), "favourable": 1}
        return fairprobe.subjects.load("random-forest"), X, y, about
    model, _ = fitted("ordinal-boosting")
    X, y = fairprobe.datasets.load_census(encoded=False, split="train")
    domain = fairprobe.Domain.from_frame(X, ["sex"])
    domain = domain.with_links([fairprobe.Link("relationship", "sex", [{"Male": "Husband", "Female": "Wife"}])])
    domain = domain.with_constraints(["`capital-gain` == 0 or `capital-loss` == 0"])
    return model, X, y, {"domain": domain, "favourable": ">50K"}


def measured(name: str, folder: Path) -> tuple[fairprobe.Audit, float, float]:
    """An audit, the seconds that it took, and those of the processor."""
    model, X, y, about = arguments_of(name)
    begun, used = time.perf_counter(), time.process_time()
    audit = fairprobe.audit(model, X, y, max_share=0.01, rows_are="training", folder=folder, **about)
    return audit, time.perf_counter() - begun, time.process_time() - used


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="forest,boosting")
    parser.add_argument("--twice", action="store_true", help="run each again and compare the bytes")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for name in options.models.split(","):
        with TemporaryDirectory() as folder:
            audit, seconds, cpu = measured(name, Path(folder))
            sizes = [(Path(folder) / each).stat().st_size / 1e6 for each in ("audit.json", "report.html")]
            same = "-"
            if options.twice:
                before = (Path(folder) / "audit.json").read_bytes()
                measured(name, Path(folder))
                same = str((Path(folder) / "audit.json").read_bytes() == before)
            n_queries = sum(each["n_queries"] for each in audit.content["sampling"])
        figures = [f"{seconds:.0f}", f"{cpu:.0f}", ASKED[name], f"{n_queries:,}", *(f"{size:.2f}" for size in sizes)]
        rows.append([name, *figures, audit.verdict.outcome, same])
    header = ("model", "seconds", "CPU s", "asked", "queries", "audit.json MB", "report MB", "verdict", "same bytes")
    print_table(header, rows)


if __name__ == "__main__":
    main()
