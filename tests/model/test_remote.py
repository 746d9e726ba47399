"""Models behind an address: what is sent, what is answered, and what a service is spared."""

import json
import logging
import pickle
import shutil
import subprocess
import time
import warnings
from contextlib import contextmanager
from functools import partial

import numpy as np
import pandas as pd
import pytest

import fairprobe
from fairprobe import Category, Domain, Integer
from fairprobe.errors import DataError, ModelError, SettingError
from fairprobe.model import Asker
from fairprobe.model.client import AnswerCache, BatchSize
from fairprobe.model.protocols import EncodedRows
from fairprobe.model.redaction import shortened
from fairprobe.model.remote import connect
from fairprobe.testing import model_contract
from tests.model.serving import FAULTS, Served, serving

AGE_AND_HOURS = [Integer("age", 17, 90), Integer("hours", 1, 99)]
MIXED = Domain([*AGE_AND_HOURS, Category("job", list("abcdef")), Category("sex", ["F", "M"])], sensitive=["sex"])
NUMBERS = Domain([*AGE_AND_HOURS, Integer("sex", 0, 1)], sensitive=["sex"])
PATHS = {"mlflow": "", "oip": "/v2/models/model", "instances": "/predict"}


def mixed(frame):
    score = frame["age"] + 10 * (frame["sex"] == "M") + frame["hours"] + 20 * (frame["job"] == "c")
    return np.where(score > 100, "yes", "no")


def numbers(rows):
    rows = np.asarray(rows)
    return (rows[:, 0] + 10 * rows[:, 2] + rows[:, 1] > 100).astype(int)


def proba(rows):
    rows = np.asarray(rows, dtype=float)
    high = 1 / (1 + np.exp(-(rows[:, 0] + 10 * rows[:, 2] + rows[:, 1] - 100) / 20))
    return np.column_stack([1 - high, high])


@contextmanager
def connected(served, **options):
    """A service of MLflow's protocol, and the model behind its address."""
    with serving(served):
        yield served, connect(served.url, protocol="mlflow", **options)


search = partial(fairprobe.search, strategy="fully-directed", n_walkers=200, n_global=500, seed=2)


def same_cases(one, other):
    return one.to_frame().equals(other.to_frame())


@pytest.mark.parametrize("protocol", PATHS)
def test_each_protocol_gives_what_the_model_gives(protocol):
    for model, domain in ((mixed, MIXED), (numbers, NUMBERS)):
        with serving(Served(model)) as served:
            remote = connect(served.url + PATHS[protocol], protocol=protocol)
            model_contract(remote, domain)
            served.n_rows, before = 0, remote.n_sent
            there, here = search(remote, domain, max_cases=400), search(model, domain, max_cases=400)
        assert same_cases(there, here)
        assert there.n_queries == here.n_queries == here.n_sent
        assert there.n_sent == served.n_rows == remote.n_sent - before
        assert there.n_sent < there.n_queries  # some rows were remembered
        assert there.jsonable()["n_sent"] == there.n_sent


def test_the_outputs_that_a_service_has_names_for():
    with serving(Served(numbers, proba)) as served:
        answers = {"label": "predict", "proba": "predict_proba"}
        remote = connect(f"{served.url}/v2/models/model", answers=answers)
        rows = NUMBERS.sample(50, seed=0)
        assert np.allclose(Asker(remote, NUMBERS, output="proba").ask_frame(rows), proba(rows))
        assert np.allclose(Asker(remote, NUMBERS, output="score").ask_frame(rows), proba(rows)[:, 1])
        model_contract(remote, NUMBERS)
        found = search(remote, NUMBERS, strategy="guided", max_cases=50)  # it learns from scores
        assert found.n_cases == 50


def test_a_service_with_faults_gives_the_same_cases():
    with connected(Served(mixed, fault_rate=0.2, drip_seconds=1.5), timeout=0.4, batch_rows=64) as (served, remote):
        there = search(remote, MIXED, max_cases=1500)
        assert set(served.n_faults) == set(FAULTS)
        assert 0.1 < sum(served.n_faults.values()) / served.n_requests < 0.3
    here = search(mixed, MIXED, max_cases=1500)
    assert same_cases(there, here)
    assert not there.health
    assert there.n_sent > served.n_rows  # also what a 500 answered


