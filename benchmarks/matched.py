"""Matched twins against every bar of their design; prints one table.

    python benchmarks/matched.py [--quick] [--only census,coin,worlds,coverage]

- census: a classifier of moved people and real people of the other group, on rows that were not learned from; rules
  broken; the part of the observed difference between groups that is reproduced.
- coin: the attribute is a coin, on the census and on data made like German credit and like COMPAS.
- worlds: planted worlds, where everybody's twin is known: 6 kinds, 5,000 rows.
- coverage: how often the interval contains the share of the people that the rows of a planted world are drawn from.

`--quick` runs a few seeds of each, in less than a minute; the bars are for the whole run, which takes ten.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # threads that wait would count as work

import numpy as np
import pandas as pd

from _common import print_table
from fairprobe import Domain
from fairprobe.datasets import load_census
from fairprobe.estimation.matched import matched_share
from fairprobe.estimation.matched_result import Matched
from fairprobe.estimation.matching import Binned, GroupMove

Row = tuple[str, str, str, str]

N = 5_000
"""Number of rows of a planted world."""


def main() -> None:
    """Print a table with a row for each bar: what is measured, the bar, the figure, and if it holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="census,coin,worlds,coverage")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    parts = {"census": on_census, "coin": with_a_coin, "worlds": in_worlds, "coverage": covered}
    print_table(
        ["what", "bar", "measured", "holds"],
        (row for name in options.only.split(",") for row in parts[name](options.quick)),
    )


def held_to(what: str, bar: str, figure: str, holds: bool) -> Row:
    """A row of the table."""
    return what, bar, figure, "yes" if holds else "NO"


# The census


def on_census(_: bool) -> Iterator[Row]:
    """Moved people against real people, on rows that were not learned from."""
    learn, test = (load_census(encoded=False, split=split)[0] for split in ("train", "test"))
    X = pd.concat([learn, test], ignore_index=True)
    domain = Domain.from_frame(X, ["sex"], hidden=["sex"])
    columns = [Binned.of(domain[name], X[name]) for name in X if name != "sex"]
    group = (X["sex"] == "Male").to_numpy().astype(np.int64)
    transport = GroupMove.learn(columns, group, learned=np.arange(len(learn)))
    rows = np.arange(len(learn), len(X))
    moved = transport.draw(rows, np.random.default_rng(0))
    real = np.stack([column.codes[rows] for column in columns], axis=1)
    is_ordered = np.array([column.is_ordered for column in columns])
    for target, name in ((1, "women moved to men"), (0, "men moved to women")):
        there, here = group[rows] == target, group[rows] != target
        auc = told_apart(moved[here], real[there], is_ordered)
        yield held_to(f"census: AUC of {name}", "<= 0.58", f"{auc:.3f}", auc <= 0.58)
    auc = told_apart(real[group[rows] == 0], real[group[rows] == 1], is_ordered)
    yield held_to("census: AUC of unmoved people", "about 0.93", f"{auc:.3f}", auc > 0.9)
    yield from broken_rules(domain, X, learn, columns, rows, moved, group)
    yield from reproduced(learn, test)


