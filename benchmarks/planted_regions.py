"""Models that discriminate in known regions, which are written as rules and drawn anew for every seed.

They measure explanations: how much of the planted regions is found, and how much more than them, by volume.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Mask
from fairprobe.domain import Category, Domain, Integer, Link, Ordinal, Real, Rule

if TYPE_CHECKING:
    import pandas as pd

TOWNS = tuple(f"town-{number:02}" for number in range(40))
JOBS = ("clerk", "cook", "driver", "nurse", "smith")
SIZES = ("XS", "S", "M", "L", "XL", "XXL")
KIN = ("Husband", "Wife", "Child", "Other", "None")


@dataclass(frozen=True)
class PlantedRegions:
    """A model that refuses women, or takes them, otherwise than men in some regions and nowhere else."""

    domain: Domain
    rules: tuple[Rule, ...]
    """The regions."""

    def __call__(self, frame: pd.DataFrame) -> NDArray[Any]:
        """People of 40 or more get a yes; in a region, women get the contrary."""
        answer = frame["age"].to_numpy() >= 40
        return np.where(answer ^ (self.is_case(frame) & (frame["sex"].to_numpy() == "Female")), "yes", "no")

    def is_case(self, frame: pd.DataFrame) -> Mask:
        """Mask of the inputs that lie in a region."""
        return np.logical_or.reduce([rule.matches(frame) for rule in self.rules])

    def f1(self, rules: Sequence[Rule], n: int = 20_000, seed: int = 0) -> float:
        """How well regions agree with the planted ones, by volume."""
        if not rules:
            return 0.0
        rng = np.random.default_rng(seed)

        def inside(theirs: Sequence[Rule], ours: Sequence[Rule]) -> float:
            frame, weights = union_sample(self.domain, theirs, n, rng)
            return float(weights @ np.logical_or.reduce([rule.matches(frame) for rule in ours]) / weights.sum())

        precision, recall = inside(rules, self.rules), inside(self.rules, rules)
        return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def union_sample(
    domain: Domain, rules: Sequence[Rule], n: int, rng: np.random.Generator
) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    """Inputs of the union of some regions, and what each counts for: one that several hold is drawn more often."""
    parts = [domain.part([rule]) for rule in rules]
    sizes = np.array([float(part.n_valid or 0) for part in parts])
    codes: list[Codes] = [
        part.sample_codes(max(1, round(n * size / sizes.sum())), rng) for part, size in zip(parts, sizes, strict=True)
    ]
    frame = domain.decode(np.concatenate(codes))
    return frame, 1 / np.sum([rule.matches(frame) for rule in rules], axis=0)


def planted_domain(*, with_rules: bool = False, with_links: bool = False) -> Domain:
    """People with a dozen attributes of all kinds."""
    parameters = [
        Integer("age", 18, 90),
        Integer("income", 0, 20_000),
        Integer("hours", 1, 80),
        Integer("children", 0, 9),
        Real("rate", 0, 1, 0.05),
        Category("town", TOWNS),
        Category("job", JOBS),
        Category("kin", KIN),
        Category("member", [False, True]),
        Ordinal("size", SIZES),
        Integer("grade", 1, 16),
        Category("sex", ["Female", "Male"]),
    ]
    rules = ["age >= 30 or children <= 2", "job != 'nurse' or grade >= 5", "member or rate <= 0.8"]
    links = [Link("kin", "sex", [{"Male": "Husband", "Female": "Wife"}])]
    return Domain(parameters, ["sex"], rules if with_rules else (), links if with_links else ())


def _one(rng: np.random.Generator) -> list[str]:
    low, rate = int(rng.integers(20, 60)), int(rng.integers(4, 12)) * 5
    jobs = tuple(map(str, rng.choice(JOBS, 2, replace=False)))
    return [f"age >= {low} and age <= {low + 25} and rate >= {rate / 100} and job in {jobs}"]


def _three(rng: np.random.Generator) -> list[str]:
    hours, grade, income = int(rng.integers(20, 50)), int(rng.integers(3, 8)), int(rng.integers(2000, 12_000))
    town = tuple(map(str, rng.choice(TOWNS, 8, replace=False)))
    return [
        f"age <= 35 and hours >= {hours} and size in ('L', 'XL', 'XXL')",
        f"age >= 60 and grade <= {grade} and income >= {income} and income <= {income + 6000}",
        f"age >= 36 and age <= 59 and town in {town} and children >= 3",
    ]


def _xor(rng: np.random.Generator) -> list[str]:
    hours, grade = int(rng.integers(25, 55)), int(rng.integers(5, 11))
    return [f"hours < {hours} and grade >= {grade}", f"hours >= {hours} and grade < {grade}"]


def _thin(rng: np.random.Generator) -> list[str]:
    age, income, hours = int(rng.integers(20, 80)), int(rng.integers(0, 19_000)), int(rng.integers(1, 70))
    # 10/73 x 1,000/20,001 x 8/80 x 1/6 is about one in ten thousand.
    return [
        f"age >= {age} and age <= {age + 9} and income >= {income} and income < {income + 1000} and "
        f"hours >= {hours} and hours <= {hours + 7} and size == '{rng.choice(SIZES)}'"
    ]


def _towns(rng: np.random.Generator) -> list[str]:
    return [f"town in {tuple(map(str, rng.choice(TOWNS, 7, replace=False)))} and children <= {int(rng.integers(2, 7))}"]


def _kin(rng: np.random.Generator) -> list[str]:
    low = int(rng.integers(25, 60))
    return [f"kin in ('Husband', 'Wife') and age >= {low} and age <= {low + 20}", "kin == 'Child' and rate >= 0.5"]


_MADE: dict[str, tuple[Callable[[np.random.Generator], list[str]], dict[str, bool]]] = {
    "one": (_one, {}),
    "three": (_three, {}),
    "xor": (_xor, {}),
    "thin": (_thin, {}),
    "towns": (_towns, {}),
    "one, rules": (_one, {"with_rules": True}),
    "three, rules": (_three, {"with_rules": True}),
    "kin, links": (_kin, {"with_links": True}),
    "kin, rules and links": (_kin, {"with_rules": True, "with_links": True}),
}

PLANTED: tuple[str, ...] = tuple(_MADE)
"""Regions to plant: one box, three, an XOR of two parameters (two boxes), one in ten thousand, some of forty values.

Some where rules forbid inputs, or where a link changes something along.
"""


def planted_regions(name: str, seed: int = 0) -> PlantedRegions:
    """A model with regions drawn by a seed."""
    make, domain = _MADE[name]
    texts = make(np.random.default_rng([seed, *name.encode()]))
    return PlantedRegions(planted_domain(**domain), tuple(map(Rule, texts)))
