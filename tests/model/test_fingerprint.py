"""A model's fingerprint: the same for copies, another for another model."""

import functools
import os
import pickle
import socket
import subprocess
import sys
import types

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from fairprobe.model.fingerprint import UNTOLD, fingerprint

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 3)), RNG.integers(0, 2, 60)

MODELS = [
    lambda: RandomForestClassifier(3, random_state=0),
    lambda: HistGradientBoostingClassifier(max_iter=3, random_state=0),
    lambda: SVC(),
    lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    lambda: make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), [0]), remainder="passthrough"), SVC()
    ),
]


@pytest.mark.parametrize("make", MODELS)
def test_copies_are_alike_and_others_are_not(make):
    model = make().fit(X, Y)
    first = fingerprint(model)
    assert first is not None
    model.predict(X)
    assert fingerprint(model) == first
    assert fingerprint(pickle.loads(pickle.dumps(model))) == first
    assert fingerprint(make().fit(X, Y)) == first
    assert fingerprint(make().fit(X, 1 - Y)) != first


def test_generators_are_told_by_their_state():
    """Not by what they were seeded with: a model that is loaded from a file has another."""
    one, other = np.random.default_rng(1), np.random.default_rng(2)
    assert fingerprint([one]) != fingerprint([other])
    other.bit_generator.state = one.bit_generator.state
    assert fingerprint([one]) == fingerprint([other])


CUT = 5


def above(X):
    return X[:, 0] > CUT


class Own(ClassifierMixin, BaseEstimator):
    def __init__(self, cut=0):
        self.cut = cut

    def predict(self, X):
        return X[:, 0] > self.cut


class Held(dict):
    """A mapping that is more than its items."""


CLASS = """
class Model(ClassifierMixin, BaseEstimator):
    def predict(self, X): return self._above(X)
    _above = staticmethod(lambda X: X[:, 0] > {cut})
"""
SLOTS = """
class Model:
    __slots__ = ("cut",)
    def __call__(self, X): return X[:, 0] > self.cut
model = Model()
model.cut = {cut}
"""
MODULE = "own = types.ModuleType('own_settings'); own.CUT = {cut}; "
OTHERS = {
    "constant": "model = lambda X: X[:, 0] > {cut}",
    "closure": "model = (lambda cut: lambda X: X[:, 0] > cut)({cut})",
    "global": "CUT = {cut}; model = lambda X: X[:, 0] > CUT",
    "function that it calls": "helper = lambda X: X[:, 0] > {cut}; model = lambda X: helper(X)",
    "estimator that it asks": "own = Own({cut}); model = lambda X: own.predict(X)",
    "nested code": "model = lambda X: [(lambda row: row > {cut})(row) for row in X[:, 0]]",
    "default": "model = lambda X, limit={cut}: X[:, 0] > limit",
    "keyword default": "model = lambda X, *, limit={cut}: X[:, 0] > limit",
    "attribute": "model = lambda X: X[:, 0] > model.cut; model.cut = {cut}",
    "behind wraps": "model = functools.wraps(above)(lambda X: above(X) if {cut} == 5 else ~above(X))",
    "behind a cache": "model = functools.lru_cache(lambda X: X[:, 0] > {cut})",
    "module of one's own": "own = types.ModuleType('own_settings'); own.CUT, own.itself = {cut}, own; "
    "model = lambda X: X[:, 0] > own.CUT + len(own.itself.__name__)",
    "module in a closure": MODULE + "model = (lambda held: lambda X: X[:, 0] > held.CUT)(own)",
    "module by names": MODULE + "model = lambda X: X[:, 0] > getattr(own, 'CU' + 'T')",
    "module by its dict": MODULE + "model = lambda X: X[:, 0] > own.__dict__['CUT']",
    "mask of an array": "held = np.ma.array([5, 7], mask=[{cut} == 5, {cut} == 7]); "
    "model = lambda X: X[:, 0] > held.sum()",
    "class": CLASS + "model = Model()",
    "class derived from": CLASS + "model = type('Derived', (Model,), {{}})()",
    "slots": SLOTS,
    "bound method": "model = Own({cut}).predict",
    "partial": "model = functools.partial(np.greater, {cut})",
    "built-in of an object": "model = frozenset([{cut}]).__contains__",
    "mapping": "model = Held(a=1); model.cut = {cut}",
    "transformer": "model = FunctionTransformer(lambda X: X > {cut})",
    "pipeline": "model = make_pipeline(FunctionTransformer(lambda X: X > {cut}), SVC())",
    "frame": "frame = pd.DataFrame({{'a': [1, {cut}], 'b': ['x', 'y']}}); model = lambda X: frame",
    "method put in its place": "model = SVC(); model.predict = lambda X: X[:, 0] > {cut}",
}


