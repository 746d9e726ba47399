"""Data with rules and roles planted in them, and data without: what mining and proposing are held against.

The tests use them too, with fewer seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fairprobe import Domain, Rule

ENOUGH = 60
"""A planted rule has enough support if so many shuffled rows break it."""
FORBIDDEN = 0.9
"""It is found if this part of them, at least, breaks what was mined."""

Generator = np.random.Generator
Columns = dict[str, Any]


@dataclass(frozen=True)
class Planted:
    """Rows that keep some rules."""

    frame: pd.DataFrame
    rules: list[str]


def _letters(rng: Generator, n: int, k: int) -> Any:
    return np.array([f"v{place}" for place in range(k)], dtype=object)[rng.integers(0, k, n)]


# Rules


def planted_rules(seed: int) -> Planted:
    """2,000 to 6,000 rows that keep rules of all kinds, each broken by 60 rows at least if columns are shuffled."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2000, 6000))
    columns: Columns = {"sex": rng.choice(["Female", "Male"], n), "noise": rng.normal(size=n).round(2)}
    columns["colour"] = _letters(rng, n, int(rng.integers(3, 12)))
    rules = [rule for plant in _PLANTS for rule in plant(rng, n, columns)]
    order = rng.permutation(len(columns))
    frame = pd.DataFrame({name: columns[name] for name in np.array(list(columns), dtype=object)[order]})
    return Planted(frame, rules)


def _two_values(rng: Generator, n: int, columns: Columns) -> list[str]:
    job, sector = _letters(rng, n, 5), _letters(rng, n, 4)
    sector[job == "v1"] = rng.choice(["v0", "v3"], int((job == "v1").sum()))
    columns |= {"job": job, "the sector": sector}
    return ["job != 'v1' or `the sector` not in ('v1', 'v2')"]


def _implied(rng: Generator, n: int, columns: Columns) -> list[str]:
    kin, state = _letters(rng, n, 6), _letters(rng, n, 5)
    bound = np.isin(kin, ["v0", "v1"])
    state[bound] = rng.choice(["v2", "v4"], int(bound.sum()), p=[0.97, 0.03])
    columns |= {"kin": kin, "state": state}
    return ["kin not in ('v0', 'v1') or state in ('v2', 'v4')"]


def _spikes(rng: Generator, n: int, columns: Columns) -> list[str]:
    gain, loss = (np.where(rng.random(n) < 0.25, rng.integers(100, 9000, n), 0) for _ in range(2))
    columns |= {"gain": gain, "loss": np.where(gain > 0, 0, loss)}
    return ["gain == 0 or loss == 0"]


def _follows(rng: Generator, n: int, columns: Columns) -> list[str]:
    school = _letters(rng, n, 8)
    years = {f"v{place}": 3 * place % 8 for place in range(8)}
    columns |= {"school": school, "years-of-school": np.array([years[value] for value in school])}
    return [f"school != '{value}' or `years-of-school` == {number}" for value, number in years.items()]


def _missing(rng: Generator, n: int, columns: Columns) -> list[str]:
    pays, amount = _letters(rng, n, 3), rng.integers(0, 1000, n).astype(float)
    amount[(pays == "v0") | (rng.random(n) < 0.05)] = np.nan
    columns |= {"pays": pays, "amount": amount}
    return ["pays != 'v0' or amount is missing"]


_PLANTS: list[Callable[[Generator, int, Columns], list[str]]] = [
    _two_values,
    _implied,
    _spikes,
    _follows,
    _missing,
]


