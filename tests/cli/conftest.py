from __future__ import annotations

import functools
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairprobe.cli import main

MODELS = '''
import signal
import time
from pathlib import Path

import numpy as np


def flips(X):
    return X[:, 0] + 10 * X[:, 1] > 50


def blind(X):
    return X[:, 0] > 50


def constant(X):
    return np.zeros(len(X))


def score(X):
    return X[:, 0] / 100 + 0.3 * X[:, 1]


def strings(X):
    return np.where(X[:, 0] > 50, "high", "low")


def words(X):
    return np.where(flips(X), "yes", "no")


def proba(X):
    high = 0.1 + 0.5 * flips(X)
    return np.column_stack([1 - high, high])


def loud(X):
    print("the model says hello")
    return flips(X)


def slow(X):
    time.sleep(0.005)
    with Path("called").open("a") as calls:
        calls.write(".")
    return flips(X)


def raises(X):
    if (X[:, 0] == 60).any():
        raise KeyError("no such age")
    return flips(X)


def nan(X):
    return np.where(X[:, 0] == 60, np.nan, 1.0)


def short(X):
    return flips(X)[1:]


class FailsLater:
    """Answers a few batches, then never again."""

    n_calls = 0

    def predict(self, X):
        self.n_calls += 1
        if self.n_calls > 5:
            raise RuntimeError("the disk is on fire")
        return flips(X)


class Interrupts(FailsLater):
    """The same, but it is a person who ends it."""

    def predict(self, X):
        if self.n_calls == 5:
            signal.raise_signal(signal.SIGINT)
        return super().predict(X)


class Holder:
    model = FailsLater()


interrupts = Interrupts()


class InterruptsLate(Interrupts):
    """Later, when rows were asked about and a domain is."""

    n_calls = -20


interrupts_late = InterruptsLate()


fails_later = FailsLater()
number = 5
'''

DOMAIN = """
format = 1
sensitive = ["sex"]
parameter = [
    { name = "age", kind = "integer", low = 17, high = 90 },
    { name = "sex", kind = "integer", low = 0, high = 1 },
    { name = "pay", kind = "integer", low = 0, high = 4999 },
]
"""

ROWS = "age,sex,pay,income\n17,0,0,low\n90,1,4999,high\n48,1,500,high\n"


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    def says(self, *parts: str, code: int = 0) -> Outcome:
        """Asserts how it ended, and that the standard output holds all parts."""
        assert self.code == code, self.err
        for part in parts:
            assert part in self.out
        return self

    def refuses(self, *parts: str, code: int = 2) -> None:
        """Asserts an error that tells what was wrong, without a traceback."""
        assert self.code == code, self.err
        assert "Traceback" not in self.err
        assert self.err.startswith("error: "), self.err
        for part in parts:
            assert part in self.err


