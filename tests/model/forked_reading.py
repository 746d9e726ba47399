"""Loads and asks files, each in a fork of this process, and prints a line for each: `ok`, a message, or a signal.

    python forked_reading.py KIND FILE...

This is what a process of an isolated model does, without the seconds that each such process takes to start.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import warnings

import numpy as np
import pandas as pd
import sklearn.ensemble  # noqa: F401

import fairprobe
from fairprobe.errors import FairprobeError

SECONDS = 20


def main(name, files):
    modules = {
        "onnx": "onnx onnxruntime",
        "lightgbm": "lightgbm",
        "xgboost": "xgboost",
        "torch": "torch",
        "skops": "skops.io",
    }
    for module in modules.get(name.partition("-")[0], "joblib yaml").split():
        __import__(module)
    for file in files:
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            signal.alarm(SECONDS)
            os.write(writer, loaded(name, file).encode()[:4000])
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as said:
            text = said.read().decode(errors="replace")
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        sys.stdout.write((text or signal.Signals(-code).name) + "\n")


def loaded(name, file):
    warnings.simplefilter("ignore")
    allowed = {"allow_unsafe_load": True} if name in ("pickle", "mlflow") else {}
    try:
        model = (
            fairprobe.load_model("nets:net", weights=file) if name == "torch" else fairprobe.load_model(file, **allowed)
        )
    except FairprobeError as error:
        return str(error).replace("\n", " ")
    columns = getattr(model, "feature_names_in_", None)
    n = len(columns) if columns is not None else getattr(model, "n_features_in_", None)
    if callable(getattr(model, "predict", None)) and n is not None:
        rng = np.random.default_rng(0)
        rows = rng.integers(-3, 100, (64, n)).astype(float)
        rows[1::4] *= 1e9
        rows[2::4][rng.random(rows[2::4].shape) < 0.5] = np.nan
        with contextlib.suppress(Exception):
            model.predict(rows if columns is None else pd.DataFrame(rows, columns=list(columns)))
    return "ok"


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
