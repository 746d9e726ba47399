"""Two versions of the package, side by side: the same cases from the same seed, and at what cost.

    python benchmarks/before_after.py OLD/src NEW/src [--turns 5] [--only svm] [--keep digests.json]

Each turn is a process of each version, one after the other, that does everything once; seconds are those of the
processor, as others use the machine too. A ratio is the median over turns of new / old, with its range. Digests are of
cases, twins, gaps, counts, shares, regions and an audit's figures: they must be the same, on one machine (fitted models
differ between machines). Where a digest has parts, each is of one kind of figure, in the order of the code.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

MODELS = ("decision-tree", "fair-svm", "mlp", "random-forest", "ensemble", "forest-100", "svm")
STRATEGIES = ("fully-directed", "anchored")
LIMITS: dict[str, dict[str, Any]] = {
    "10,000 cases": {"max_cases": 10_000, "max_inputs": 1_000_000},
    "300,000 inputs": {"max_cases": None, "max_inputs": 300_000},
}
FEW_OF_THE_SVM: dict[str, Any] = {"max_inputs": 60_000}


def main() -> None:
    """Print the table, or do one turn of one version."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*", type=Path)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--only", default="", help="tasks whose name holds this")
    parser.add_argument("--keep", type=Path, help="write the old version's digests here")
    parser.add_argument("--one-turn", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one_turn:
        for name, task in _tasks(options.only):
            print(json.dumps([name, *_measured(task)]), flush=True)
        return
    old, new = options.sources
    turns = [(_turn(old, options.only), _turn(new, options.only)) for _ in range(options.turns)]
    if options.keep:
        options.keep.write_text(
            json.dumps({name: digest for name, (_, digest) in turns[0][0].items()}, indent=1) + "\n"
        )
    _print(turns)


def _turn(source: Path, only: str) -> dict[str, tuple[float, str]]:
    command = [sys.executable, __file__, "--one-turn", "--only", only]
    environment = os.environ | {
        "PYTHONPATH": str(source.resolve()),
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return {name: (seconds, digest) for name, seconds, digest in map(json.loads, done.stdout.splitlines())}


def _print(turns: list[tuple[dict[str, tuple[float, str]], dict[str, tuple[float, str]]]]) -> None:
    from _common import print_table

    rows = []
    for name in turns[0][0]:
        ratios = sorted(new[name][0] / old[name][0] for old, new in turns)
        digests = {version[name][1] for turn in turns for version in turn}
        rows.append(
            [
                name,
                f"{statistics.median(old[name][0] for old, _ in turns):.3f}",
                f"{statistics.median(ratios):.2f}",
                f"{ratios[0]:.2f}-{ratios[-1]:.2f}",
                "same" if len(digests) == 1 else f"DIFFERENT: {' / '.join(sorted(digests))}",
            ]
        )
    print_table(["", "old, s", "new / old", "range", "result"], rows)


# One turn


def _tasks(only: str) -> Iterator[tuple[str, Callable[[], str]]]:
    import fairprobe
    from _common import model

    domain = fairprobe.datasets.census_domain()
    for name in MODELS:
        wanted = [
            (f"{name}, {strategy}, {limit}", strategy, settings)
            for strategy in STRATEGIES
            for limit, settings in LIMITS.items()
            if only in f"{name}, {strategy}, {limit}"
        ]
        subject = model(name) if wanted else None
        for title, strategy, settings in wanted:
            few = FEW_OF_THE_SVM if name == "svm" else {}
            yield title, partial(_search, subject, domain, strategy=strategy, **{**settings, **few})
    for title, task in (("estimate of the tree", _estimate), ("retraining of the tree", _retrain)):
        if only in title:
            yield title, partial(task, model("decision-tree"), domain)
    people = {
        "shares of rows, plain and linked": _rows,
        "explanation of a search from rows": _explain,
        "audit of a pipeline": _audit,
    }
    for title, asked in people.items():
        if only in title:
            yield title, partial(asked, *_pipeline())


def _measured(task: Callable[[], str]) -> tuple[float, str]:
    begun = time.process_time()
    digest = task()
    return time.process_time() - begun, digest


def _search(subject: Any, domain: Any, **settings: Any) -> str:
    import fairprobe

    found = fairprobe.search(subject, domain, seed=0, **settings)
    return _digest(found.to_frame().to_csv(), found.n_cases, found.n_inputs, found.n_judged)


def _estimate(tree: Any, domain: Any) -> str:
    import fairprobe

    shares = [fairprobe.estimate(tree, domain, seed=0, method=method) for method in ("sample", "exact")]
    return _digest(*[(share.hits, share.n, share.low, share.high) for share in shares])


def _retrain(tree: Any, domain: Any) -> str:
    import fairprobe

    X, y = fairprobe.datasets.load_census()
    better = fairprobe.retrain(tree, X, y, domain, augment=["twins", "flip"], max_rounds=3, seed=0)
    shares = [(share.hits, share.n) for share in (*better.before.values(), *better.after.values())]
    return _digest(shares, better.accuracy_before, better.accuracy_after, len(better.rounds))


@cache
def _pipeline() -> tuple[Any, Any, Any, Any]:
    """A tree of the natural census, people it was not fitted to, their labels, and a domain with a link and a rule."""
    from sklearn import compose, pipeline, preprocessing, tree

    import fairprobe

    (X, y), (people, earn) = (fairprobe.datasets.load_census(encoded=False, split=part) for part in ("train", "test"))
    X, people = (rows.drop(columns=["fnlwgt", "education-num"]) for rows in (X, people))
    codes = preprocessing.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    columns = compose.make_column_transformer((codes, [*X.select_dtypes(exclude="number")]), remainder="passthrough")
    model = pipeline.make_pipeline(columns, tree.DecisionTreeClassifier(min_samples_leaf=20, random_state=0)).fit(X, y)
    domain = fairprobe.Domain.from_frame(X, sensitive=["sex", "race"])
    domain = domain.with_links([fairprobe.Link("relationship", "sex", [{"Male": "Husband", "Female": "Wife"}])])
    domain = domain.with_constraints(["`capital-gain` == 0 or `capital-loss` == 0"])
    return model, people, earn, domain


def _rows(model: Any, people: Any, earn: Any, domain: Any) -> str:
    import fairprobe

    one = fairprobe.Domain.from_frame(people, sensitive=["sex"])
    asked = {"plain": one, "linked": domain, "apart": domain.with_sensitive(["race"])}
    shares = [fairprobe.estimate(model, each, people, favourable=">50K") for each in asked.values()]
    every = [one for share in shares for one in (share, share.plain) if one is not None]
    figures = [(s.hits, s.n, s.n_not_comparable, s.low, s.high, s.lower, s.upper, s.worse_off) for s in every]
    flips = [str(each.to_csv()) for s in every for each in (s.cases, s.twins, s.answers) if each is not None]
    return _digest(figures, flips)


def _explain(model: Any, people: Any, earn: Any, domain: Any) -> str:
    import fairprobe

    found = fairprobe.search(model, domain, start=people, max_cases=2_000, seed=0)
    why = fairprobe.explain(found, model, people, earn, favourable=">50K", max_queries=200_000, seed=0)
    return "-".join(
        [
            _digest(found.to_frame().to_csv()),
            _digest(why.table.to_csv()),
            _digest(why.influence.table.to_csv(), why.directions.table.to_csv()),
            _digest(why.n_cases, why.coverage),
        ]
    )


def _audit(model: Any, people: Any, earn: Any, domain: Any) -> str:
    import fairprobe

    audit = fairprobe.audit(
        model,
        people[:4000],
        earn[:4000],
        domain=domain,
        max_share=0.01,
        favourable=">50K",
        rows_are="held-out",
        explain_queries=100_000,
        selfcheck=False,
        seed=0,
    )
    content = audit.content
    named = ("population", "twins", "sensitive", "value", "low", "high", "hits", "n", "confidence")
    shares = [[share[name] for name in named] for share in content["shares"]]
    regions = [[region[name] for name in ("text", "precision", "low", "high")] for region in content["why"]["regions"]]
    flips = [[flip[name] for name in ("row", "changes", "answers")] for flip in content["rows"]["flips"]]
    return "-".join(
        [
            _digest(content["verdict"]["outcome"], shares),
            _digest(flips, content["rows"]["n_flipped"]),
            _digest(content["cases"]),
            _digest(regions),
            _digest(content["impact"]),
        ]
    )


def _digest(*content: object) -> str:
    return hashlib.sha256(repr(content).encode()).hexdigest()[:16]


if __name__ == "__main__":
    main()
