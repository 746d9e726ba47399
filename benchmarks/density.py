"""Likely people: what a density fitted to the natural census is worth, and what a search within it finds.

    python benchmarks/density.py [--only fit|shares|search|nearest]

All on rows held out from every fit: those of the census's test part.

- fit: how likely held-out rows are, beside a tree of Chow and Liu over the same bins; how well a classifier tells
  samples from held-out rows; how many of either are copies of rows fitted to; the seconds that fitting takes.
- shares: the share of the density beside that of held-out rows, plain and linked, on six kinds of model.
- search: of 20,000 cases within mined rules and a plausibility of 5%, how many break a plain rule, and how many are far
  from any real row; yield at 30,000 inputs; what part of the time goes into plausibility.
- nearest: 100,000 cases against all rows.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # threads that wait would count as work

import numpy as np

import fairprobe
from _common import print_table
from fairprobe import Density, Domain, Link, estimate, search
from fairprobe.domain.factors import learned
from fairprobe.domain.nearest import nearest_rows
from fairprobe.wording import percent
from people import pipeline

LINKS = [Link("relationship", "sex", [{"Male": "Husband", "Female": "Wife"}])]
N = 10_000


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = {"fit": fit, "shares": shares, "search": searches, "nearest": nearest}
    parser.add_argument("--only", choices=list(parts))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name, part in parts.items():
        if options.only in (None, name):
            print(f"\n{name}\n")
            part()


@cache
def census(split: str) -> tuple[Any, Any]:
    """The rows and labels of a part of the natural census."""
    return fairprobe.datasets.load_census(encoded=False, split=split)  # type: ignore[arg-type]


def held_out(domain: Domain) -> np.ndarray:
    """The rows of the test part that are inputs of the domain, as codes."""
    codes = domain.encode(census("test")[0])
    return codes[domain.contains(codes)]


def fit() -> None:
    """The density itself."""
    rows = census("train")[0]
    domain = Domain.from_frame(rows, sensitive=["sex"])
    begun = time.process_time()
    density = Density.fit(domain, rows)
    seconds = time.process_time() - begun
    others = held_out(domain)
    rng = np.random.default_rng(0)
    # The tree has the rows that the density was fitted to, and those it was held against: more rather than less.
    codes = domain.encode(rows)
    bins = np.column_stack([each.bins_of(codes[:, place]) for place, each in enumerate(density.bins)])
    tree = Density(domain, density.bins, learned(bins, [len(each) for each in density.bins], 1), np.zeros(1), n_rows=0)
    known = {row.tobytes() for row in codes}
    table = []
    drawn = {
        "this density": (density, density.sample_codes(N, rng)),
        "Chow-Liu tree": (tree, tree.sample_codes(N, rng)),
        "uniform": (None, domain.sample_codes(N, rng)),
        "held-out rows": (None, others[:N]),
    }
    for name, (made, sample) in drawn.items():
        copies = np.mean([row.tobytes() in known for row in sample])
        logs = "" if made is None else f"{made.log_chances(others).mean():.3f}"
        told = "" if name == "held-out rows" else f"{_auc(sample, others[-N:], domain):.3f}"
        table.append([name, logs, told, percent(float(copies))])
    print_table(["", "log density of held-out rows", "AUC", "copies of training rows"], table)
    print(f"\nfitted in {seconds:.2f} s of the processor's time")
    likely = density.plausibility_of(domain.sample_codes(len(rows), rng))
    print(f"uniform inputs as plausible as 1% of held-out rows: {int((likely >= 0.01).sum()):,} of {len(rows):,}")
    part = float((density.plausibility_of(others) < 0.05).mean())
    print(f"rows of the test part below a plausibility of 0.05: {percent(part)}")


def _auc(sample: np.ndarray, rows: np.ndarray, domain: Domain) -> float:
    """How well gradient boosting, cross-validated, tells samples from rows."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import cross_val_score

    both = np.concatenate([sample, rows]).astype(float)
    labels = np.repeat([0, 1], [len(sample), len(rows)])
    names = [parameter.wraps for parameter in domain.parameters]
    classifier = HistGradientBoostingClassifier(categorical_features=names, random_state=0)
    return float(cross_val_score(classifier, both, labels, cv=5, scoring="roc_auc").mean())


def models() -> dict[str, Any]:
    """Six kinds of model for the natural census."""
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
    from sklearn.svm import LinearSVC
    from sklearn.tree import DecisionTreeClassifier

    rows = census("train")[0]
    text = [name for name in rows if rows[name].dtype.kind not in "if"]

    def one_hot(model: Any) -> Any:
        encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        return make_pipeline(make_column_transformer((encoder, text), remainder=StandardScaler()), model)

    def ordinal(model: Any) -> Any:
        encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1)
        return make_pipeline(make_column_transformer((encoder, text), remainder="passthrough"), model)

    return {
        "logistic regression": one_hot(LogisticRegression(max_iter=1000)),
        "linear SVM": one_hot(LinearSVC()),
        "MLP": one_hot(MLPClassifier((20,), max_iter=30, random_state=0)),
        "decision tree": ordinal(DecisionTreeClassifier(random_state=0)),
        "random forest": ordinal(RandomForestClassifier(50, random_state=0)),
        "gradient boosting": ordinal(HistGradientBoostingClassifier(random_state=0)),
    }


