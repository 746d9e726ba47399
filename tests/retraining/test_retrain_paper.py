"""The paper's Algorithm 5 in plain Python, one case and one vote at a time.

Of the package it uses the domain, `compare` for the estimates, and the split of what is held out (tested elsewhere).
The draws are those of the design: each of the streams is spawned from the seed in a fixed order; a round draws which
cases, then for each of them a random number a combination of sensitive values, the largest of which is taken.
"""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pytest
from planted import QUICK, Keeping
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from fairprobe import Domain, Integer, compare, retrain
from fairprobe.estimation.bounds.differences import paired_difference
from fairprobe.retraining.parts import checked_rows, split
from random_domains import every_input


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
        self.select = split(unseen, unseen, np.random.default_rng(to_split)).select
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


SIDE = 40
DOMAIN = Domain([Integer("x", 0, SIDE - 1), Integer("z", 0, SIDE - 1), Integer("sex", 0, 1)], ["sex"])
GROUPS = Domain([*DOMAIN.parameters, Integer("race", 0, 2)], ["race", "sex"])


def rows(n, seed, domain):
    """Men are favoured by 8 points of 80, races by 3."""
    rng = np.random.default_rng(seed)
    frame = domain.sample(n, seed=seed)
    score = frame["x"] + frame["z"] + 8 * frame["sex"] + (3 * frame["race"] if "race" in frame else 0)
    return frame, np.where((score >= SIDE + 4) ^ (rng.random(n) < 0.05), "yes", "no")


def every_case(model, domain, seed):
    """All families that the model treats apart, each by one member, in a random order."""
    everyone = domain.decode(every_input(domain)).assign(label=lambda frame: model.predict(frame))
    shuffled = everyone.sample(frac=1, random_state=seed)
    names = [name for name in domain.names if name not in domain.sensitive]
    apart = shuffled.groupby(names)["label"].transform("nunique") > 1
    return shuffled[apart].drop_duplicates(names)[list(domain.names)].reset_index(drop=True)


def settings(estimator, domain, seed):
    X, y = rows(500, 1, domain)
    model = estimator.fit(X, y)
    alike = X.assign(**dict.fromkeys(domain.sensitive, 0))
    committee = [
        DecisionTreeClassifier(max_depth=3, random_state=0).fit(alike, y),
        LogisticRegression().fit(alike, y),
        GaussianNB().fit(X, y),
        DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y),  # four: ties go to the commoner label
    ]
    cases = every_case(model, domain, seed)
    return {
        "model": model, "X": X, "y": y, "domain": domain, "cases": cases, "committee": committee,
        "held_out": rows(1600, 2, domain), "seed": seed, "n_select": 3000, "max_accuracy_loss": 0.2,
    }  # fmt: skip


def check(estimator, domain, seed, **options):
    """Both on the same draws; gives which rounds were accepted."""
    given = {**settings(estimator, domain, seed), **options}
    reference = Reference(**given)
    expected = reference.run()
    keeping = Keeping(estimator)
    given.pop("n_select")
    result = retrain(
        given.pop("model"), given.pop("X"), given.pop("y"), given.pop("domain"), augment="case", labels="vote",
        trainer=keeping, **given, **{**QUICK, "n_select": 3000, "n_report": 100},
    )  # fmt: skip
    assert [each.recipe.percent for each in result.rounds] == reference.percents
    assert [each.accepted for each in result.rounds] == reference.accepted
    assert len(keeping.calls) == len(reference.fitted)
    for (frame, labels, _), (td_new, y_new) in zip(keeping.calls, reference.fitted, strict=True):
        pd.testing.assert_frame_equal(frame, td_new)
        np.testing.assert_array_equal(labels, y_new)
    everyone = domain.decode(every_input(domain))
    np.testing.assert_array_equal(result.model.predict(everyone), expected.predict(everyone))
    assert result.accepted == any(reference.accepted)
    return reference.accepted


TREE = DecisionTreeClassifier(random_state=0, min_samples_leaf=5)


@pytest.mark.parametrize(
    ("estimator", "domain", "seed", "options", "n_accepted"),
    [
        (TREE, DOMAIN, 10, {}, 0),
        (TREE, DOMAIN, 13, {}, 2),
        (TREE, GROUPS, 6, {}, 1),
        (TREE, DOMAIN, 6, {"accept": "paper", "max_accuracy_loss": 1.0}, 2),
        (TREE, DOMAIN, 6, {"accept": "paper", "max_accuracy_loss": 0.0}, 1),
    ],
)
def test_row_by_row(estimator, domain, seed, options, n_accepted):
    assert sum(check(estimator, domain, seed, **{"confidence": 0.8, **options})) == n_accepted
