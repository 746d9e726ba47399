"""Called by scripts/test-servers: starts a real server with a small model, and holds it against the same in process."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import fairprobe
from fairprobe.datasets import load_census
from fairprobe.testing import model_contract

BIN = Path(sys.executable).parent
PATIENCE = 120
COLUMNS = ["age", "workclass", "education", "marital-status", "relationship", "sex", "hours-per-week"]
N_ROWS = 5000


def main() -> int:
    """Try one server; gives the exit code."""
    name = sys.argv[1]
    X, y = load_census(encoded=False, split="train")
    X = X[COLUMNS].head(20_000)
    text = [column for column in COLUMNS if not pd.api.types.is_numeric_dtype(X[column])]
    encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), text), remainder="passthrough")
    mixed = make_pipeline(encode, LogisticRegression(max_iter=2000)).fit(X, y[: len(X)])
    numbers, labels = load_census(encoded=True, split="train")
    tree = DecisionTreeClassifier(max_depth=12, random_state=0).fit(numbers.to_numpy(), labels)
    mixed_domain = fairprobe.Domain.from_frame(X, sensitive=["sex"])
    coded_domain = fairprobe.Domain.from_frame(numbers, sensitive=["sex"])
    with tempfile.TemporaryDirectory() as folder:
        for what, model, domain in (("text and numbers", mixed, mixed_domain), ("numbers", tree, coded_domain)):
            print(f"{name}, {what}:", flush=True)
            with SERVERS[name](Path(folder) / what.replace(" ", "-"), model, domain) as remote:
                compare(remote, model, domain, has_proba=name == "mlserver")
    print(f"{name}: all the same")
    return 0


def compare(remote: Any, model: Any, domain: fairprobe.Domain, *, has_proba: bool) -> None:
    """Labels of many rows, a search, a share, and where it gives them probabilities: all as in process."""
    # MLServer makes None of a text column that is missing in all rows of a request, and NaN of one that is missing in
    # some, which scikit-learn tells apart. So a row alone may get another answer: it keeps the contract without them.
    rows = domain.sample(2000, seed=0).dropna()
    model_contract(remote, fairprobe.Domain.from_frame(rows, sensitive=["sex"]) if has_proba else domain)
    rows = domain.sample(N_ROWS, seed=1)
    asked = rows if hasattr(model, "feature_names_in_") else rows.to_numpy()
    here, there = model.predict(asked), _ask(remote, domain, rows)
    _require((here.astype(str) == there.astype(str)).all(), f"labels of {N_ROWS:,} rows")
    found = {
        where: fairprobe.search(each, domain, strategy="fully-directed", max_cases=500, seed=3, accelerate="off")
        for where, each in (("here", model), ("there", remote))
    }
    same = found["here"].to_frame().astype(str).equals(found["there"].to_frame().astype(str))
    _require(same and found["there"].n_cases == 500, "the cases of a search")
    print(f"    {found['there']}; {remote.batch_rows} rows a request")
    shares = [
        fairprobe.estimate(each, domain, n_experiments=5, n_samples=400, method="sample", seed=4)
        for each in (model, remote)
    ]
    _require(shares[0].hits == shares[1].hits, f"the hits of a share, {shares[0].hits}")
    if has_proba:
        likely = [
            fairprobe.search(each, domain, output="proba", threshold=0.02, max_cases=200, seed=5, accelerate="off")
            for each in (model, remote)
        ]
        _require(likely[0].cases.equals(likely[1].cases), f"the cases by probabilities, {likely[0].n_cases}")
        apart = np.abs(likely[0].gaps - likely[1].gaps).max()
        _require(apart < 1e-9, f"their gaps, within {apart:.1g}")


def _ask(remote: Any, domain: fairprobe.Domain, rows: pd.DataFrame) -> Any:
    from fairprobe.model import Asker

    return Asker(remote, domain).ask_frame(rows)


def _require(holds: bool, what: str) -> None:
    print(f"    {'the same' if holds else 'DIFFERENT'}: {what}", flush=True)
    if not holds:
        raise SystemExit(1)


@contextlib.contextmanager
def mlflow_server(folder: Path, model: Any, domain: fairprobe.Domain) -> Iterator[Any]:
    """`mlflow models serve`, with a signature, so that it refuses other columns."""
    import mlflow

    rows = domain.sample(20, seed=0)
    is_named = hasattr(model, "feature_names_in_")
    signature = mlflow.models.infer_signature(
        rows if is_named else None, model.predict(rows if is_named else rows.to_numpy())
    )
    mlflow.sklearn.save_model(
        model, str(folder), signature=signature if is_named else None, serialization_format="cloudpickle"
    )
    port = _free_port()
    command = [str(BIN / "mlflow"), "models", "serve", "-m", str(folder), "-h", "127.0.0.1", "-p", str(port)]
    with _running([*command, "--env-manager", "local"], folder, f"http://127.0.0.1:{port}/ping"):
        yield fairprobe.load_model(f"http://127.0.0.1:{port}", protocol="mlflow")


@contextlib.contextmanager
def mlserver(folder: Path, model: Any, domain: fairprobe.Domain) -> Iterator[Any]:
    """`mlserver start`, with the runtime for scikit-learn."""
    import joblib

    folder.mkdir()
    joblib.dump(model, folder / "model.joblib")
    implementation = "mlserver_sklearn.SKLearnModel"
    about = {"name": "census", "implementation": implementation, "parameters": {"uri": "./model.joblib"}}
    (folder / "model-settings.json").write_text(json.dumps(about))
    http, grpc, metrics = (_free_port() for _ in range(3))
    settings = {"host": "127.0.0.1", "http_port": http, "grpc_port": grpc, "metrics_port": metrics}
    (folder / "settings.json").write_text(json.dumps({**settings, "parallel_workers": 0, "debug": False}))
    base = f"http://127.0.0.1:{http}/v2"
    with _running([str(BIN / "mlserver"), "start", str(folder)], folder, f"{base}/models/census/ready"):
        yield fairprobe.load_model(
            f"{base}/models/census", protocol="oip", answers={"label": "predict", "proba": "predict_proba"}
        )


SERVERS: dict[str, Callable[..., Any]] = {"mlflow": mlflow_server, "mlserver": mlserver}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def _running(command: list[str], folder: Path, ready: str) -> Iterator[None]:
    """A server in a process group of its own, until the end of the block; it is stopped by its id."""
    log = folder.parent / f"{folder.name}.log"
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"}
    with log.open("wb") as out:
        server = subprocess.Popen(command, stdout=out, stderr=out, start_new_session=True, env=environment)
        try:
            _wait(server, ready, log)
            yield
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            try:
                server.wait(timeout=20)
            except subprocess.TimeoutExpired:
                os.killpg(server.pid, signal.SIGKILL)
                server.wait()


def _wait(server: subprocess.Popen[bytes], ready: str, log: Path) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and server.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(ready, timeout=2):
            return
        time.sleep(0.3)
    raise SystemExit(f"the server must be ready within {PATIENCE} s, got:\n{log.read_text()[-3000:]}")


if __name__ == "__main__":
    sys.exit(main())