def test_what_was_found_is_kept_when_a_service_ends():
    def ends(handler):
        return ({"error": "gone"}, 503) if handler.served.n_requests > 30 else None

    with connected(Served(mixed, override=ends), retries=2, batch_rows=64) as (served, remote):
        with pytest.raises(ModelError, match=r"HTTP 503.*gone.*3 times in a row") as raised:
            search(remote, MIXED, max_cases=100_000)
        n_requests = served.n_requests
        assert raised.value.found.n_cases > 0
        assert (raised.value.found.n_sent, raised.value.exit_code) == (remote.n_sent, 3)
        with pytest.raises(ModelError, match="HTTP 503"):  # the breaker is open: nothing is sent
            remote.predict(MIXED.sample(10, seed=0))
        assert served.n_requests == n_requests


def test_repeats_wait_as_long_as_the_service_asks():
    times = []

    def busy(handler):
        times.append(time.monotonic())
        return ({"error": "busy"}, 429, {"Retry-After": "1"}) if len(times) == 1 else None

    with serving(Served(mixed, override=busy)) as served:
        connect(served.url, protocol="mlflow").predict(MIXED.sample(3, seed=0))
    assert times[1] - times[0] > 0.9


def test_a_request_that_is_too_large_is_halved():
    def limited(handler):
        return ({"error": "too large"}, 413) if int(handler.headers["Content-Length"]) > 2000 else None

    with connected(Served(mixed, override=limited), batch_rows=1000) as (_, remote):
        rows = MIXED.sample(500, seed=0)
        assert (remote.predict(rows) == mixed(rows)).all()
        assert remote._here.get().size.rows < 200


def test_headers_come_from_the_environment_and_are_never_shown(monkeypatch, caplog):
    secret, key, token = "Bearer s3cr3t-t0ken", "k3y-of-mine", "qu3ry-t0ken"
    monkeypatch.setenv("FAIRPROBE_HEADER_AUTHORIZATION", secret)
    monkeypatch.setenv("MY_KEY", key)
    caplog.set_level(logging.DEBUG)

    def refuses(handler):
        headers = {name.lower(): value for name, value in handler.headers.items()}
        return {"error": f"no {headers['authorization']} {headers['x-api-key']} {handler.path}" * 3}, 403

    rows, shown = MIXED.sample(3, seed=0), []
    with serving(Served(mixed)) as served:
        for address in (served.url, served.url.replace("//", "//me:p4ssw0rd@")):
            served.override = None
            remote = connect(f"{address}/?code={token}", protocol="instances", header_from_env={"X-Api-Key": "MY_KEY"})
            served.override = refuses
            with pytest.raises(ModelError, match="HTTP 403") as raised:
                remote.predict(rows)
            shown.append(f"{raised.value} {remote!r} {remote.name}")
        sent = [{name.lower(): value for name, value in each.items()} for each in served.headers]
    assert (sent[0]["authorization"], sent[0]["x-api-key"]) == (secret, key)
    assert sent[1]["authorization"] == "Basic bWU6cDRzc3cwcmQ="
    for hidden in ("s3cr3t-t0ken", key, token, "p4ssw0rd", "bWU6cDRzc3cwcmQ="):
        assert hidden not in " ".join([*shown, caplog.text])
    assert "HTTP Request: POST" in caplog.text  # httpx logs what it does, less the secrets
    for hidden in ("s3cr3t-t0ken", key):
        assert hidden.encode() not in pickle.dumps(remote)
    assert shortened("see https://me:abc@host/x?token=1&page=2, twice") == "see https://host/x?token=***&page=2, twice"
    with pytest.raises(SettingError, match="ABSENT, which is not set"):
        connect(served.url, protocol="instances", header_from_env={"X-Api-Key": "ABSENT"})