@pytest.fixture(autouse=True)
def no_process_is_left(monkeypatch):
    """A test that fails half-way ends the processes that it started."""
    started = []

    class Started(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Started)
    yield
    for process in started:
        if process.poll() is None:
            process.kill()
            process.wait()


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """The current folder, with models, data and a domain."""
    (tmp_path / "toys.py").write_text(MODELS)
    (tmp_path / "rows.csv").write_text(ROWS)
    (tmp_path / "domain.toml").write_text(DOMAIN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def fairprobe(folder, capsys, monkeypatch):
    """Runs a command in this process."""
    monkeypatch.setattr(sys, "path", sys.path.copy())
    before = set(sys.modules)

    def run(*arguments: object) -> Outcome:
        capsys.readouterr()
        with monkeypatch.context() as patch:
            if run.on_terminal:
                patch.setattr(sys.stderr, "isatty", lambda: True)
            code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Outcome(code, out, err)

    run.on_terminal = False
    yield run
    for name in set(sys.modules) - before:
        if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def terminal(fairprobe, monkeypatch) -> None:
    """For commands run in this process, the standard error is a terminal of 80 columns."""
    for name, value in (("TERM", "xterm"), ("COLUMNS", "80")):
        monkeypatch.setenv(name, value)
    fairprobe.on_terminal = True


def on_domain(fairprobe, command):
    def run(*arguments: object, model: str = "toys:flips", domain: str = "domain.toml") -> Outcome:
        return fairprobe(command, "--model", model, "--domain", domain, *arguments)

    return run


@pytest.fixture
def search(fairprobe):
    """Runs `fairprobe search` on the domain of the current folder."""
    return on_domain(fairprobe, "search")


@pytest.fixture
def estimate(fairprobe):
    """Runs `fairprobe estimate` on the domain of the current folder."""
    return on_domain(fairprobe, "estimate")


CLASSIFIERS = '''
import signal
import time

import pandas as pd
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

SETTINGS = {"max_depth": 6, "random_state": 0}
tree = DecisionTreeClassifier(**SETTINGS)
rows = pd.read_csv("loans.csv")
fitted = DecisionTreeClassifier(**SETTINGS).fit(rows[["age", "sex", "pay"]], rows["loan"])
with_lambda = make_pipeline(FunctionTransformer(lambda X: X), DecisionTreeClassifier(**SETTINGS))


class Noting(DecisionTreeClassifier):
    """Keeps of fitting what skops cannot read."""

    def fit(self, X, y):
        self.note_ = lambda: len(X)
        return super().fit(X, y)


class FailsLater(DecisionTreeClassifier):
    """Can be fitted a few times, then never again."""

    n_fits = 0

    def fit(self, X, y):
        FailsLater.n_fits += 1
        if FailsLater.n_fits > 3:
            raise RuntimeError("the disk is on fire")
        return super().fit(X, y)


class NeverFits(DecisionTreeClassifier):
    def fit(self, X, y):
        raise RuntimeError("out of memory")


class Slow(DecisionTreeClassifier):
    """Takes long enough for a terminal to show it."""

    def fit(self, X, y):
        time.sleep(0.3)
        return super().fit(X, y)


class Interrupted(DecisionTreeClassifier):
    """The third time, nobody waits for it."""

    n_fits = 0

    def fit(self, X, y):
        Interrupted.n_fits += 1
        if Interrupted.n_fits == 3:
            signal.raise_signal(signal.SIGINT)
        return super().fit(X, y)


class Frozen(DecisionTreeClassifier):
    """Can't be cloned: its parameters are hidden."""

    def __init__(self, *depths):
        super().__init__()


noting = Noting(**SETTINGS)
fails_later = FailsLater(**SETTINGS)
never_fits = NeverFits()
slow = Slow(**SETTINGS)
interrupted = Interrupted(**SETTINGS)
frozen = Frozen()
'''


@functools.cache
def loans(n: int, seed: int) -> str:
    """Rows as CSV, whose label depends on sex."""
    rng = np.random.default_rng(seed)
    age, sex, pay = rng.integers(18, 80, n), rng.integers(0, 2, n), rng.integers(0, 100, n)
    good = age / 2 + pay + 20 * sex + rng.normal(0, 8, n) > 90
    rows = pd.DataFrame({"age": age, "sex": sex, "pay": pay, "loan": np.where(good, "yes", "no")})
    return rows.to_csv(index=False)


LOANS = ("--data", "loans.csv", "--label", "loan", "--sensitive", "sex")
QUICK = "--labels mean --select-inputs 500 --report-inputs 500 --max-rounds 2 --max-accuracy-loss 0.2 --no-controls"


@pytest.fixture
def retrain(fairprobe, folder):
    """Runs `fairprobe retrain` on loans, quickly; what is named again takes the place of what is usual."""
    (folder / "clf.py").write_text(CLASSIFIERS)
    (folder / "loans.csv").write_text(loans(600, 0))
    (folder / "test.csv").write_text(loans(400, 1))

    def run(*arguments: object, model: str = "clf:tree", data: tuple[object, ...] = LOANS) -> Outcome:
        return fairprobe("retrain", "--model", model, *data, *QUICK.split(), *arguments)

    return run
