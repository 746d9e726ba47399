"""Wrong use of options: exit code 2, the rule, the value got, no traceback."""

import os

import pytest


@pytest.mark.parametrize(
    "flag", ["--max-cases", "--max-queries", "--max-judged", "--max-barren", "--max-seconds", "--walkers", "--global"]
)
@pytest.mark.parametrize("value", ["0", "-5"])
def test_limits_and_counts_are_above_zero(search, flag, value):
    search(flag, value).refuses(f"{flag} must be", f"got {value}")


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--max-cases", "1.5"], ["--max-cases", "got '1.5'"]),
        (["--max-cases", "inf"], ["--max-cases", "got 'inf'"]),
        (["--max-seconds", "nan"], ["--max-seconds", "got nan"]),
        (["--seed", "-1"], ["seed must be", "got -1"]),
        (["--delta-v", "-0.5"], ["--delta-v must be", "got -0.5"]),
        (["--jobs", "0"], ["--jobs must be", "got 0"]),
        (["--batch", "list"], ["batch must be", "'list'"]),
        (["--output", "Proba", "--threshold", "0.1"], ["did you mean 'proba'?"]),
        (["--strategy", "magic"], ["uniform, random, semi-directed, fully-directed", "got 'magic'"]),
        (["--output", "score"], ["--output score needs a threshold"]),
        (["--walkers", "none"], ["--walkers", "'none'"]),
        (["--nonsense"], ["--nonsense"]),
        (["--from", "rows"], ["--from rows needs --data"]),
        (["--label", "income"], ["--label", "no --data"]),
        (["--json", "--out", "-"], ["--json and --out -"]),
    ],
)
def test_wrong_option(search, arguments, parts):
    search(*arguments).refuses(*parts)


@pytest.mark.parametrize(
    ("sensitive", "parts"),
    [
        (["gender"], ["age, sex, pay", "'gender'"]),
        (["sex,sex"], ["each parameter once", "'sex'"]),
        (["age=25"], ["two values at least", "'age'"]),
        (["age="], ["must list the values", "'age='"]),
        (["age=25,old"], ["must lie in the domain of 'age'", "['old']"]),
        (["pay"], ["1,000 combinations at most, got 5,000", "--sensitive pay=VALUE,VALUE"]),
    ],
)
def test_wrong_sensitive_parameter(search, sensitive, parts):
    options = [word for text in sensitive for word in ("--sensitive", text)]
    search(*options).refuses(*parts)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["search"], ["--model"]),
        (["search", "--model"], ["--model"]),
        (["search", "--model", "toys:flips"], ["--data", "--domain", "got neither"]),
        (["search", "--model", "toys:flips", "--data", "rows.csv"], ["--sensitive", "age, sex, pay, income"]),
        (["serach"], ["'serach'"]),
        (["demo", "--seed", "-1"], ["--seed", "-1"]),
        (["domain", "--sensitive", "sex"], ["--data"]),
        (["domain", "--data", "rows.csv"], ["--sensitive"]),
        (["domain", "--data", "rows.csv", "--sensitive", "sex", "--out", "domain.csv"], ["'domain.csv'"]),
    ],
)
def test_incomplete_or_wrong_command(fairprobe, arguments, parts):
    fairprobe(*arguments).refuses(*parts)


@pytest.mark.parametrize(
    ("out", "parts"),
    [
        ("cases.txt", [".csv or .parquet", "'cases.txt'"]),
        ("absent/cases.csv", ["folder that exists", "absent/cases.csv"]),
        (".", ["must be a file", "the folder ."]),
    ],
)
def test_output_that_cannot_be_written_is_said_before_the_model_is_loaded(fairprobe, out, parts):
    fairprobe("search", "--model", "no_such_module:model", "--domain", "domain.toml", "--out", out).refuses(*parts)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="a folder where nobody may write")
def test_output_where_nobody_may_write(search):
    search("--out", "/proc/cases.csv").refuses("--out must be a file that can be written", "/proc/cases.csv")


def test_no_command_shows_the_help(fairprobe):
    fairprobe().says("demo", code=2)