def shuffled(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Rows without rules: the columns of a world, each in an order of its own."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame({name: frame[name].to_numpy()[rng.permutation(len(frame))] for name in frame.columns})


# No rules


def without_rules(seed: int) -> pd.DataFrame:
    """200 to 6,000 rows that keep no rule, of six kinds."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(200, 6000))
    kinds = [_independent, _correlated, _skewed, _with_missing, _with_spikes, _clustered]
    return pd.DataFrame({"sex": rng.choice(["Female", "Male"], n), **kinds[seed % len(kinds)](rng, n)})


def _independent(rng: Generator, n: int) -> Columns:
    names = {f"c{i}": _letters(rng, n, int(rng.integers(2, 9))) for i in range(8)}
    return names | {f"x{i}": (rng.normal(size=n) * 10).round() for i in range(4)}


def _correlated(rng: Generator, n: int) -> Columns:
    rho = rng.uniform(0.3, 0.99)
    z = rng.multivariate_normal(np.zeros(6), rho * np.ones((6, 6)) + (1 - rho) * np.eye(6), n).T
    shapes = [
        z[0],
        (z[1] * 10).round(),
        np.exp(z[2]),
        (np.exp(z[3]) * 5).round(),
        (z[4] * 3).round() + 5,
        z[5] * 3 + 20,
    ]
    return {f"x{i}": values for i, values in enumerate(shapes)}


def _skewed(rng: Generator, n: int) -> Columns:
    columns: Columns = {}
    for i in range(8):
        k = int(rng.integers(3, 40))
        weights = 1 / np.arange(1, k + 1) ** rng.uniform(0.5, 2)
        columns[f"c{i}"] = np.array([f"v{j}" for j in range(k)])[rng.choice(k, n, p=weights / weights.sum())]
    return columns


def _with_missing(rng: Generator, n: int) -> Columns:
    columns: Columns = {}
    for i in range(5):
        names, numbers = _letters(rng, n, 5), (rng.normal(size=n) * 5).round()
        names[rng.random(n) < rng.uniform(0, 0.5)] = None
        numbers[rng.random(n) < rng.uniform(0, 0.5)] = np.nan
        columns |= {f"c{i}": names, f"x{i}": numbers}
    return columns


def _with_spikes(rng: Generator, n: int) -> Columns:
    columns: Columns = {"c": _letters(rng, n, 3)}
    for i in range(6):
        amounts = np.exp(rng.normal(size=n) * 2 + 5).round()
        columns[f"x{i}"] = np.where(rng.random(n) < rng.uniform(0.2, 0.98), 0, amounts)
    return columns | {"hours": np.where(rng.random(n) < 0.5, 40, rng.normal(40, 12, n).round())}


def _clustered(rng: Generator, n: int) -> Columns:
    """Columns that go along with each other, but exclude nothing."""
    cluster = rng.integers(0, 4, n)
    columns: Columns = {f"x{i}": rng.normal(cluster * rng.uniform(0, 2), rng.uniform(0.3, 1.5)) for i in range(4)}
    for i in range(4):
        shares = (rng.dirichlet(np.full(5, 2.0), 4) * 0.8 + 0.04)[cluster].cumsum(axis=1)
        columns[f"c{i}"] = np.array(list("abcde"))[np.minimum((rng.random(n)[:, None] > shares).sum(axis=1), 4)]
        columns[f"r{i}"] = np.clip(rng.normal(cluster * rng.uniform(0, 2), rng.uniform(0.5, 1.5)).round(), 0, 5)
    columns["a"] = rng.gamma(2, 10, n).round()
    columns["b"] = (columns["a"] * rng.uniform(0.5, 2) + rng.normal(0, 5, n)).round()
    return columns


# Roles


def planted_roles(seed: int) -> tuple[pd.DataFrame, str, set[frozenset[tuple[str, str]]]]:
    """Rows with a column whose values play roles, the sensitive parameter, and each role's values by sensitive value.

    There are two to five sensitive values and one to three roles; other values of the column are for everybody. What
    goes along with a role in other columns is the same for all, but each sensitive value has habits of its own.
    """
    rng = np.random.default_rng(seed)
    n, n_groups, n_roles = int(rng.integers(2000, 6000)), int(rng.integers(2, 6)), int(rng.integers(1, 4))
    group = rng.choice(n_groups, n, p=rng.dirichlet(np.full(n_groups, 8.0)))
    part = rng.choice(n_roles + 2, n, p=rng.dirichlet(np.full(n_roles + 2, 8.0)))
    names = np.array([[f"{'r' if r < n_roles else 'all'}{r}{f'g{g}' if r < n_roles else ''}" for g in range(n_groups)]
                      for r in range(n_roles + 2)])  # fmt: skip
    columns: Columns = {"group": np.array([f"g{g}" for g in range(n_groups)])[group], "part": names[part, group]}
    columns |= _habits(rng, part, n_roles + 2, group, n_groups)
    roles = {frozenset((f"g{g}", str(names[r, g])) for g in range(n_groups)) for r in range(n_roles)}
    return pd.DataFrame(columns), "group", roles


def without_roles(seed: int) -> tuple[pd.DataFrame, str]:
    """Rows without roles: values for everybody, values of one group alone, or values whose profiles do not match."""
    rng = np.random.default_rng(seed)
    n, n_groups = int(rng.integers(500, 6000)), int(rng.integers(2, 6))
    group, part = rng.integers(0, n_groups, n), rng.integers(0, 5, n)
    labels = np.array([f"g{g}" for g in range(n_groups)])[group]
    value = np.array([f"p{p}" for p in range(5)], dtype=object)[part]
    own = part
    if seed % 3 == 1:  # one value of one group alone
        value[(part == 0) & (group > 0)] = "p1"
    if seed % 3 == 2:  # each group has a value of its own, and other habits go with each
        mine = part == 0
        value[mine] = np.array([f"only{g}" for g in range(n_groups)])[group[mine]]
        own = np.where(mine, 5 + group, part)
    columns = {"group": labels, "part": value, **_habits(rng, own, 5 + n_groups, group, n_groups)}
    return pd.DataFrame(columns), "group"


def _habits(rng: Generator, part: Any, n_parts: int, group: Any, n_groups: int) -> Columns:
    """Other columns that hang on the part, and a little on the group."""
    columns: Columns = {}
    for i in range(4):
        weights = rng.dirichlet(np.full(5, 0.7), n_parts)[part] * rng.dirichlet(np.full(5, 5.0), n_groups)[group] + 1e-3
        shares = (weights / weights.sum(axis=1, keepdims=True)).cumsum(axis=1)
        columns[f"c{i}"] = np.array(list("abcde"))[np.minimum((rng.random(len(part))[:, None] > shares).sum(axis=1), 4)]
    columns["age"] = rng.normal(40 + rng.normal(0, 8, n_parts)[part] + rng.normal(0, 2, n_groups)[group], 10).round()
    return columns


# What is found of them


def mined(frame: pd.DataFrame) -> list[Any]:
    """The rules of rows."""
    rules: list[Any] = Domain.from_frame(frame, sensitive=["sex"]).mine_constraints(frame)
    return rules


def rules_not_found(seed: int) -> list[str]:
    """The planted rules with enough support that what was mined does not forbid to break."""
    planted = planted_rules(seed)
    domain = Domain.from_frame(planted.frame, sensitive=["sex"])
    ruled = domain.with_constraints(domain.mine_constraints(planted.frame))
    rows = shuffled(planted.frame, seed)
    forbidden = ~ruled.restrictions.allows_rows(rows)
    lost = []
    for text in planted.rules:
        broken = ~Rule(text).matches(rows)
        if broken.sum() >= ENOUGH and forbidden[broken].mean() < FORBIDDEN:
            lost.append(text)
    return lost


def proposed(frame: pd.DataFrame, sensitive: str) -> Any:
    """The links that rows suggest."""
    return Domain.from_frame(frame, sensitive=[sensitive]).propose_links(frame)


def roles_are_found(seed: int) -> bool:
    """True if the links proposed are the planted roles and nothing else."""
    frame, sensitive, roles = planted_roles(seed)
    links = proposed(frame, sensitive)
    found = [frozenset(role.items()) for link in links for role in link.roles.values() if link.column == "part"]
    return set(found) == roles and all(link.column == "part" for link in links)