def made(source, cut):
    """The model that some code makes, as in a module of the user's."""
    space = {**globals(), "__name__": "own"}
    exec("import pandas as pd; from sklearn.preprocessing import FunctionTransformer", space)
    exec(source.format(cut=cut), space)
    return space["model"]


@pytest.mark.parametrize("source", OTHERS.values(), ids=OTHERS)
def test_models_are_told_by_all_that_their_answers_follow_from(source):
    assert fingerprint(made(source, 5)) == fingerprint(made(source, 5))
    assert fingerprint(made(source, 5)) != fingerprint(made(source, 7))


SCRIPT = """
import sys, numpy as np
from threading import Lock
from fairprobe.model.fingerprint import UNTOLD, fingerprint
{gap}
NAMES = {{"ash", "oak", "elm", ("a", 1)}}
class Model:
    def __init__(self): self.lock, self.known = Lock(), {{"x": NAMES}}
    def __call__(self, X): return [name in NAMES or name in {{"b", "c", "d"}} for name in X] and odd(3)
def odd(n): return n and even(n - 1)
def even(n): return odd(n - 1) if n else np.exp(n)
print(fingerprint(Model()))
"""


def test_another_process_makes_the_same(tmp_path):
    """Whatever the order of sets, the addresses, the file and the lines in it."""
    told = set()
    for number in (1, 2):
        file = tmp_path / f"file{number}.py"
        file.write_text(SCRIPT.format(gap="\n" * number))
        out = subprocess.run(
            [sys.executable, str(file)],
            env={**os.environ, "PYTHONHASHSEED": str(number)},
            capture_output=True,
            text=True,
            check=True,
        )
        told.add(out.stdout)
    assert len(told) == 1
    assert UNTOLD not in told.pop()


class Saved:
    def save(self, path):
        with open(path, "w") as file:
            file.write("5")

    def predict(self, X):
        return X[:, 0] > CUT


class Opened(Saved):
    def predict(self, X):
        with open("cut.txt") as file:
            return X[:, 0] > float(file.read())


def test_a_method_that_gives_no_answer_may_use_files():
    assert fingerprint(Saved()) == fingerprint(Saved())
    assert fingerprint(Saved().predict) == fingerprint(Saved().predict)


UNTOLDS = {
    "file in a method that answers": Opened,
    "generator": lambda: (number for number in ()),
    "ufunc of a function": lambda: np.frompyfunc(above, 1, 1),
    "file": lambda: lambda X: X[:, 0] > np.loadtxt("cut.txt"),
    "environment": lambda: lambda X: X[:, 0] > float(os.environ["CUT"]),
    "program": lambda: lambda X: subprocess.run(["decide"], input=X.tobytes(), check=True).stdout,
    "code that looks anywhere": lambda: lambda X: X[:, 0] > globals()["CUT"],
    "deeper than one can look": lambda: functools.reduce(lambda inner, _: [inner], range(100_000), []),
    "socket": lambda: (lambda held: lambda X: X[:, 0] > held)(socket.socket()),
}


@pytest.mark.parametrize("make", UNTOLDS.values(), ids=UNTOLDS)
def test_what_cannot_be_told_matches_nothing(make):
    model = make()
    told = {fingerprint(model), fingerprint(model)}
    if isinstance(model, types.FunctionType) and model.__closure__:
        model.__closure__[0].cell_contents.close()
    assert len(told) == 2
    assert all(each.startswith(UNTOLD) for each in told)
