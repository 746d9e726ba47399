"""Real models, trained on the census, each as a file and as the object that it was written from."""

import pickle
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fairprobe.datasets import load_census

N_TRAIN, N_ASKED = 4000, 5000


@cache
def encoded():
    X, y = load_census(encoded=True, split="train")
    return X, (y > 0).astype(int).to_numpy()


@cache
def natural():
    X, y = load_census(encoded=False, split="train")
    texts = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
    X = X.assign(**{name: X[name].astype(object).fillna("unknown") for name in texts})
    return X, y.astype(object).to_numpy(), texts


def categorical():
    X, y, texts = natural()
    return X.astype(dict.fromkeys(texts, "category")), (y == ">50K").astype(int)


@dataclass(frozen=True)
class Written:
    path: Path
    original: Any
    rows: pd.DataFrame
    """What it takes."""
    weights: Path | None = None
    source: str | None = None
    """What to load, if it is not the path."""


def pipeline(texts):
    encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), texts), remainder=StandardScaler())
    return make_pipeline(encode, LogisticRegression(max_iter=300))


def written_by_skops(model, folder, X, y):
    model.fit(X[:N_TRAIN], y[:N_TRAIN])
    return written_by(folder, skops.io.dumps(model), model, X)


def onnx_network(folder):
    skl2onnx = pytest.importorskip("skl2onnx")
    X, y = encoded()
    X = X.astype(np.float32)
    model = make_pipeline(StandardScaler(), MLPClassifier((7, 5), max_iter=50, random_state=0, early_stopping=True))
    model.fit(X[:N_TRAIN].to_numpy(), y[:N_TRAIN])
    made = skl2onnx.to_onnx(model, X[:1].to_numpy(), options={"zipmap": False})
    return written_by(folder, made.SerializeToString(), model, X)


def onnx_columns(folder):
    """One input a column, of texts and of numbers, and a list of dictionaries for the probabilities."""
    skl2onnx = pytest.importorskip("skl2onnx")
    from skl2onnx.common.data_types import Int64TensorType, StringTensorType

    X, y, texts = natural()
    model = pipeline(texts).fit(X[:N_TRAIN], y[:N_TRAIN])
    types = [(name, (StringTensorType if name in texts else Int64TensorType)([None, 1])) for name in X]
    return written_by(folder, skl2onnx.to_onnx(model, initial_types=types).SerializeToString(), model, X)


def written_by(folder, content, model, rows):
    (folder / "model.bin").write_bytes(content)
    return Written(folder / "model.bin", model, rows)


def boosted_by_lightgbm(folder, X, y):
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1).fit(X[:N_TRAIN], y[:N_TRAIN])
    model.booster_.save_model(folder / "model.bin")
    return Written(folder / "model.bin", model, X)


def boosted_by_xgboost(folder, X, y, form):
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBClassifier(n_estimators=20, enable_categorical=True, n_jobs=1).fit(X[:N_TRAIN], y[:N_TRAIN])
    return written_by(folder, bytes(model.get_booster().save_raw(form)), model, X)


NETS = """
from torch import nn


def net():
    return nn.Sequential(nn.BatchNorm1d(13), nn.Linear(13, 8), nn.ReLU(), nn.Linear(8, 2))


def other():
    return nn.Sequential(nn.Linear(13, 5), nn.ReLU(), nn.Linear(5, 2))
"""


def torch_weights(folder):
    """A module of the current folder, and a file of weights."""
    torch = pytest.importorskip("torch")
    safetensors = pytest.importorskip("safetensors.torch")
    X, y = encoded()
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.BatchNorm1d(13), torch.nn.Linear(13, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    rows, labels = torch.tensor(X[:N_TRAIN].to_numpy(), dtype=torch.float32), torch.tensor(y[:N_TRAIN])
    optimizer = torch.optim.Adam(net.parameters(), 0.02)
    for _ in range(60):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(rows), labels).backward()
        optimizer.step()
    (folder / "nets.py").write_text(NETS)
    safetensors.save_file(net.state_dict(), folder / "weights.safetensors")
    return Written(folder / "nets.py", net.eval(), X, folder / "weights.safetensors", "nets:net")


def pickled(folder):
    X, y = encoded()
    model = RandomForestClassifier(5, random_state=0).fit(X[:N_TRAIN], y[:N_TRAIN])
    return written_by(folder, pickle.dumps(model), model, X)


def skops_histogram(folder):
    model = HistGradientBoostingClassifier(max_iter=10, categorical_features="from_dtype", random_state=0)
    return written_by_skops(model, folder, *categorical())


SAFE = {
    "skops-forest": lambda folder: written_by_skops(RandomForestClassifier(10, random_state=0), folder, *encoded()),
    "skops-histogram": skops_histogram,
    "skops-pipeline": lambda folder: written_by_skops(pipeline(natural()[2]), folder, *natural()[:2]),
    "onnx-network": onnx_network,
    "onnx-columns": onnx_columns,
    "lightgbm-numbers": lambda folder: boosted_by_lightgbm(folder, *encoded()),
    "lightgbm-categories": lambda folder: boosted_by_lightgbm(folder, *categorical()),
    "xgboost-json": lambda folder: boosted_by_xgboost(folder, *encoded(), "json"),
    "xgboost-ubj": lambda folder: boosted_by_xgboost(folder, *categorical(), "ubj"),
    "torch": torch_weights,
}
UNSAFE = {"pickle": pickled}