@pytest.mark.parametrize("address", ["http://192.0.2.1/invocations", "HTTP://127.0.0.1.example.com/invocations"])
def test_no_header_is_sent_over_plain_http(monkeypatch, address):
    monkeypatch.setenv("FAIRPROBE_HEADER_X_API_KEY", "k3y-of-mine")
    with pytest.raises(SettingError, match=r"must not be sent over plain http.*X-API-KEY.*use https") as raised:
        connect(address)
    monkeypatch.delenv("FAIRPROBE_HEADER_X_API_KEY")
    with pytest.raises(SettingError, match=r"Authorization, of the address") as of_address:
        connect(address.replace("//", "//me:p4ssw0rd@"))
    assert "k3y-of-mine" not in str(raised.value)
    assert "p4ssw0rd" not in str(of_address.value)


def test_a_header_goes_to_its_host_alone(monkeypatch):
    """Neither after a redirect, nor to a proxy that plain http would go through."""
    monkeypatch.setenv("FAIRPROBE_HEADER_X_API_KEY", "k3y-of-mine")
    with serving(Served(mixed)) as served, serving(Served(mixed)) as other:
        remote = connect(served.url, protocol="mlflow")
        there = {"Location": f"{other.url.replace('127.0.0.1', 'localhost')}/invocations"}
        for status in (301, 302, 303, 307, 308):
            served.override = lambda handler, status=status: ({}, status, there)
            with pytest.raises(ModelError, match=f"HTTP {status}"):
                remote.predict(MIXED.sample(status, seed=0))
        served.override = None
        monkeypatch.setenv("HTTP_PROXY", other.url)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        connect(served.url, protocol="mlflow").predict(MIXED.sample(3, seed=0))
    assert served.headers[-1]["X-API-KEY"] == "k3y-of-mine"
    assert other.n_requests == 0


@pytest.mark.parametrize(
    "address",
    ["http://[::1", "http://host:port/", "http://", "https:///x", "http://localhost\\@evil.example/", "http://h /"],
)
def test_what_is_no_address(address):
    with pytest.raises(SettingError, match="the address of a model must be"):
        connect(address, protocol="mlflow")


def test_sent_to_another_process_it_makes_connections_of_its_own():
    with connected(Served(mixed)) as (_, remote):
        rows = MIXED.sample(20, seed=0)
        remote.predict(rows)
        copy = pickle.loads(pickle.dumps(remote))
        assert (copy.predict(rows) == mixed(rows)).all()
        assert len(copy.predict(rows[:0])) == 0
        assert copy.n_sent == 20
        assert same_cases(search(remote, MIXED, max_cases=300, n_jobs=2), search(mixed, MIXED, max_cases=300))


