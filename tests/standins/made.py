"""Models of every kind that is compiled, small and quickly fitted, on any domain of numbers."""

import warnings

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from fairprobe.model import Asker
from fairprobe.standins import compile_stand_in


def _hard(**options):
    members = [("forest", RandomForestClassifier(4, random_state=1)), ("tree", DecisionTreeClassifier(random_state=2))]
    return VotingClassifier(members, **options)


TREES = {
    "tree": lambda: DecisionTreeClassifier(random_state=0),
    "shallow tree": lambda: DecisionTreeClassifier(max_leaf_nodes=6, random_state=0),
    "extra tree": lambda: ExtraTreeClassifier(random_state=0),
    "forest": lambda: RandomForestClassifier(6, random_state=0),
    "forest of 40": lambda: RandomForestClassifier(40, max_depth=9, random_state=0),
    "weighted forest": lambda: RandomForestClassifier(15, min_samples_leaf=3, class_weight="balanced", random_state=0),
    "extra trees": lambda: ExtraTreesClassifier(5, random_state=0),
    "vote": lambda: _hard(),
    "weighted vote": lambda: _hard(weights=[0.3, 0.3]),
    "soft vote": lambda: _hard(voting="soft", weights=[1, 2]),
    "even soft vote": lambda: _hard(voting="soft"),
}
OTHERS = {
    "mixed vote": lambda: VotingClassifier([("a", DecisionTreeClassifier(max_depth=3)), ("b", LogisticRegression())]),
    "mixed soft vote": lambda: VotingClassifier(
        [("a", RandomForestClassifier(3, random_state=0)), ("b", MLPClassifier((3,), max_iter=15, random_state=0))],
        voting="soft",
    ),
}
TWO_CLASSES = {
    "kernel": lambda: SVC(),
    "narrow kernel": lambda: SVC(gamma="auto", C=10),
    "linear kernel": lambda: SVC(kernel="linear", max_iter=1000),
}
ALL = {**TREES, **OTHERS, **TWO_CLASSES}


def training(domain, n_classes=2, n=150, seed=0, names=None):
    """Rows of a domain with labels that lean on all columns, the sensitive ones most."""
    rng = np.random.default_rng(seed)
    codes = domain.sample_codes(n, rng)
    part = codes / np.maximum(domain.levels - 1, 1)
    leaning = part @ rng.normal(size=len(domain.levels)) + part[:, list(domain.sensitive_columns)].sum(axis=1)
    leaning += 0.3 * rng.normal(size=n)
    places = np.searchsorted(np.quantile(leaning, np.arange(1, n_classes) / n_classes), leaning)
    places[:n_classes] = np.arange(n_classes)
    names = np.array(names if names is not None else ["no", "yes", "perhaps", "never"])
    return domain.decode(codes), names[places]


def fitted(model, domain, frame=False, columns=None, **options):
    rows, labels = training(domain, **options)
    if columns is not None:
        frame, rows = True, rows[columns]
    with warnings.catch_warnings(action="ignore"):
        return model.fit(rows if frame else rows.to_numpy(dtype=np.float64), labels)


def check(model, domain, n=400, seed=1):
    """The stand-in gives the model's own labels, in shape and dtype."""
    stand_in = compile_stand_in(model, domain)
    assert stand_in is not None
    codes = domain.sample_codes(n, np.random.default_rng(seed))
    asker = Asker(model, domain)
    expected = asker.ask_families(codes)
    np.testing.assert_array_equal(stand_in.ask_families(codes), expected)
    assert agrees(stand_in, asker, codes)
    return expected


def agrees(stand_in, asker, codes):
    """Whether the labels are the model's own for these inputs and all their twins."""
    ours, theirs = stand_in.ask_families(codes), asker.ask_families(codes)
    return ours.dtype == theirs.dtype and np.array_equal(ours, theirs)
