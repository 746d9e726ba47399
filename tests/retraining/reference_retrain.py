"""The paper's Algorithm 5 in plain Python, one case and one vote at a time.

Of the package it uses the domain, `compare` for the estimates, and the split of what is held out (tested elsewhere).
The draws are those of the design: each of the streams is spawned from the seed in a fixed order; a round draws which
cases, then for each of them a random number a combination of sensitive values, the largest of which is taken.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from sklearn.base import clone

from fairprobe import compare
from fairprobe.estimation.bounds.differences import paired_difference
from fairprobe.retraining.parts import checked_rows, split


@dataclass
class Reference:
    model: object
    X: pd.DataFrame
    y: np.ndarray
    domain: object
    cases: pd.DataFrame
    committee: list
    held_out: tuple
    seed: int
    n_select: int
    confidence: float = 0.95
    max_rounds: int = 12
    max_accuracy_loss: float = 0.01
    accept: str = "shown"
    percents: list = field(default_factory=list)
    fitted: list = field(default_factory=list)
    accepted: list = field(default_factory=list)

    def __post_init__(self):
        to_split, schedule, self.rounds, _, select, _, _ = np.random.SeedSequence(self.seed).spawn(7)
        unseen = checked_rows(self.domain, *self.held_out)
        self.select = split(self.domain, unseen, unseen, np.random.default_rng(to_split)).select
        self.draws = np.random.default_rng(schedule)
        self.select_seed = int(select.generate_state(1)[0])
        self.commonest = [label for label, _ in Counter(self.y.tolist()).most_common()]

    def run(self):
        """Lines 1 to 24."""
        f_cur = self.model
        i = 2
        while len(self.accepted) < self.max_rounds:
            p_i = self.draws.uniform(2 ** (i - 2), 2 ** (i - 1))
            if p_i > 100:
                break
            f_new = self.trained(p_i)
            better = self.is_better(f_cur, f_new)
            self.accepted.append(better)
            if not better:
                break
            f_cur = f_new
            i += 1
        return f_cur

    def trained(self, p_i):
        rng = np.random.default_rng(self.rounds.spawn(1)[0])
        n_addn = max(1, round(p_i * len(self.X) / 100))
        drawn = rng.permutation(len(self.cases))[:n_addn]
        chances = rng.random((len(self.domain.combinations), len(drawn)))
        rows = []
        for k, place in enumerate(drawn):
            row = self.cases.iloc[place].to_dict()
            combination = self.domain.combinations[chances[:, k].argmax()]
            for name, code in zip(self.domain.sensitive, combination, strict=True):
                row[name] = self.domain[name].decode(np.array([code]))[0]
            rows.append(row)
        td_addn = pd.DataFrame(rows, columns=self.X.columns)
        said = zip(*(member.predict(td_addn).tolist() for member in self.committee), strict=True)
        self.percents.append(p_i)
        td_new = pd.concat([self.X, td_addn], ignore_index=True)
        y_new = np.concatenate([self.y, [self.majority(labels) for labels in said]])
        self.fitted.append((td_new, y_new))
        return clone(self.model).fit(td_new, y_new)

    def majority(self, labels):
        counts = Counter(labels)
        level = [label for label, count in counts.items() if count == max(counts.values())]
        return min(level, key=self.commonest.index)

    def is_better(self, f_cur, f_new):
        confidence = 1 - (1 - self.confidence) / (2 * self.max_rounds)  # for the domain and the rows
        options = {"n_experiments": 1, "n_samples": self.n_select, "seed": self.select_seed, "confidence": confidence}
        changes = [compare(f_cur, f_new, self.domain, who, **options) for who in ("domain", self.select.frame)]
        if self.accept == "paper":
            is_lower = changes[0].a.value > changes[0].b.value
        else:
            is_lower = any(change.low > 0 for change in changes) and not any(change.high < 0 for change in changes)
        if not is_lower:
            return False
        right = [each.predict(self.select.frame) == self.select.labels for each in (self.model, f_new)]
        lost, won = (right[0] & ~right[1]).sum(), (right[1] & ~right[0]).sum()
        low, high = paired_difference(int(lost), int(won), len(right[0]), confidence)
        assert low <= (lost - won) / len(right[0]) <= high
        return (lost - won) / len(right[0]) <= self.max_accuracy_loss
