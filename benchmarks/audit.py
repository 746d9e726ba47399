"""Whole audits with the default effort: how long they take, how large its files are, whether bytes repeat.

    python benchmarks/audit.py [--models forest,boosting,two,sex-logistic,sex-boosting,sex-lightgbm]
                               [--twice] [--beside 4]

`forest` is the census forest of 10 trees, `boosting` a pipeline of gradient boosting on the natural census, with a link
and a rule; both are audited on training rows. The others are audits of all held-out people, with a link: `two` of a
one-hot boosting pipeline by sex and race, `sex-logistic`, `sex-boosting` and `sex-lightgbm` (which needs LightGBM) by
sex alone. Asked are seconds of the processor, with one thread: set OMP_NUM_THREADS=1. "First" are those until the share
of the rows is told: at most 5 are asked for.

`--beside 4` runs each audit again while so many other processes are busy, and tells how many times as much of the
processor it takes; at most 3 times is asked for. Leave OMP_NUM_THREADS unset for this.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import fairprobe
from _common import print_table
from fairprobe.progress import Status
from pipelines import fitted

ASKED = {"forest": 120, "boosting": 240, "two": 25, "sex-logistic": 8, "sex-boosting": 8, "sex-lightgbm": 8}


def arguments_of(name: str) -> tuple[Any, Any, Any, dict[str, Any]]:
    """The model, rows, labels and what else `audit` takes."""
    if name == "forest":
        X, y = fairprobe.datasets.load_census(split="train")
        about = {"domain": fairprobe.datasets.census_domain(), "favourable": 1}
        return fairprobe.subjects.load("random-forest"), X, y, about
    if name != "boosting":
        return of_people(name)
    model, _ = fitted("ordinal-boosting")
    X, y = fairprobe.datasets.load_census(encoded=False, split="train")
    domain = fairprobe.Domain.from_frame(X, ["sex"])
    domain = domain.with_links([fairprobe.Link("relationship", "sex", [{"Male": "Husband", "Female": "Wife"}])])
    domain = domain.with_constraints(["`capital-gain` == 0 or `capital-loss` == 0"])
    return model, X, y, {"domain": domain, "favourable": ">50K"}


def of_people(name: str) -> tuple[Any, Any, Any, dict[str, Any]]:
    """A one-hot pipeline fitted to the training rows, and the people who were held out."""
    kind: Any = HistGradientBoostingClassifier(random_state=0)
    if name == "sex-logistic":
        kind = LogisticRegression(max_iter=1000)
    elif name == "sex-lightgbm":
        from lightgbm import LGBMClassifier

        kind = LGBMClassifier(random_state=0, n_jobs=1, verbose=-1)
    (X, y), (people, income) = (fairprobe.datasets.load_census(encoded=False, split=part) for part in ("train", "test"))
    X, people = (rows.drop(columns=["fnlwgt", "education-num"]) for rows in (X, people))
    codes = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer((codes, [*X.select_dtypes(exclude="number")]), remainder="passthrough")
    domain = fairprobe.Domain.from_frame(X, ["sex", "race"] if name == "two" else ["sex"])
    domain = domain.with_links([fairprobe.Link("relationship", "sex", [{"Male": "Husband", "Female": "Wife"}])])
    about = {"domain": domain, "favourable": ">50K", "rows_are": "held-out"}
    return make_pipeline(columns, kind).fit(X, y), people, income, about


def measured(name: str, folder: Path) -> tuple[fairprobe.Audit, float, float, float]:
    """An audit, the seconds that it took, those of the processor, and those of the processor to the first result."""
    model, X, y, about = arguments_of(name)
    begun, used, told = time.perf_counter(), time.process_time(), list[float]()

    def note(status: Status) -> None:
        if status.is_over:
            told.append(time.process_time() - used)

    asked = {"rows_are": "training", "progress": note, **about}
    audit = fairprobe.audit(model, X, y, max_share=0.01, folder=folder, **asked)
    return audit, time.perf_counter() - begun, time.process_time() - used, told[0]


@contextmanager
def busy(n: int) -> Iterator[None]:
    """While `n` other processes take all of the processor that they get; they end when this one does."""
    spin = "import os\nmine = os.getppid()\nwhile os.getppid() == mine: pass"
    others = [subprocess.Popen([sys.executable, "-c", spin]) for _ in range(n)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(ASKED))
    parser.add_argument("--twice", action="store_true", help="run each again and compare the bytes")
    parser.add_argument("--beside", type=int, default=0, help="run each again while so many processes are busy")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for name in options.models.split(","):
        with TemporaryDirectory() as folder:
            audit, seconds, cpu, first = measured(name, Path(folder))
            beside = "-"
            if options.beside:
                with busy(options.beside), TemporaryDirectory() as other:
                    beside = f"{measured(name, Path(other))[2] / cpu:.2f}"
            sizes = [(Path(folder) / each).stat().st_size / 1e6 for each in ("audit.json", "report.html")]
            same = "-"
            if options.twice:
                before = (Path(folder) / "audit.json").read_bytes()
                measured(name, Path(folder))
                same = str((Path(folder) / "audit.json").read_bytes() == before)
            n_queries = sum(each["n_queries"] for each in audit.content["sampling"])
        figures = [f"{seconds:.0f}", f"{cpu:.1f}", ASKED[name], f"{first:.1f}", beside, f"{n_queries:,}"]
        rows.append([name, *figures, *(f"{size:.2f}" for size in sizes), audit.verdict.outcome, same])
    header = ("model", "seconds", "CPU s", "asked", "first", "beside", "queries", "audit.json MB", "report MB")
    print_table((*header, "verdict", "same bytes"), rows)


if __name__ == "__main__":
    main()