@pytest.fixture
def certificate(tmp_path):
    """For 127.0.0.1, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl, to make a certificate")
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate]
    about = ["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*command, *about], check=True, capture_output=True)
    return certificate, key


def test_a_certificate_that_does_not_verify(certificate, tmp_path):
    with serving(Served(mixed), certificate=certificate) as served:
        begun = time.monotonic()
        with pytest.raises(ModelError, match=r"certificate of https://127.* must verify, got .*--ca-file"):
            connect(served.url, protocol="mlflow")
        assert time.monotonic() - begun < 30  # it is not tried again
        rows = MIXED.sample(5, seed=0)
        assert (connect(served.url, protocol="mlflow", ca_file=certificate[0]).predict(rows) == mixed(rows)).all()
    with pytest.raises(SettingError, match="ca_file must be a file of certificates"):
        connect(served.url, protocol="mlflow", ca_file=str(tmp_path / "none.pem"))


@pytest.mark.parametrize("is_secret", [False, True])
@pytest.mark.parametrize("fault", ["drip", "slow-headers"])
@pytest.mark.thinned(2)
def test_what_drips_ends_in_time(fault, is_secret, request):
    """On a connection that was good before. An answer comes byte by byte and would be there in the end."""
    pair = request.getfixturevalue("certificate") if is_secret else None
    rows = MIXED.sample(3, seed=0)
    with serving(Served(mixed, faults=(fault,), drip_seconds=10), certificate=pair) as served:
        remote = connect(served.url, protocol="mlflow", timeout=0.5, retries=0, ca_file=pair and pair[0])
        assert (remote.predict(rows) == mixed(rows)).all()
        served.fault_rate = 1.0
        with pytest.raises(ModelError, match=r"within 0\.5 s, got no answer within 0\.5 s"):
            remote.predict(MIXED.sample(3, seed=1))
    assert served.n_requests == 2


@pytest.mark.parametrize(
    ("protocol", "path", "said"),
    [
        ("mlflow", "/elsewhere", "HTTP 400.*the protocol"),
        ("instances", "/invocations", "HTTP 400.*dataframe_split"),
        ("oip", "/other/v2/models/model", "describe its model at .*HTTP 404"),
    ],
)
def test_a_protocol_that_the_service_does_not_speak(protocol, path, said):
    with serving(Served(mixed)) as served, pytest.raises(ModelError, match=said):
        connect(served.url + path, protocol=protocol).predict(MIXED.sample(3, seed=0))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"<html>Welcome!</html>", "no JSON.*Welcome"),
        (b'{"predictions": {"a": 1}}', "no list named predictions"),
        (b'{"predictions": ["yes"]}', "1 answers for 3 rows"),
        (b'{"predictions": ["yes", null, "no"]}', "neither all text nor all numbers"),
        (b'{"predictions": [0.5, NaN, 0.5]}', "not finite"),
        (b'{"predictions": [0.5, 1e999, 0.5]}', "not finite"),
        (b'{"predictions": [[1, 2], [1], [2]]}', "unequal length"),
        (b"[" * 100_000, "no JSON"),
        (b"x" * 3_000_000, "more than"),
    ],
)
def test_answers_that_are_none(content, said):
    with connected(Served(mixed, override=lambda handler: (content,)), retries=1) as (served, remote):
        with pytest.raises(ModelError, match=said) as raised:
            remote.predict(MIXED.sample(3, seed=0))
        assert len(str(raised.value)) < 500
        assert served.n_requests == 2


def test_several_answers_a_row_need_a_name():
    several = {"predictions": [{"label": "yes", "score": 0.7}, {"label": "no", "score": 0.2}]}
    with serving(Served(mixed, override=lambda handler: (several,))) as served:
        rows = MIXED.sample(2, seed=0)
        with pytest.raises(SettingError, match="label, score: say answers="):
            connect(served.url, protocol="mlflow").predict(rows)
        remote = connect(served.url, protocol="mlflow", answers={"label": "label", "score": "score"})
        assert remote.predict(rows).tolist() == ["yes", "no"]
        assert Asker(remote, MIXED, output="score").ask_frame(rows).tolist() == [0.7, 0.2]


def test_a_model_of_other_columns():
    with serving(Served(mixed, inputs=("age", "income", "sex"))) as served:
        with pytest.raises(DataError, match="got no income: add the column"):
            search(connect(f"{served.url}/v2/models/model"), MIXED)
        with pytest.raises(ModelError, match=r"HTTP 400: .*KeyError: 'job'.*columns"):  # MLflow does not say before
            search(connect(served.url, protocol="mlflow"), NUMBERS)


def test_a_service_that_passes_over_the_sensitive_column_is_noticed():
    def blind(frame):
        return np.where(frame["age"] > 50, "yes", "no")

    said = "column-not-needed: .*without sex as well"
    with connected(Served(blind)) as (_, remote), pytest.warns(fairprobe.errors.HealthWarning, match=said):
        search(remote, MIXED, max_inputs=1000)
    with serving(Served(mixed)) as served, warnings.catch_warnings():
        warnings.simplefilter("error")
        search(connect(served.url, protocol="mlflow"), MIXED, max_cases=10)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"protocol": "soap"}, "protocol must be one of mlflow, oip, instances; got 'soap'"),
        ({"protocol": "oip"}, "must end with /v2/models/NAME"),
        ({"protocol": "mlflow", "connections": 0}, "connections must be a whole number of at least 1"),
        ({"protocol": "mlflow", "answers": {"labels": "x"}}, "answers must be one of label, score"),
    ],
)
def test_settings_that_are_wrong(options, said):
    with pytest.raises(SettingError, match=said):
        connect("http://127.0.0.1:1/", **options)


@pytest.mark.filterwarnings("error")
def test_json_keeps_numbers_and_missing_values():
    seen = []
    rows = pd.DataFrame({"x": [0.1 + 0.2, 1e-300, np.nan], "n": pd.array([1, None, 2**53], dtype="Int64")})
    rows["t"] = pd.Categorical(["a", "b", None])
    with serving(Served(lambda frame: seen.append(frame) or np.zeros(len(frame), dtype=int))) as served:
        connect(served.url, protocol="mlflow").predict(rows)
    assert seen[0]["x"].tolist()[:2] == [0.1 + 0.2, 1e-300]
    assert seen[0].isna().to_numpy().tolist() == rows.isna().to_numpy().tolist()
    assert json.loads(seen[0].to_json())["n"]["2"] == 2**53


def ask(cache, rows, function, *, afresh=False):
    """The answers to rows, each by a function, and how many of them were asked for."""
    n = 0

    def answers(places):
        nonlocal n
        n += len(places)
        return [function(rows[place]) for place in places]

    return cache.answer([repr(row).encode() for row in rows], answers, afresh=afresh), n


@pytest.mark.parametrize("capacity", [10_000, 100])
def test_a_row_is_asked_about_once_while_there_is_room(capacity):
    cache, rng = AnswerCache(capacity), np.random.default_rng(3)
    for _ in range(20):
        rows = rng.integers(0, 12, (300, 2)).tolist()
        answers, n = ask(cache, rows, lambda row: row[0] * 100 + row[1])
        assert answers == [row[0] * 100 + row[1] for row in rows]
        assert n <= len(set(map(tuple, rows)))
    assert (n == 0) == (capacity > 144)
    assert len(cache) == min(capacity, 144)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1.0]})),
        (pd.DataFrame({"a": ["1"]}), pd.DataFrame({"a": [1]})),
        (pd.DataFrame({"a": [None, "x"]}), pd.DataFrame({"a": ["None", "x"]})),
        (np.array([[0.0]]), np.array([[5e-324]])),
    ],
)
def test_rows_that_are_sent_differently_are_others(one, other):
    assert EncodedRows(one, as_objects=False).rows[0] != EncodedRows(other, as_objects=False).rows[0]


def test_afresh_all_rows_are_sent_and_another_answer_ends_the_cache():
    cache, rows = AnswerCache(100), list(range(5))
    ask(cache, rows, lambda row: row)
    assert ask(cache, rows, lambda row: row, afresh=True)[1] == 5
    assert ask(cache, rows, lambda row: row)[1] == 0
    assert ask(cache, rows, lambda row: row + 1, afresh=True)[0] == [1, 2, 3, 4, 5]
    answers, n = ask(cache, rows, lambda row: row + 2)
    assert (answers, n, cache.is_off) == ([2, 3, 4, 5, 6], 5, True)


@pytest.mark.parametrize("form", [lambda value: value, lambda value: [value, 1 - value]])
@pytest.mark.parametrize(("factor", "is_other"), [(1 + 1e-12, False), (1 + 1e-4, True)])
def test_rounding_is_no_other_answer(form, factor, is_other):
    cache = AnswerCache(100)
    ask(cache, range(5), lambda row: form(row / 3))
    ask(cache, range(5), lambda row: form(row / 3 * factor), afresh=True)
    assert cache.is_off == is_other


def test_the_batch_grows_while_requests_are_quick():
    def grown(seconds_a_row, n_rows=100_000):
        size = BatchSize()
        for _ in range(20):
            n_sent = len(size.parts(list(range(n_rows)))[0])
            size.answered(n_sent, n_sent * seconds_a_row)
        return size.rows

    assert grown(1e-3) == 512
    assert grown(0.1) == 64
    assert grown(1e-6) == 16_384
    assert grown(1e-6, n_rows=200) == 512
    assert [len(part) for part in BatchSize(100).parts(list(range(250)))] == [83, 83, 84]
