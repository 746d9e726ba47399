import json
import shlex
import sys

import pandas as pd
import pytest

from tests.model.serving import Served, serving

SECRETS = ("t0p-s3cret", "k3y-in-query", "p4ssw0rd")


def flips(frame):
    rows = frame.to_numpy()
    return (rows[:, 0] + 10 * rows[:, 1] > 50).astype(int)


@pytest.fixture
def served(monkeypatch):
    monkeypatch.setenv("FAIRPROBE_HEADER_X_API_KEY", "t0p-s3cret")
    with serving(Served(flips)) as served:
        yield served


def with_secrets(url):
    return f"{url.replace('//', '//me:p4ssw0rd@')}/predict?code=k3y-in-query"


def test_a_service_is_searched_and_no_secret_is_shown(fairprobe, search, estimate, served, folder):
    plain = json.loads(search("--max-cases", 40, "--json", "--strategy", "random", "--out", "cases.csv").out)
    served.override = lambda handler: setattr(handler, "path", handler.path.partition("?")[0])
    address = with_secrets(served.url)
    model = {"model": address, "domain": "domain.toml"}
    options = ("--protocol", "instances", "--strategy", "random", "--connections", 2)
    ran = search("--max-cases", 40, *options, "--json", **model)
    told = json.loads(ran.out)
    assert (ran.code, told["n_cases"], told["n_queries"]) == (0, plain["n_cases"], plain["n_queries"])
    assert told["n_sent"] <= served.n_rows
    outcomes = [
        ran,
        search("--max-cases", 40, *options, **model),
        search("--max-cases", 40, *options, "--dry-run", "--json", **model),
        search("--trust", "some.Type", **model),
        estimate("--experiments", 1, "--protocol", "instances", "--json", **model),
        fairprobe("replay", "cases.csv", "--model", address, "--domain", "domain.toml", *options[:2]),
    ]
    assert "rows sent)" in outcomes[1].out
    assert "code=***" in outcomes[1].out
    assert [outcome.code for outcome in outcomes] == [0, 0, 0, 2, 0, 1]
    for outcome in outcomes:
        assert not any(secret in outcome.out + outcome.err for secret in SECRETS)
    assert all(headers.get("X-API-KEY") == "t0p-s3cret" for headers in served.headers)


def test_what_was_found_is_kept_when_a_service_ends(search, served, folder):
    def ends(handler):
        gone = {"error": f"gone, {handler.headers['X-API-KEY']}"}
        return (gone, 500) if handler.served.n_requests > 20 else None

    served.override = ends
    settings = ("--protocol", "mlflow", "--retries", 1, "--batch-rows", 32, "--strategy", "random", "--walkers", 50)
    ran = search(*settings, "--global", 100, "--max-cases", 100_000, "--out", "cases.csv", model=served.url).says(
        code=3
    )
    assert "HTTP 500" in ran.err
    assert "kept:" in ran.err
    assert "t0p-s3cret" not in ran.err
    assert len(pd.read_csv(folder / "cases.csv")) > 0


def test_a_program_is_searched(search, folder):
    (folder / "score.py").write_text(
        "import sys\n"
        "sys.stdin.readline()\n"
        "for line in sys.stdin:\n"
        "    age, sex = map(int, line.split(',')[:2])\n"
        "    print(int(age + 10 * sex > 50), flush=True)\n"
    )
    command = f"command:{shlex.join([sys.executable, 'score.py'])}"
    plain, ran = (json.loads(search("--max-cases", 40, "--json", model=m).out) for m in ("toys:flips", command))
    assert ran["n_cases"] == plain["n_cases"]
    (folder / "score.py").write_text("import sys\nprint('no such luck', file=sys.stderr)\nsys.exit(5)\n")
    died = search("--max-cases", 40, model=command).says(code=3)
    assert "before it ended, with exit code 5; it said: no such luck" in died.err


@pytest.mark.parametrize(
    ("model", "options", "code", "said"),
    [
        ("https://127.0.0.1:1/", (), 2, "--protocol must be one of"),
        ("http://127.0.0.1:1/", ("--protocol", "mlflow"), 3, "must answer"),
        ("http://127.0.0.1:1/", ("--protocol", "mlflow", "--answer", "label"), 2, "--answer must be NAME=VALUE"),
        (
            "http://127.0.0.1:1/",
            ("--protocol", "mlflow", "--header-from-env", "X-Key=NOT_THERE"),
            2,
            "NOT_THERE, which is not set",
        ),
        ("command:true", ("--connections", 3), 2, "--connections is not for a model of the kind command"),
        ("command:no-such-program", (), 2, "can be run, got 'no-such-program'"),
        ("toys:flips", ("--protocol", "mlflow"), 2, "--protocol is for services and programs"),
    ],
)
def test_what_may_be_wrong(search, model, options, code, said):
    ran = search(*options, model=model)
    assert ran.code == code
    assert said in ran.err
    assert "Traceback" not in ran.err