def shares() -> None:
    """The density's share beside that of held-out rows."""
    rows, labels = census("train")
    domain = Domain.from_frame(rows, sensitive=["sex"], links=LINKS)
    density = Density.fit(domain, rows)
    table, n_within = [], 0
    for name, model in models().items():
        model.fit(rows, labels)
        real = estimate(model, domain, census("test")[0])
        drawn = estimate(model, domain, density, n_experiments=20, n_samples=1000)
        assert real.plain is not None
        assert drawn.plain is not None
        for which, one, other in (("linked", real, drawn), ("plain", real.plain, drawn.plain)):
            # At 95% each: side by side, the error of the two would be split.
            low, high = _interval(one.hits, one.n)
            room = 0.15 * one.value
            is_within = low - room <= other.value <= high + room
            n_within += is_within
            between = f"{percent(low)} to {percent(high)}"
            table.append([f"{name}, {which}", percent(one.value), between, percent(other.value), "yes" * is_within])
    print_table(["", "held-out rows", "95% interval", "density", "within, widened by 15%"], table)
    print(f"\n{n_within} of {len(table)}")


def _interval(hits: int, n: int) -> tuple[float, float]:
    from fairprobe.estimation.bounds.intervals import clopper_pearson

    return clopper_pearson(hits, n, 0.95)


def searches() -> None:
    """Cases within mined rules and the density."""
    rows = census("train")[0]
    model = pipeline()
    plain = Domain.from_frame(rows, sensitive=["sex"], links=LINKS)
    mined = plain.mine_constraints(rows)
    kept = [rule for rule in mined if not rule.names & set(plain.sensitive)]
    print(f"{len(mined)} rules mined, {len(kept)} of them name no sensitive parameter and are kept:\n")
    for rule in kept:
        print(f"  {rule.text}")
    derived = [rule.derived for rule in kept if rule.derived is not None]
    domain = plain.with_derived(derived).with_constraints([rule for rule in kept if rule.derived is None])
    density = Density.fit(domain, rows)
    found = search(model, domain, strategy="auto", density=density, max_cases=20_000)
    cases = found.cases
    married = cases["marital-status"].isin(["Married-civ-spouse", "Married-AF-spouse"])
    spouse = cases["relationship"].isin(["Husband", "Wife"])
    broken = {
        "gain and loss both positive": (cases["capital-gain"] > 0) & (cases["capital-loss"] > 0),
        "Husband or Wife and not married": spouse & ~married,
        "a female husband": (cases["relationship"] == "Husband") & (cases["sex"] == "Female"),
        "a male wife": (cases["relationship"] == "Wife") & (cases["sex"] == "Male"),
    }
    codes = domain.encode(rows)
    codes = codes[domain.contains(codes)]
    far = nearest_rows(domain, domain.encode(cases), codes)[1]
    reference = float(np.quantile(nearest_rows(domain, held_out(domain), codes)[1], 0.99))
    uniform = search(model, plain, strategy="auto", max_cases=20_000)
    far_before = nearest_rows(plain, plain.encode(uniform.cases), codes)[1]
    any_broken = np.logical_or.reduce(list(broken.values()))
    print(f"\n{found.n_cases:,} cases, {found}\n")
    table = [[name, percent(float(mask.mean()))] for name, mask in {**broken, "any of these": any_broken}.items()]
    table.append(["farther from their nearest row than 99% of held-out rows", percent(float((far > reference).mean()))])
    table.append(["the same of a search of the whole domain", percent(float((far_before > reference).mean()))])
    print_table(["of the cases", ""], table)

    print()
    table = []
    for strategy in ("auto", "anchored", "guided", "fully-directed", "genetic"):
        within = _timed(lambda strategy=strategy: _search_within(model, domain, density, strategy))  # type: ignore[misc]
        table.append([strategy, *within])
    print_table(["30,000 inputs", "cases", "distinct inputs", "yield", "s", "of these plausibility"], table)


def _search_within(model: Any, domain: Domain, density: Density, strategy: str) -> Any:
    return search(model, domain, strategy=strategy, density=density, max_cases=None, max_judged=30_000)


def _timed(run: Callable[[], Any]) -> list[str]:
    """The least of three turns: what was found, the seconds, and what part of these looking at the density took."""
    spent = [0.0]
    inside = [False]
    methods = {name: getattr(Density, name) for name in ("log_chances", "sample_codes")}

    def watched(method: Any) -> Any:
        def call(*arguments: Any) -> Any:
            if inside[0]:
                return method(*arguments)
            inside[0], begun = True, time.process_time()
            try:
                return method(*arguments)
            finally:
                inside[0] = False
                spent[0] += time.process_time() - begun

        return call

    turns = []
    try:
        for name, method in methods.items():
            setattr(Density, name, watched(method))
        for _ in range(3):
            spent[0], begun = 0.0, time.process_time()
            found = run()
            seconds = time.process_time() - begun
            turns.append((seconds, spent[0] / seconds))
    finally:
        for name, method in methods.items():
            setattr(Density, name, method)
    seconds, part = min(turns)
    figures = [f"{found.n_cases:,}", f"{found.n_distinct:,}", percent(found.yield_)]
    return [*figures, f"{seconds:.2f}", percent(part)]


def nearest() -> None:
    """Nearest rows of many cases."""
    rows = census("train")[0]
    domain = Domain.from_frame(rows, sensitive=["sex"])
    density, codes = Density.fit(domain, rows), domain.encode(rows)
    table = []
    samples = {
        "drawn from the density": density.sample_codes(100_000, np.random.default_rng(0)),
        "uniform": domain.sample_codes(100_000, np.random.default_rng(0)),
    }
    for name, sample in samples.items():
        begun = time.perf_counter()
        far = nearest_rows(domain, sample, codes)[1]
        table.append([name, f"{time.perf_counter() - begun:.1f}", f"{far.mean():.3f}"])
    print_table([f"100,000 inputs against {len(codes):,} rows", "s", "mean distance"], table)


if __name__ == "__main__":
    main()
