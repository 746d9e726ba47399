"""A small service on loopback that speaks the three protocols, cleanly or with faults; it runs in this process."""

import json
import random
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pandas as pd

FAULTS = ("latency", "500", "429", "truncated", "closed", "short", "nan", "drip", "slow-headers")


@dataclass
class Served:
    """What a service answers, and what it was asked."""

    predict: Callable[[pd.DataFrame], Any]
    proba: Callable[[pd.DataFrame], Any] | None = None
    inputs: tuple[str, ...] = ()
    """The columns that it says it takes."""
    fault_rate: float = 0.0
    faults: tuple[str, ...] = FAULTS
    drip_seconds: float = 3.0
    override: Callable[[BaseHTTPRequestHandler], tuple[Any, ...] | None] | None = None
    """What is replied in place of everything else: content, status and headers."""
    n_rows: int = 0
    n_requests: int = 0
    headers: list[dict[str, str]] = field(default_factory=list)
    n_faults: dict[str, int] = field(default_factory=dict)
    url: str = ""
    lock: Any = field(default_factory=threading.Lock)
    rng: random.Random = field(default_factory=lambda: random.Random(0))

    def fault(self) -> str | None:
        with self.lock:
            if self.rng.random() >= self.fault_rate:
                return None
            chosen = self.rng.choice(self.faults)
            self.n_faults[chosen] = self.n_faults.get(chosen, 0) + 1
            return chosen


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    served: Served
    body: bytes

    def log_message(self, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        if self.path.startswith("/v2/models/"):
            inputs = [{"name": name, "datatype": "BYTES", "shape": [-1, 1]} for name in self.served.inputs]
            self.reply({"name": "model", "platform": "test", "inputs": inputs, "outputs": []})
        else:
            self.reply({"error": "not found"}, 404)

    def do_POST(self) -> None:
        served = self.served
        self.body = self.rfile.read(int(self.headers["Content-Length"]))
        with served.lock:
            served.headers.append(dict(self.headers))
            served.n_requests += 1
        if served.override is not None and (told := served.override(self)) is not None:
            self.reply(*told)
            return
        fault = served.fault()
        if fault in ("500", "429"):
            self.reply({"error": "by chance"}, int(fault), {"Retry-After": "0"} if fault == "429" else {})
            return
        if fault == "closed":
            self.close_connection = True
            return
        if fault == "latency":
            time.sleep(0.05)
        try:
            answer = self.answer(json.loads(self.body), fault)
        except Exception as error:
            self.reply({"error": f"{type(error).__name__}: {error}"}, 400)
            return
        self.reply(answer, fault=fault)

    def answer(self, content: Any, fault: str | None) -> Any:
        served = self.served
        if self.path == "/invocations":
            frame = pd.DataFrame(**content["dataframe_split"])
        elif self.path.endswith("/infer"):
            frame = _of_tensors(content["inputs"])
        elif self.path == "/predict":
            frame = pd.DataFrame(content["instances"])
        else:
            raise KeyError(self.path)
        with served.lock:
            served.n_rows += len(frame)
        wanted = [each["name"] for each in content.get("outputs", [])] or ["predict"]
        values = np.asarray(served.proba(frame) if wanted == ["predict_proba"] else served.predict(frame))
        listed = values.tolist()
        if fault == "short":
            listed = listed[:-1]
        if fault == "nan":
            listed[0] = float("nan")
        if not self.path.endswith("/infer"):
            return {"predictions": listed}
        shape = [len(listed), *values.shape[1:]]
        kind = "BYTES" if values.dtype.kind in "OU" else "FP64"
        data = [each for row in listed for each in row] if values.ndim == 2 and fault != "nan" else listed
        return {"model_name": "model", "outputs": [{"name": wanted[0], "shape": shape, "datatype": kind, "data": data}]}

    def reply(
        self, content: Any, status: int = 200, headers: dict[str, str] | None = None, fault: str | None = None
    ) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        if fault == "slow-headers":
            self.drip(b"HTTP/1.1 200 OK\r\nX-Slow: " + b"." * 8)
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if fault == "truncated":
            self.wfile.write(data[: len(data) // 2])
            self.close_connection = True
        elif fault == "drip":
            self.drip(data[:30])
            self.close_connection = True
        else:
            self.wfile.write(data)

    def drip(self, data: bytes) -> None:
        for place in range(len(data)):
            self.wfile.write(data[place : place + 1])
            self.wfile.flush()
            time.sleep(self.served.drip_seconds / 30)


def _of_tensors(inputs: list[dict[str, Any]]) -> pd.DataFrame:
    if len(inputs) == 1 and len(inputs[0]["shape"]) == 2 and inputs[0]["shape"][1] > 1:
        return pd.DataFrame(np.array(inputs[0]["data"]).reshape(inputs[0]["shape"]))
    return pd.DataFrame({each["name"]: each["data"] for each in inputs})


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is none."""


@contextmanager
def serving(served: Served, certificate: tuple[str, str] | None = None) -> Iterator[Served]:
    """The service, at `served.url`, until the end of the block."""
    server = _Quiet(("127.0.0.1", 0), type("Handler", (_Handler,), {"served": served}))
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    served.url = f"http{'' if certificate is None else 's'}://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