def told_apart(one: Any, other: Any, is_ordered: Any) -> float:
    """The area under the curve of a classifier of two sets of rows; each third is tested, the others are learned."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    X, y = np.concatenate([one, other]), np.repeat([0, 1], [len(one), len(other)])
    model = HistGradientBoostingClassifier(random_state=0, categorical_features=~is_ordered)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    return float(roc_auc_score(y, cross_val_predict(model, X, y, cv=folds, method="predict_proba")[:, 1]))


def broken_rules(domain: Domain, X: Any, learn: Any, columns: Any, rows: Any, moved: Any, group: Any) -> Iterator[Row]:
    """How many people break the rules that hold of the rows learned from, before and after they are moved."""
    rules = Domain.from_frame(learn, ["sex"]).mine_constraints(learn)
    restricted = Domain.from_frame(X, ["sex"]).with_constraints([rule.text for rule in rules])
    twins = X.iloc[rows].copy()
    for place, column in enumerate(columns):
        twins[column.name] = X[column.name].array.take(column.firsts[moved[:, place]])
    twins["sex"] = np.where(group[rows] == 1, "Female", "Male")
    broken = [float((~restricted.allows(restricted.encode(frame))).mean()) for frame in (X.iloc[rows], twins)]
    figure = f"{broken[1]:.2%} (real rows {broken[0]:.2%}, {len(rules)} rules)"
    yield held_to("census: moved people who break a rule", "<= real rows", figure, broken[1] <= broken[0])


def reproduced(learn: Any, test: Any) -> Iterator[Row]:
    """The part of the difference between women's and men's rates that the twins reproduce."""
    y = load_census(encoded=False, split="train")[1]
    model = fitted(learn.drop(columns="sex"), y)
    domain = Domain.from_frame(learn, ["sex"], hidden=["sex"])
    for name, keep in (("by default", None), ("nothing", [])):
        found = matched_share(model, domain, test, keep=keep, favourable=">50K", rows_are="held-out")
        figure = f"{found.pairs[0].reproduced:.1%} (share {found.value:.1%}, worse off {found.worse_off})"
        holds = found.pairs[0].reproduced >= 0.8 or found.has("difference-not-reproduced")
        yield held_to(f"census: difference reproduced, kept {name}", ">= 80%, or a remark", figure, holds)


def fitted(X: Any, y: Any) -> Any:
    """A gradient boosting pipeline."""
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    text = [name for name in X if X[name].dtype.kind not in "ifb"]
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)
    columns = make_column_transformer((encoder, text), remainder="passthrough")
    return make_pipeline(columns, HistGradientBoostingClassifier(max_iter=60, random_state=0)).fit(X, y)


# A coin as attribute


def with_a_coin(quick: bool) -> Iterator[Row]:
    """Shares where the attribute is a coin, and so has nothing to do with anybody."""
    n_seeds = 3 if quick else 40
    for name, made in (("census", census_rows), ("credit", credit_rows), ("recidivism", recidivism_rows)):
        X, y = made(0)
        model = fitted(X, y)
        shares = []
        for seed in range(n_seeds):
            coin = np.where(np.random.default_rng([7, seed]).random(len(X)) < 0.5, "heads", "tails")
            rows = X.assign(coin=coin)
            domain = Domain.from_frame(rows, ["coin"], hidden=["coin"])
            shares.append(matched_share(model, domain, rows, keep=[], seed=seed, n_draws=5).value)
        few, most = np.mean(np.array(shares) <= 0.005), max(shares)
        yield held_to(f"coin, {name}: runs with a share <= 0.5%", ">= 95%", f"{few:.1%}", bool(few >= 0.95))
        yield held_to(f"coin, {name}: largest share", "<= 5%", f"{most:.2%}", most <= 0.05)


def census_rows(seed: int) -> tuple[Any, Any]:
    """Rows of the census, without sex."""
    X, y = load_census(encoded=False, split="train")
    some = np.random.default_rng(seed).permutation(len(X))[:N]
    return X.drop(columns="sex").iloc[some].reset_index(drop=True), y.iloc[some].reset_index(drop=True)


def credit_rows(seed: int) -> tuple[Any, Any]:
    """1,000 rows like German credit: amounts that grow with the duration, jobs, savings, and who repaid."""
    rng = np.random.default_rng(seed)
    n = 1000
    age = np.clip(rng.gamma(6, 6, n) + 18, 19, 75).astype(int)
    job = rng.choice(["unskilled", "skilled", "manager"], n, p=[0.22, 0.63, 0.15])
    duration = np.clip(np.round(rng.gamma(3, 7, n) / 6) * 6, 6, 72).astype(int)
    amount = np.round(np.exp(rng.normal(6.2, 0.55, n)) * duration**0.6 * np.where(job == "manager", 1.4, 1.0)).astype(
        int
    )
    savings = rng.choice(["none", "little", "some", "rich"], n, p=[0.18, 0.6, 0.12, 0.1])
    account = rng.choice(["negative", "little", "none", "rich"], n, p=[0.27, 0.27, 0.4, 0.06])
    housing = np.where(rng.random(n) < np.clip((age - 20) / 40, 0.1, 0.85), "own", rng.choice(["rent", "free"], n))
    purpose = rng.choice(
        ["car", "radio", "furniture", "business", "education", "repairs"], n, p=[0.33, 0.28, 0.18, 0.1, 0.06, 0.05]
    )
    risk = 0.03 * duration + 0.00008 * amount - 0.5 * (savings == "rich") + 0.9 * (account == "negative") - 0.01 * age
    y = np.where(risk + rng.logistic(0, 0.7, n) > np.quantile(risk, 0.7), "bad", "good")
    told = {"age": age, "job": job, "duration": duration, "amount": amount, "savings": savings, "account": account}
    rest = {"housing": housing, "purpose": purpose, "rate": rng.integers(1, 5, n), "dependants": rng.integers(1, 3, n)}
    return pd.DataFrame(told | rest), y


def recidivism_rows(seed: int) -> tuple[Any, Any]:
    """6,000 rows like COMPAS: counts of earlier offences with many zeros, charges, and who was arrested again."""
    rng = np.random.default_rng(seed)
    n = 6000
    age = np.clip(rng.gamma(3, 6, n) + 18, 18, 90).astype(int)
    priors = rng.negative_binomial(0.6, 0.17, n)
    juvenile = rng.poisson(np.where(age < 25, 0.25, 0.05))
    charge = np.where(rng.random(n) < np.clip(0.55 + 0.02 * priors, 0, 0.95), "F", "M")
    days = np.where(rng.random(n) < 0.1, np.nan, np.round(rng.exponential(12, n) * (1 + (charge == "F"))))
    score = -1.0 + 0.15 * priors - 0.04 * (age - 30) + 0.4 * juvenile + 0.2 * (charge == "F")
    y = (score + rng.logistic(0, 1, n) > 0).astype(int)
    X = pd.DataFrame({"age": age, "priors": priors, "juvenile": juvenile, "charge": charge, "days": days})
    return X, y


# Planted worlds: a world makes the columns of people from their group and from what does not depend on it


def shifted(male: Any, u: dict[str, Any]) -> pd.DataFrame:
    """Income depends on sex, and debt on income."""
    income = 30 + 8 * u["a"] + 4 * male
    debt = np.round(0.4 * income + 3 * u["b"], 1)
    return pd.DataFrame({"income": np.round(income, 1), "debt": debt, "noise": np.round(u["c"], 2)})


def chained(male: Any, u: dict[str, Any]) -> pd.DataFrame:
    """Sex changes schooling, schooling changes income, income changes the loan: one edge from sex."""
    school = np.digitize(u["a"] + 0.5 * male, [-1, 0, 1])
    income = np.round(20 + 6 * school + 5 * u["b"], 0)
    loan = np.round(2 * income + 10 * u["c"], 0)
    return pd.DataFrame({"school": school, "income": income, "loan": loan, "town": u["town"]})


def with_roles(male: Any, u: dict[str, Any]) -> pd.DataFrame:
    """A married man is a husband, a married woman a wife; moved alone, one would be the other half of the time."""
    married = u["p"] < 0.45 + 0.08 * male
    spouse = np.where(male, "Husband", "Wife")
    role = np.where(married, spouse, np.where(u["q"] < 0.3, "Child", "Single"))
    hours = np.round(np.clip(36 + 6 * u["a"] + 2 * male * married, 5, 80))
    return pd.DataFrame({"status": np.where(married, "married", "not"), "role": role, "hours": hours})


def in_proportion(male: Any, u: dict[str, Any]) -> pd.DataFrame:
    """Income and rent both grow with sex, so that their ratio hardly does; moved alone, it would change for many."""
    income = np.exp(3 + 0.3 * u["a"] + 0.4 * male)
    rent = income * np.exp(-1.2 + 0.15 * u["b"] + 0.03 * male)
    return pd.DataFrame({"income": np.round(income, 2), "rent": np.round(rent, 2), "town": u["town"]})


def for_some(male: Any, u: dict[str, Any]) -> pd.DataFrame:
    """Sex changes hours for parents alone, and tenure is missing more often for women."""
    parent = u["p"] < 0.5
    hours = np.round(40 + 5 * u["a"] - 6 * (~male.astype(bool)) * parent)
    tenure = np.where(u["q"] < 0.3 - 0.15 * male, np.nan, np.round(8 + 4 * u["b"]))
    return pd.DataFrame({"parent": np.where(parent, "yes", "no"), "hours": hours, "tenure": tenure})


def elsewhere(male: Any, u: dict[str, Any]) -> pd.DataFrame:
    """Sex changes only a column that the model hardly uses."""
    sport = np.where(u["p"] < 0.3 + 0.3 * male, "football", "tennis")
    income = np.round(30 + 8 * u["a"])
    return pd.DataFrame({"sport": sport, "income": income, "spent": np.round(0.5 * income + 4 * u["b"])})


WORLDS: dict[str, tuple[Callable[[Any, dict[str, Any]], pd.DataFrame], Callable[[pd.DataFrame], Any]]] = {
    "shifted": (shifted, lambda X: X["income"] - X["debt"] > 20),
    "chained": (chained, lambda X: X["income"] - 0.2 * X["loan"] > 22),
    "roles": (with_roles, lambda X: X["role"].isin(["Husband", "Wife"]) | (X["hours"] > 42)),
    "proportion": (in_proportion, lambda X: X["rent"] / X["income"] < 0.31),
    "some": (for_some, lambda X: (X["hours"] > 39) & (X["tenure"].isna() | (X["tenure"] > 5))),
    "elsewhere": (elsewhere, lambda X: X["spent"] > 15 + (X["sport"] == "tennis") * (X["income"] > 45)),
}
"""Planted worlds by name: a function that makes people's columns, and the model."""


