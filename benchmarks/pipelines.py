"""Pipelines over the natural census, and boosters on its categories: what tables of their preprocessing give.

Searches with tables, confirming all cases or a sample of them, take turns with searches without (`accelerate="off"`),
in one process and one thread. Times are of the process's CPU, as others use the machine too; the least of the turns
counts, as what else it does can only add to that. "Last step" is what the last step alone needs to predict the same
rows in the same batches, without strategy, recorder and counting; "overhead" is the search that confirms a sample over
that.

    python benchmarks/pipelines.py [--models logistic,tree] [--cases 300000] [--turns 3]

`asked` is what was asked for: how many times as many cases a second with a sample, and with all. Measured once, with
300,000 cases and 3 turns, beside other work (scikit-learn 1.9, pandas 3.1):

| model | cases/s: off | all | sample | sample / off | all / off | asked | overhead |
|---|---:|---:|---:|---:|---:|---:|---:|
| logistic | 54,461 | 166,929 | 903,143 | 16.58 | 3.07 | 20 and 4 | 3.88 |
| network | 45,375 | 153,199 | 584,527 | 12.88 | 3.38 | 10 and 3 | 2.40 |
| tree | 62,855 | 156,623 | 738,126 | 11.74 | 2.49 | 10 and 3 | 3.88 |
| boosting | 34,876 | 46,645 | 82,315 | 2.36 | 1.34 | 1.7 and 1.2 | 1.21 |
| lightgbm | 42,145 | 59,893 | 86,071 | 2.04 | 1.42 | 2 and 1.3 | 1.22 |
| xgboost | 40,279 | 53,814 | 82,519 | 2.05 | 1.34 | 2 and 1.3 | 1.16 |

Where the last step is quick, what is left is the search's own work, about a microsecond a case; more than half of it is
strategy, recorder and the counting of distinct inputs. To confirm a case takes two rows of the whole pipeline, 2.0 to
2.3 microseconds each in batches of 40,000 (5.6 in those of 2,000, without tables).
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # threads that wait would count as work

import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import fairprobe
from _common import print_table
from fairprobe.model.known import last_step
from fairprobe.standins import StandIn

ASKED = {
    "logistic": (20, 4),
    "network": (10, 3),
    "tree": (10, 3),
    "boosting": (1.7, 1.2),
    "lightgbm": (2, 1.3),
    "xgboost": (2, 1.3),
}
WAYS: dict[str, dict[str, Any]] = {"sample": {"confirm": "sample"}, "all": {}, "off": {"accelerate": "off"}}


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(ASKED))
    parser.add_argument("--cases", type=int, default=300_000)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    header = [
        "model",
        "cases/s: off",
        "all",
        "sample",
        "sample / off",
        "all / off",
        "asked",
        "last step",
        "overhead",
    ]
    print_table(header, (row(name, options.cases, options.turns) for name in options.models.split(",")))


def row(name: str, n_cases: int, turns: int) -> list[object]:
    """One model."""
    model, X = fitted(name)
    domain = fairprobe.Domain.from_frame(X, ["sex"])

    def found(how: str) -> fairprobe.Found:
        return fairprobe.search(model, domain, strategy="anchored", max_cases=n_cases, **WAYS[how])

    batches = list(batches_of(lambda: found("sample")))
    last = last_step(model)
    least = {how: float("inf") for how in (*WAYS, "last")}
    cases = {}
    for _ in range(turns):
        for how in WAYS:
            begun = time.process_time()
            cases[how] = found(how).cases
            least[how] = min(least[how], time.process_time() - begun)
        begun = time.process_time()
        for batch in batches:
            last.predict(batch)
        least["last"] = min(least["last"], time.process_time() - begun)
    assert cases["sample"].equals(cases["off"])
    assert cases["all"].equals(cases["off"])
    rates = {how: f"{len(cases['off']) / seconds:,.0f}" for how, seconds in least.items()}
    ratios = [f"{least['off'] / least[how]:.2f}" for how in ("sample", "all")]
    asked = "{} and {}".format(*ASKED[name])
    overhead = f"{least['sample'] / least['last']:.2f}"
    return [name, rates["off"], rates["all"], rates["sample"], *ratios, asked, f"{least['last']:.2f}", overhead]


def batches_of(run: Callable[[], object]) -> Iterator[Any]:
    """The batches that the last step is asked about in a run."""
    asked: list[Any] = []
    plain = StandIn.ask_families

    def record(self: StandIn, codes: Any) -> Any:
        asked.append((self.columns.form, codes))
        return plain(self, codes)

    with patch.object(StandIn, "ask_families", record):
        run()
    return (form.families(codes) for form, codes in asked)


def fitted(name: str) -> tuple[Any, pd.DataFrame]:
    """A model, and the rows that it was fitted on."""
    X, y = fairprobe.datasets.load_census(encoded=False)
    text = [column for column in X if X[column].dtype.kind not in "if"]
    numbers = [column for column in X if column not in text]
    if name in ("lightgbm", "xgboost"):
        X = X.astype(dict.fromkeys(text, "category"))
        return booster(name).fit(X, (y == ">50K").astype(int)), X
    if name == "boosting":
        encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)
        columns = make_column_transformer((encoder, text), remainder="passthrough")
        return make_pipeline(columns, HistGradientBoostingClassifier(random_state=0)).fit(X, y), X
    last = {
        "logistic": LogisticRegression(max_iter=300),
        "network": MLPClassifier((32,), max_iter=8, random_state=0),
        "tree": DecisionTreeClassifier(random_state=0),
    }[name]
    columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), text), (StandardScaler(), numbers))
    return make_pipeline(columns, last).fit(X, y), X


def booster(name: str) -> Any:
    """In one thread, by default settings."""
    if name == "lightgbm":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_jobs=1, verbose=-1)
    from xgboost import XGBClassifier

    return XGBClassifier(n_jobs=1, enable_categorical=True)


if __name__ == "__main__":
    main()
