"""Models from files on the command line: every command takes them, what is not harmless must be allowed."""

import os
import pickle

import pandas as pd
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression

from fairprobe import Domain, Integer

DOMAIN = Domain([Integer("age", 17, 90), Integer("hours", 0, 99), Integer("sex", 0, 1)], sensitive=["sex"])


@pytest.fixture
def files(folder):
    """A model as a file, its domain, and rows with labels."""
    rows = DOMAIN.sample(400, seed=0)
    labels = pd.Series((rows["age"] + 20 * rows["sex"] > 60).astype(int), name="paid")
    model = LogisticRegression().fit(rows, labels)
    skops.io.dump(model, folder / "model.file")
    (folder / "model.pkl").write_bytes(pickle.dumps(model))
    DOMAIN.to_toml(folder / "domain.toml")
    rows.assign(paid=labels).to_csv(folder / "rows.csv", index=False)
    return folder


def test_a_pickle_must_be_allowed(files, estimate):
    few = ("--samples", 100, "--experiments", 5)
    named = "sklearn.linear_model._logistic.LogisticRegression"
    estimate(*few, model="model.pkl").refuses("--allow-unsafe-load must allow it", named)
    outcome = estimate(*few, "--allow-unsafe-load", model="model.pkl").says()
    assert "note: unsafe-load: model.pkl" in outcome.err


def test_what_retrain_writes_is_read_again(files, fairprobe, search):
    data = ["--data", "rows.csv", "--label", "paid", "--domain", "domain.toml"]
    quick = "--augment flip --max-rounds 1 --no-controls --report-inputs 5000 --max-accuracy-loss 0.5"
    assert fairprobe("retrain", "--model", "model.file", *data, *quick.split(), "--out", "better.skops").code == 0
    assert search("--max-judged", 2000, "--json", model="better.skops").code == 0


def test_what_cannot_be_isolated_is_refused(search):
    search("--isolate", model="subject:mlp").refuses("--isolate is for files and modules")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_pipes_are_refused_wherever_a_file_is_named(files, fairprobe):
    for name in ("pipe.csv", "pipe.toml"):
        os.mkfifo(files / name)
    for arguments in (["--data", "pipe.csv", "--label", "paid"], ["--domain", "pipe.toml"]):
        fairprobe("search", "--model", "model.file", *arguments).refuses("no regular file")
