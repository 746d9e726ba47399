"""Rows a second over loopback: what a service gives a plain client at its best, and what fairprobe gets of it.

    python benchmarks/remote.py [--seconds 3]

The service is a process of its own that answers MLflow's protocol with a decision tree of the census. The plain client
writes and reads the same JSON over 4 connections kept open, with every size of a request; its best counts. fairprobe is
asked about rows it has not seen, as an `Asker` asks, and by a whole search.
"""

from __future__ import annotations

import argparse
import http.client
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

import fairprobe
from fairprobe.model import Asker

CONNECTIONS = 4
SIZES = [2**power for power in range(5, 15)]
AT_LEAST = 0.5
ROWS_A_CALL = 20_000


def main() -> int:
    """Print the table; gives 1 if fairprobe gets less than half."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=3.0, help="for each measurement")
    parser.add_argument("--serve", action="store_true")
    arguments = parser.parse_args()
    if arguments.serve:
        serve()
        return 0
    server = subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        return measure(int(server.stdout.readline()), arguments.seconds)
    finally:
        server.terminate()
        server.wait()


def serve() -> None:
    """A tree behind /invocations; the first line written is its port."""
    model = fairprobe.subjects.load("decision-tree")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def do_GET(self) -> None:
            self._reply(404, b"{}")

        def do_POST(self) -> None:
            content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            rows = np.array(content["dataframe_split"]["data"], dtype=np.float64)
            if rows.shape[1:] != (model.n_features_in_,):  # fairprobe tries whether the sensitive column is needed
                self._reply(400, b"{}")
                return
            self._reply(200, json.dumps({"predictions": model.predict(rows).tolist()}).encode())

        def _reply(self, status: int, data: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            self.wfile.flush()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


def measure(port: int, seconds: float) -> int:
    """The rates side by side."""
    domain = fairprobe.datasets.census_domain()
    sample = domain.sample(SIZES[-1], seed=0)
    rates = {size: plain_rate(port, list(sample.columns), sample.to_numpy()[:size], seconds) for size in SIZES}
    best = max(rates, key=lambda size: rates[size])
    for size, rate in rates.items():
        print(f"plain client, {CONNECTIONS} connections, {size:6,} rows a request  {rate:10,.0f} rows/s")
    url = f"http://127.0.0.1:{port}"
    remote = fairprobe.load_model(url, protocol="mlflow", connections=CONNECTIONS)
    asker, rng = Asker(remote, domain), np.random.default_rng(1)

    def ask() -> int:
        before = remote.n_sent
        asker.ask(domain.sample_codes(ROWS_A_CALL, rng))
        return int(remote.n_sent - before)

    for _ in range(20):  # until the size of a request is found
        ask()
    ours = rate_of(ask, seconds)
    print(f"fairprobe, {ROWS_A_CALL:,} rows a call, {remote.batch_rows:,} a request found {ours:17,.0f} rows/s")
    searched = fairprobe.load_model(url, protocol="mlflow", connections=CONNECTIONS)
    found = fairprobe.search(searched, domain, max_seconds=seconds, max_cases=None, seed=0)
    in_search = found.n_sent / found.seconds
    print(f"fairprobe, a search, {searched.batch_rows:,} a request found {in_search:24,.0f} rows/s")
    of_best = [f"{rate / rates[best]:.0%}" for rate in (ours, in_search)]
    print(f"of the plain client's best ({best:,} rows a request): {of_best[0]}, in a search {of_best[1]}")
    return 0 if ours >= AT_LEAST * rates[best] else 1


def plain_rate(port: int, columns: list[str], rows: Any, seconds: float) -> float:
    """Rows a second of a client that does nothing else."""
    local = threading.local()

    def ask() -> int:
        if not hasattr(local, "connection"):
            local.connection = http.client.HTTPConnection("127.0.0.1", port)
        body = json.dumps({"dataframe_split": {"columns": columns, "data": rows.tolist()}})
        local.connection.request("POST", "/invocations", body, {"Content-Type": "application/json"})
        return len(json.loads(local.connection.getresponse().read())["predictions"])

    def work(until: float) -> int:
        n = 0
        while time.perf_counter() < until:
            n += ask()
        return n

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        begun = time.perf_counter()
        n = sum(pool.map(work, [begun + seconds] * CONNECTIONS))
        return n / (time.perf_counter() - begun)


def rate_of(ask: Callable[[], int], seconds: float) -> float:
    """Rows a second of calls one after the other."""
    begun, n = time.perf_counter(), 0
    while time.perf_counter() - begun < seconds:
        n += ask()
    return n / (time.perf_counter() - begun)


if __name__ == "__main__":
    sys.exit(main())
