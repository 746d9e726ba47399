"""Small domains of all kinds with models drawn at random, and what brute force says of them."""

from collections import defaultdict

import numpy as np

from fairprobe import Category, Derived, Domain, Integer, Link, Ordinal, Real
from random_domains import every_input


def _plain():
    return Domain(
        [Integer("a", 0, 4), Integer("sex", 0, 1), Integer("b", 10, 40, 10), Integer("c", 0, 2)], sensitive=["sex"]
    )


def _categories():
    race = Category("race", ["x", "y", "z"])
    job = Category("job", ["clerk", "cook", "nurse", "smith"])
    return Domain([race, job, Real("rate", 0, 1, 0.25), Ordinal("grade", ["low", "mid", "high"])], sensitive=["race"])


def _missing():
    parameters = [Integer("a", 0, 4, missing=True), Category("job", ["x", "y"], missing=True), Integer("sex", 0, 1)]
    return Domain([*parameters, Integer("b", 0, 3)], sensitive=["sex"])


def _constraints():
    parameters = [Integer("gain", 0, 4), Integer("loss", 0, 4), Category("sex", ["F", "M"]), Integer("race", 0, 1)]
    rules = ["gain == 0 or loss == 0 or gain == loss", "sex == 'M' or race == 0 or gain < 3"]
    return Domain([*parameters, Category("job", ["x", "y", "z"])], sensitive=["sex", "race"], constraints=rules)


def _links():
    role = Ordinal("role", ["Husband", "Wife", "Own", "Other"])
    link = Link("role", "sex", [{"M": "Husband", "F": "Wife"}, {"M": "Own"}])
    shift = Link("height", "sex", shift={"F": 0, "M": 2})
    parameters = [role, Category("sex", ["F", "M"]), Integer("height", 0, 7), Category("job", ["x", "y", "z"])]
    return Domain(parameters, sensitive=["sex"], links=[link, shift], constraints=["role != 'Other' or height > 0"])


def _derived():
    years = Derived("years", "school", {"A": 3, "B": 9, "C": 12})
    parameters = [Category("school", ["A", "B", "C"]), Integer("sex", 0, 1), years, Integer("a", 0, 12)]
    return Domain(parameters, sensitive=["sex"], constraints=["years > 3 or a < 4"])


WORLDS = {
    "plain": _plain,
    "categories": _categories,
    "missing": _missing,
    "constraints": _constraints,
    "links": _links,
    "derived": _derived,
}


class World:
    """A domain, a model whose answers are drawn at random, and all families with what they are."""

    def __init__(self, name: str, seed: int, part: float = 0.15) -> None:
        self.domain = domain = WORLDS[name]()
        rng = np.random.default_rng(seed)
        self.levels = [p.levels for p in domain.parameters]
        self._labels = np.where(rng.random(self.levels) < part, rng.integers(1, 3, self.levels), 0)
        inputs = every_input(domain)
        self.inputs = inputs[(domain.completed(inputs) == inputs).all(axis=1)]
        self.keys = self.keys_at(self.inputs)
        families = defaultdict(set)
        for codes, key, allowed in zip(self.inputs, self.keys, domain.allows(self.inputs), strict=True):
            if allowed and min(key) >= 0:
                families[key].add((tuple(codes), int(self._labels[tuple(codes)])))
        self.families = {key: members for key, members in families.items() if len(members) > 1}
        self.cases = {key for key, members in self.families.items() if len({label for _, label in members}) > 1}

    def keys_at(self, codes):
        """The coordinates that count, by input."""
        return [*map(tuple, self.domain.families.canonical(codes)[:, list(self.domain.free_columns)].tolist())]

    def keys_of(self, frame):
        return self.keys_at(self.domain.encode(frame))

    def model(self, frame):
        return self._labels[tuple(self.domain.encode(frame).T)]

    def some_cases(self, n):
        firsts = [min(self.families[key])[0] for key in sorted(self.cases)][:n]
        return self.domain.decode(np.array(firsts).reshape(-1, len(self.levels)))
