"""`fairprobe search` as it should go."""

import json
import re
import shlex

import pandas as pd
import pytest

import fairprobe as library
from fairprobe.domain import Category, Domain, Integer


@pytest.fixture
def flips():
    return lambda X: X[:, 0] + 10 * X[:, 1] > 50


def test_cases_are_those_of_the_library(search, folder, flips):
    outcome = search("--max-cases", 200, "--seed", 3, "--strategy", "random", "--walkers", 50, "--out", "cases.csv")
    domain = Domain.from_toml(folder / "domain.toml")
    found = library.search(flips, domain, max_cases=200, seed=3, strategy="random", n_walkers=50)
    assert outcome.code == 0
    pd.testing.assert_frame_equal(pd.read_csv("cases.csv"), found.to_frame())
    assert "200 cases in " in outcome.out
    assert "cases.csv" in outcome.out


def test_summary_says_what_yield_is_and_shows_cases(search):
    outcome = search("--max-cases", 50)
    assert "The yield measures this search, not how common cases are." in outcome.out
    assert "as many cases as asked for were found" in outcome.out
    assert (
        len(re.findall(r"^  - age=\d+, pay=\d+: sex [01] -> [01] changes \w+ to \w+$", outcome.out, re.MULTILINE)) == 5
    )
    assert outcome.err == ""


@pytest.mark.parametrize("limit", [["--max-cases", "100"], ["--max-seconds", "0.05", "--max-cases", "none"]])
def test_command_printed_gives_the_same_again(fairprobe, search, folder, limit):
    first = search(*limit, "--seed", "none", "--out", "first.csv", "--walkers", 20)
    command = shlex.split(first.out.split("The same again:")[1])
    assert command[:2] == ["fairprobe", "search"]
    again = fairprobe(*[word.replace("first.csv", "second.csv") for word in command[1:]])
    assert again.code == 0
    assert (folder / "first.csv").read_bytes() == (folder / "second.csv").read_bytes()


def test_standard_output_has_only_the_cases(search):
    outcome = search("--max-cases", 20, "--out", "-", model="toys:loud")
    lines = outcome.out.splitlines()
    assert lines[0] == "age,sex,pay,twin_sex,output_case,output_twin,gap"
    assert len(lines) == 21
    assert "the model says hello" in outcome.err
    assert "20 cases in " in outcome.err


def test_json_is_one_object(search):
    outcome = search("--json", "--max-cases", 20, "--out", "cases.csv", model="toys:loud")
    content = json.loads(outcome.out)
    assert content["n_cases"] == 20
    assert content["stop_reason"] == "max-cases"
    assert content["out"] == "cases.csv"
    assert content["error"] is None
    assert len(content["cases"]) == 3
    assert {"age", "sex", "pay", "twin_sex", "output_case", "output_twin", "gap"} == set(content["cases"][0])


def test_a_file_that_is_there_is_overwritten_even_by_nothing(search, folder):
    (folder / "cases.csv").write_text("older")
    search("--out", "cases.csv", "--max-judged", 2000, model="toys:blind").says()
    assert (folder / "cases.csv").read_text() == "age,sex,pay,twin_sex,output_case,output_twin,gap\n"


def test_link_is_followed(search, folder):
    (folder / "shelf").mkdir()
    (folder / "shelf" / "real.csv").touch()
    (folder / "cases.csv").symlink_to(folder / "shelf" / "real.csv")
    search("-o", "cases.csv", "--max-cases", 5)
    assert (folder / "cases.csv").is_symlink()
    assert len(pd.read_csv(folder / "shelf" / "real.csv")) == 5


def test_note_in_the_words_of_the_command_line(search):
    outcome = search("--max-judged", 100)
    assert "note: small-budget" in outcome.err
    assert "lower --global" in outcome.err


def test_sensitive_given_replaces_the_file_s(search):
    content = json.loads(search("--sensitive", "age=20,40.0,60", "--max-cases", 50, "--json").out)
    assert content["sensitive"] == ["age"]
    assert {case["age"] for case in content["cases"]} | {case["twin_age"] for case in content["cases"]} <= {20, 40, 60}


def test_values_of_several_kinds_in_parquet(search, folder):
    (folder / "plan.py").write_text(
        "import fairprobe as fp\n"
        "domain = fp.Domain([fp.Category('job', ['cook', 3, True]), fp.Integer('sex', 0, 1)], sensitive=['sex'])\n"
        "def model(frame):\n    return frame['sex']\n"
    )
    assert search("--out", "cases.parquet", domain="plan:domain", model="plan:model").code == 0
    assert sorted(pd.read_parquet("cases.parquet")["job"]) == ["3", "True", "cook"]


def test_values_to_compare_are_those_of_the_parameter():
    from fairprobe.cli.data import values_of

    assert values_of(Category("code", ("1", "2")), ["1", "3"]) == ["1", 3]
    assert values_of(Category("flag", (False, True)), ["true", "False"]) == [True, False]
    assert values_of(Integer("age", 0, 99), ["25", "4.5", "old"]) == [25, 4.5, "old"]
