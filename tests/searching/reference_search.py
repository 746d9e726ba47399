"""The paper's Algorithms 1-4 as they stand, in plain Python: one input, one twin, one draw at a time.

Nothing of the package is used but the domain: its parameters' levels and moves, its sampling, and decoding. The draws
are those of the design: parameter, direction, and the size of the move only if any parameter has sizes to choose from.
"""

import itertools
from dataclasses import dataclass, field

import numpy as np
import pandas as pd


class Done(Exception):  # noqa: N818
    """As many inputs as wanted were judged, or all there are."""


@dataclass
class Reference:
    domain: object
    model: object
    strategy: str
    seed: int = 0
    shard: int = 0
    n_global: int = 50
    n_local: int = 20
    n_walkers: int = 1
    delta_v: float = 0.001
    delta_pr: float = 0.001
    max_inputs: int = 1000
    output: str = "label"
    threshold: float = 0.0
    judged: list = field(default_factory=list)
    cases: list = field(default_factory=list)
    known: set = field(default_factory=set)

    def __post_init__(self):
        self.rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(self.shard,)))
        self.answers = {}
        self.is_numeric = all(parameter.is_numeric for parameter in self.domain.parameters)
        self.tables = [p.decode(np.arange(p.levels)) for p in self.domain.parameters]
        self.seen = set()
        names, parameters = self.domain.names, self.domain.parameters
        self.sensitive = [names.index(name) for name in self.domain.sensitive]
        self.free = [column for column in range(len(names)) if column not in self.sensitive]
        self.movable = [column for column in self.free if parameters[column].levels > 1]
        self.downs = {c: [m for m in parameters[c].moves if m < 0] for c in self.movable}
        self.ups = {c: [m for m in parameters[c].moves if m > 0] for c in self.movable}
        self.sizes_vary = any(len(self.downs[c]) > 1 or len(self.ups[c]) > 1 for c in self.movable)
        self.sigma_pr = {c: 1 / len(self.movable) for c in self.movable}
        self.sigma_v = dict.fromkeys(self.movable, 0.5)

    def run(self):
        try:
            while True:
                seeds = self.global_exp()
                if self.strategy != "uniform":
                    self.local_exp(seeds)
        except Done:
            return self

    # Algorithm 1

    def global_exp(self):
        inputs = self.domain.sample_codes(self.n_global, self.rng).tolist()
        return [row for row in inputs if self.judge(row)]

    # Algorithm 2

    def local_exp(self, seeds):
        if self.n_walkers > 1:
            return self.lockstep(seeds)
        for seed in seeds:
            row = list(seed)
            for _ in range(self.n_local):
                p = self.choose(self.rng.random())
                down = self.rng.random() < self.sigma_v[p]
                size_draw = self.rng.random() if self.sizes_vary else 0.0
                row[p], down = self.move(p, row[p], down, size_draw)
                hit = self.judge(row)
                self.update_prob(p, down, hit)
        return None

    def lockstep(self, seeds):
        """The design's lockstep: all walkers draw, all are judged, then the sum of their updates is taken once."""
        for first in range(0, len(seeds), self.n_walkers):
            group = seeds[first : first + self.n_walkers]
            rows = [list(group[walker % len(group)]) for walker in range(self.n_walkers)]
            for _ in range(self.n_local):
                draws = [[self.rng.random() for _ in rows] for _ in range(3 if self.sizes_vary else 2)]
                trials = []
                for walker, row in enumerate(rows):
                    p = self.choose(draws[0][walker])
                    down = draws[1][walker] < self.sigma_v[p]
                    row[p], down = self.move(p, row[p], down, draws[2][walker] if self.sizes_vary else 0.0)
                    trials.append((p, down))
                hits = [self.judge(row) for row in rows]
                self.update_all(trials, hits)

    def choose(self, draw):
        """The first parameter whose cumulative probability is above the draw."""
        total = 0.0
        for p in self.movable:
            total += self.sigma_pr[p]
            if draw < total:
                return p
        return self.movable[-1]

    def move(self, p, value, down, size_draw):
        sizes = self.downs[p] if down else self.ups[p]
        step = sizes[int(size_draw * len(sizes))]
        levels = self.domain.parameters[p].levels
        if 0 <= value + step < levels:
            return value + step, step < 0
        if self.domain.parameters[p].kind == "category":
            return (value + step) % levels, step < 0
        if 0 <= value - step < levels:
            return value - step, step > 0
        return (levels - 1, False) if 2 * value < levels - 1 else (0, True)

    # Algorithms 3 and 4

    def update_prob(self, p, down, hit):
        if self.strategy in ("semi-directed", "fully-directed"):
            if (hit and down) or (not hit and not down):
                self.sigma_v[p] = min(self.sigma_v[p] + self.delta_v, 1.0)
            if (not hit and down) or (hit and not down):
                self.sigma_v[p] = max(self.sigma_v[p] - self.delta_v, 0.0)
        if self.strategy == "fully-directed" and hit:
            self.sigma_pr[p] += self.delta_pr
            total = sum(self.sigma_pr.values())
            for q in self.movable:
                self.sigma_pr[q] /= total

    def update_all(self, trials, hits):
        if self.strategy in ("semi-directed", "fully-directed"):
            for p in self.movable:
                change = 0.0
                for (chosen, down), hit in zip(trials, hits, strict=True):
                    if chosen == p:
                        change += self.delta_v if hit == down else -self.delta_v
                self.sigma_v[p] = min(max(self.sigma_v[p] + change, 0.0), 1.0)
        if self.strategy == "fully-directed" and any(hits):
            for (chosen, _), hit in zip(trials, hits, strict=True):
                if hit:
                    self.sigma_pr[chosen] += self.delta_pr
            total = sum(self.sigma_pr.values())
            for q in self.movable:
                self.sigma_pr[q] /= total

    # Is this input discriminatory?

    def judge(self, row):
        self.judged.append(tuple(row))
        family = tuple(row[c] for c in self.free)
        self.seen.add(family)
        members = self.twins(row)
        outputs = self.answered(members)
        gap, ends = self.gap(outputs)
        hit = gap > self.threshold
        if hit and family not in self.known:
            self.known.add(family)
            self.cases.append(self.shown(row, members, ends))
        if len(self.judged) == self.max_inputs or len(self.seen) == self.domain.n_families:
            raise Done
        return hit

    def twins(self, row):
        members = []
        for values in itertools.product(*(range(self.domain.parameters[c].levels) for c in self.sensitive)):
            member = list(row)
            for column, value in zip(self.sensitive, values, strict=True):
                member[column] = value
            members.append(tuple(member))
        return members

    def gap(self, outputs):
        """The gap, and by it the number to rank the members by (labels: their own)."""
        if self.output == "label":
            return float(any(output != outputs[0] for output in outputs)), outputs
        columns = list(zip(*outputs, strict=True))
        spans = [max(column) - min(column) for column in columns]
        return max(spans), columns[spans.index(max(spans))]

    def shown(self, row, members, numbers):
        own = members.index(tuple(row))
        if self.output == "label":
            twin = next(i for i, label in enumerate(numbers) if label != numbers[own])
            return members[own], members[twin]
        low, high = min(numbers), max(numbers)
        case = own if numbers[own] in (low, high) else next(i for i, x in enumerate(numbers) if x in (low, high))
        other = high if numbers[case] == low else low
        return members[case], members[numbers.index(other)]

    def answered(self, members):
        """The model's outputs for one family alone; tuples of numbers where they are not labels."""
        if members[0] not in self.answers:
            predict = getattr(self.model, "predict", self.model)
            asked = members if self.is_numeric else self.everything()  # a frame of few rows takes too long to make
            outputs = np.asarray(predict(self.as_batch(asked)))
            for one, output in zip(asked, outputs, strict=True):
                self.answers[one] = output if self.output == "label" else tuple(np.atleast_1d(output).tolist())
        return [self.answers[member] for member in members]

    def as_batch(self, members):
        if self.is_numeric:
            return np.array([[self.tables[c][code] for c, code in enumerate(member)] for member in members])
        return self.domain.decode(np.array(members))

    def everything(self):
        return list(itertools.product(*(range(parameter.levels) for parameter in self.domain.parameters)))


class Recording:
    """Keeps the rows that a model is asked about, one batch after the other."""

    def __init__(self, model, domain):
        self.model = model
        self.domain = domain
        self.batches = []

    def __call__(self, batch):
        self.batches.append(batch.copy())
        return getattr(self.model, "predict", self.model)(batch)

    def families(self):
        """The judged inputs in order, but for their sensitive values: those rows that have the first combination."""
        sensitive, free = list(self.domain.sensitive_columns), list(self.domain.free_columns)
        join = pd.concat if hasattr(self.batches[0], "columns") else np.concatenate
        rows = self.domain.encode(join(self.batches))
        first = (rows[:, sensitive] == self.domain.combinations[0]).all(axis=1)
        return [tuple(row) for row in rows[first][:, free].tolist()]
