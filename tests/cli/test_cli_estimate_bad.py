"""Wrong use of `fairprobe estimate` and bad input (exit code 2), and models that fail (3): no traceback."""

import json
import signal

import pytest

ROWS = ("--data", "rows.csv", "--label", "income")


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--confidence", "95"], ["--confidence must be", "got 95"]),
        (["--max-share", "1"], ["--max-share must", "got 1"]),
        (["--max-share", "5%"], ["--max-share", "'5%'"]),
        (["--method", "guess"], ["--method must be one of auto, sample, exact", "'guess'"]),
        (["--population", "people"], ["--population must be one of domain, valid, rows", "people"]),
        (["--population", ","], ["--population must be one of", "got ''"]),
        (["--population", "rows"], ["--population rows needs --data"]),
        (["--population", "valid"], ["constraints", "use --population domain"]),
        (["--gate", "people", "--max-share", "0.1"], ["--gate must be one of rows, domain, valid", "'people'"]),
        (["--gate", "rows", "--max-share", "0.1"], ["--gate must be one of the populations domain", "'rows'"]),
        (["--gate", "domain"], ["--gate says what --max-share is about", "--gate domain alone"]),
        (["--output", "score"], ["--output score needs a threshold"]),
        (["--label", "income"], ["--label", "no --data"]),
    ],
)
def test_wrong_option_is_refused_before_the_model_is_loaded(estimate, arguments, parts):
    estimate(*arguments, model="no_such_module:model").refuses(*parts)


def test_what_was_estimated_before_a_failure_is_kept(estimate):
    command = [*ROWS, "--method", "sample", "--max-share", 0.9, "--experiments", 100]
    outcome = estimate(*command, "--gate", "rows", model="toys:fails_later")
    outcome.refuses("RuntimeError", "the disk is on fire", code=3)
    assert "kept: rows" in outcome.err
    assert "1 of 3" in outcome.out
    assert "The same again" not in outcome.out
    assert "Verdict" not in outcome.out


def test_interrupted_estimate_says_what_is_known(estimate):
    done = estimate(*ROWS, "--method", "sample", "--json", "--max-share", "0.1351", model="toys:interrupts_late").says(
        code=130
    )
    assert done.err.startswith("interrupted; kept: rows; domain: so far 13.")
    assert done.err.count("\n") == 1
    content = json.loads(done.out)
    assert content["interrupted"] is True
    assert ([*content["shares"]], content["verdict"]) == (["rows"], None)
    assert 0.12 < content["unfinished"]["hits"] / content["unfinished"]["n"] < 0.15


def test_interrupted_before_the_first_batch(estimate, monkeypatch):
    monkeypatch.setattr("fairprobe.cli.estimate.Estimate._estimate", lambda *_: signal.raise_signal(signal.SIGINT))
    outcome = estimate(*ROWS)
    assert (outcome.code, outcome.err) == (130, "interrupted; kept: nothing\n")
    assert "Verdict" not in outcome.out