def people(name: str, n: int, seed: int) -> tuple[pd.DataFrame, Any]:
    """Rows of a world, and a mask of the people whose outcome their true twin does not get."""
    rng = np.random.default_rng([len(name), seed])
    make, model = WORLDS[name]
    u: dict[str, Any] = {each: rng.normal(size=n) for each in "abc"} | {each: rng.random(n) for each in "pq"}
    u["town"] = rng.choice(["north", "south", "east"], n)
    male = (rng.random(n) < 0.55).astype(int)
    X, twins = make(male, u), make(1 - male, u)
    flips = np.asarray(model(X)) != np.asarray(model(twins))
    return X.assign(sex=np.where(male, "m", "f")), flips


def estimated(name: str, seed: int, **settings: Any) -> tuple[Matched, Any]:
    """What matched twins say of a world, and the people who truly flip."""
    X, flips = people(name, N, seed)
    model = WORLDS[name][1]
    domain = Domain.from_frame(X, ["sex"], hidden=["sex"])

    def asked(rows: pd.DataFrame) -> Any:
        return np.asarray(model(rows)).astype(int)

    return matched_share(asked, domain, X, keep=[], seed=seed, batch="frame", **settings), flips


def in_worlds(quick: bool) -> Iterator[Row]:
    """Estimated shares and lists against the truth, by world."""
    off: list[float] = []
    right = listed = 0
    for name in WORLDS:
        mine, mine_right, mine_listed = [], 0, 0
        for seed in range(2 if quick else 20):
            found, flips = estimated(name, seed)
            mine.append(abs(found.value - flips.mean()))
            named = found.flips.to_numpy() >= 0.9
            mine_right, mine_listed = mine_right + int((named & flips).sum()), mine_listed + int(named.sum())
        off, right, listed = [*off, *mine], right + mine_right, listed + mine_listed
        part = np.mean(np.array(mine) <= 0.03)
        precision = f"precision {mine_right / mine_listed:.2f}" if mine_listed else "nobody"
        figure = f"largest error {max(mine):.2%}; list of {mine_listed:,}, {precision}"
        yield f"world {name} (last true share {flips.mean():.1%})", "", figure, f"{part:.0%}"
    few = float(np.mean(np.array(off) <= 0.03))
    yield held_to("worlds: shares within 3 points", ">= 90%", f"{few:.1%}", few >= 0.9)
    yield held_to("worlds: precision of the 90% list", ">= 0.80", f"{right / listed:.3f}", right / listed >= 0.8)


def covered(quick: bool) -> Iterator[Row]:
    """How often the interval contains the share of all people."""
    n_runs = 12 if quick else 200
    truth = {name: people(name, 400_000, 10_000)[1].mean() for name in WORLDS}
    runs: dict[str, list[tuple[float, float, float]]] = {name: [] for name in WORLDS}
    for run in range(n_runs):
        name = list(WORLDS)[run % len(WORLDS)]
        found, _ = estimated(name, 1000 + run)
        runs[name].append((found.value, found.low, found.high))
    n_covered = 0
    for name, of_world in runs.items():
        value, low, high = np.array(of_world).T
        is_covered = (low <= truth[name]) & (truth[name] <= high)
        n_covered += int(is_covered.sum())
        figure = (
            f"mean error {(value - truth[name]).mean():+.2%}, sd {value.std():.2%}, width {(high - low).mean():.2%}"
        )
        yield f"coverage, {name} (true share {truth[name]:.2%})", "", figure, f"{is_covered.mean():.0%}"
    part = n_covered / n_runs
    yield held_to(f"coverage of the 95% interval in {n_runs} runs", ">= 92%", f"{part:.1%}", part >= 0.92)


if __name__ == "__main__":
    main()
