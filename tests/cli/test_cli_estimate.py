"""`fairprobe estimate` as it should go."""

import json
import re
import shlex
from fractions import Fraction

import pytest

import fairprobe as library
from fairprobe.domain import Domain
from fairprobe.testing import odd_one_out

SAMPLE = ("--method", "sample", "--experiments", 20, "--samples", 500)
ROWS = ("--data", "rows.csv", "--label", "income")
SHARE = Fraction(10, 74)
"""Of `flips`: ages 41 to 50 of 17 to 90."""

CONSTRAINED = """
import fairprobe as fp
from fairprobe.testing import box, odd_one_out

def parameters(pay):
    return [fp.Integer("age", 17, 90), fp.Integer("sex", 0, 1), fp.Integer("pay", 0, pay)]

wide = fp.Domain(parameters(10**7), sensitive=["sex"], constraints=[lambda frame: frame["age"] > 40])
small = fp.Domain(parameters(9), sensitive=["sex"], constraints=[lambda frame: frame["age"] > 40])
odd = odd_one_out()
"""


@pytest.fixture
def plan(folder):
    """A module with domains that have constraints, and a toy with two sensitive parameters."""
    (folder / "plan.py").write_text(CONSTRAINED)


def shares_of(outcome):
    return json.loads(outcome.out)["shares"]


def test_small_domain_is_exact(estimate):
    outcome = estimate().says()
    assert outcome.err == ""
    assert re.search(r"^  domain +13\.51% +exact +100,000 of 740,000 +exact$", outcome.out, re.MULTILINE)
    assert "domain: exactly 13.51% of the domain (100,000 of 740,000 inputs)" in outcome.out
    assert "exact: all 740,000 inputs of the domain were looked at" in outcome.out


def test_sample_is_that_of_the_library(estimate, folder):
    outcome = estimate(*SAMPLE, "--seed", 7, "--confidence", 0.9, "--json")
    domain = Domain.from_toml(folder / "domain.toml")
    share = library.estimate(
        lambda X: X[:, 0] + 10 * X[:, 1] > 50,
        domain,
        method="sample",
        n_experiments=20,
        n_samples=500,
        seed=7,
        confidence=0.9,
    )
    expected = json.loads(json.dumps(share.jsonable()))
    got = shares_of(outcome)["domain"]
    assert {**got, "seconds": 0} == {**expected, "seconds": 0}
    assert got["low"] < SHARE < got["high"]


def test_rows_and_domain_side_by_side(estimate):
    outcome = estimate(*ROWS).says()
    assert [*shares_of(estimate(*ROWS, "--json"))] == ["rows", "domain"]
    assert re.search(r"^  rows +33\.33% +0\.84% to 90\.57% +95% +1 of 3 +all rows$", outcome.out, re.MULTILINE)
    assert "rows: 33.33% of the rows (1 of 3) get another outcome when sex changes (95% interval" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--population", "rows"], ["rows"]),
        (["--population", "domain,rows"], ["domain", "rows"]),
        (["--population", "domain", "--population", "rows", "--population", "domain"], ["domain", "rows"]),
    ],
)
def test_populations_asked_for(estimate, arguments, expected):
    assert [*shares_of(estimate(*ROWS, *arguments, "--json"))] == expected


def test_valid_part_by_default_where_there_are_constraints(estimate, plan):
    shares = shares_of(estimate("--json", domain="plan:small"))
    assert [*shares] == ["valid", "domain"]
    assert shares["valid"]["value"] == 0.2
    assert shares["domain"]["value"] == pytest.approx(float(SHARE))


def test_rows_whose_sensitive_value_is_unknown_are_left_out(estimate, fairprobe, folder):
    (folder / "rows.csv").write_text("age,sex,pay\n20,0,1\n45,1,1\n48,,5\n60,,7\n")
    for outcome in (
        estimate("--data", "rows.csv"),
        fairprobe("estimate", "--model", "toys:flips", "--data", "rows.csv", "--sensitive", "sex"),
    ):
        assert outcome.code == 0
        assert "50% of the rows (1 of 2)" in outcome.out
        assert "2 rows are left out, because sex is unknown" in outcome.out
    assert shares_of(estimate("--data", "rows.csv", "--json"))["rows"]["n_left_out"] == 2


def test_several_sensitive_parameters(fairprobe, plan):
    command = ["estimate", "--model", "plan:odd.model", "--domain", "plan:odd.domain", "--by-parameter"]
    content = json.loads(fairprobe(*command, "--json").out)
    assert [*content["breakdown"]["domain"]] == ["sex", "race", "sex x race"]
    assert content["breakdown"]["domain"]["sex x race"]["value"] == float(odd_one_out().share)
    assert content["shares"]["domain"] == content["breakdown"]["domain"]["sex x race"]
    assert {share["confidence"] for share in content["breakdown"]["domain"].values()} == {0.95}
    outcome = fairprobe(*command)
    assert "By what is changed (domain):" in outcome.out
    assert re.search(r"^  sex x race +9% ", outcome.out, re.MULTILINE)
    assert json.loads(fairprobe(*command[:-1], "--json").out)["breakdown"] is None
    # A verdict is on all of them together.
    assert [fairprobe(*command, "--max-share", limit).code for limit in (0.05, 0.1)] == [1, 0]


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (["--max-share", 0.2], 0, "passed"),
        (["--max-share", 0.1], 1, "violated"),
        (["--max-share", 0], 1, "violated"),
        (["--max-share", 0.2, "--method", "sample"], 0, "passed"),
        (["--max-share", 0.1, "--method", "sample"], 1, "violated"),
        (["--max-share", 0.135, "--method", "sample", "--experiments", 10], 4, "inconclusive"),
    ],
)
def test_verdict(estimate, arguments, code, word):
    outcome = estimate(*arguments)
    assert outcome.code == code
    assert f"Verdict on the domain: {word}: " in outcome.out
    content = json.loads(estimate(*arguments, "--json").out)["verdict"]
    assert content["outcome"] == word
    assert content["exit_code"] == code
    assert content["population"] == "domain"
    assert content["sentence"].startswith(f"{word}: ")


def test_limit_is_about_the_rows_where_there_are_any(estimate):
    estimate(*ROWS, "--max-share", 0.2).says("Verdict on the rows: inconclusive", "More rows would settle it", code=4)
    assert estimate(*ROWS, "--max-share", 0.2, "--gate", "domain").code == 0


def test_only_the_population_of_the_limit_is_sampled_until_settled(estimate, plan):
    command = ["--max-share", 0.5, "--gate", "valid", "--experiments", 30, "--json"]
    shares = shares_of(estimate(*command, domain="plan:wide"))
    assert shares["valid"]["method"] == "sequential"
    assert shares["domain"]["method"] == "sample"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [([], "The model does not use sex; another"), (SAMPLE, "The model may not use sex; another")],
)
@pytest.mark.parametrize("model", ["toys:blind", "toys:constant"])
def test_model_that_does_not_use_the_sensitive_parameter(estimate, arguments, words, model):
    outcome = estimate(*arguments, model=model).says()
    assert words in outcome.out
    assert "another column may stand in for it" in outcome.out
    assert words not in estimate(*arguments).out


def test_the_words_never_promise(estimate):
    for model in ("toys:flips", "toys:blind"):
        outcome = estimate(*SAMPLE, *ROWS, "--max-share", 0.5, "--favourable", "True", model=model)
        assert not re.search(r"\b(un)?(fair|biased|debiased)(ness)?\b", outcome.out + outcome.err, re.IGNORECASE)


def test_who_gets_what(estimate):
    outcome = estimate(*SAMPLE, model="toys:words")
    assert "among the discriminatory inputs of the domain:" in outcome.out
    assert re.search(r"^ +no +yes\n  sex=0 +100\.0% +0\.0%\n  sex=1 +0\.0% +100\.0%$", outcome.out, re.MULTILINE)
    assert "--favourable OUTCOME" in outcome.out
    assert "worse off, if" not in outcome.out


@pytest.mark.parametrize(
    ("model", "arguments", "favourable", "named"),
    [
        ("toys:words", [], "yes", "sex=0 gets yes"),
        ("toys:words", [], "no", "sex=1 gets no"),
        ("toys:flips", [], "true", "sex=0 gets True"),
        ("toys:score", ["--output", "score", "--threshold", "0.1"], "highest", "sex=0 gets highest"),
        ("toys:score", ["--output", "value", "--threshold", "0.1"], "lowest", "sex=1 gets lowest"),
        ("toys:proba", ["--output", "proba", "--threshold", "0.1"], "1", "sex=0 gets 1"),
    ],
)
def test_who_is_worse_off(estimate, model, arguments, favourable, named):
    outcome = estimate(*SAMPLE, *arguments, "--favourable", favourable, model=model)
    assert f"{named} least often: worse off" in outcome.out
    content = shares_of(estimate(*SAMPLE, *arguments, "--favourable", favourable, "--json", model=model))
    assert content["domain"]["worse_off"] == named.split(" ")[0]


def test_an_outcome_that_is_never_seen_is_refused(estimate):
    estimate(*SAMPLE, "--favourable", "perhaps", model="toys:words").refuses(
        "that was seen", "'no', 'yes'", "'perhaps'"
    )


def test_json_is_one_object(estimate, folder):
    outcome = estimate(*SAMPLE, *ROWS, "--json", "--max-share", 0.5, model="toys:loud")
    content = json.loads(outcome.out)
    names = "model shares breakdown verdict matched rows out unfinished interrupted error"
    assert set(content) == set(names.split())
    assert content["breakdown"] is content["unfinished"] is content["error"] is None
    assert content["interrupted"] is False
    for name, share in content["shares"].items():
        assert share["population"] == name
        assert 0 <= share["low"] <= share["lower"] <= share["value"] <= share["upper"] <= share["high"] <= 1
        assert share["outcomes"][0]["sensitive"] == "sex=0"
    assert set(content["verdict"]) == {"outcome", "condition", "sentence", "population", "max_share", "exit_code"}
    assert "the model says hello" in outcome.err


@pytest.mark.parametrize("arguments", [["--seed", "none"], ["--seed", 5, "--max-share", 0.05, "--favourable", "True"]])
def test_command_printed_gives_the_same_again(fairprobe, estimate, arguments):
    first = estimate(*SAMPLE, *arguments)
    command = shlex.split(first.out.split("The same again:")[1])
    assert command[:2] == ["fairprobe", "estimate"]
    again = fairprobe(*command[1:])
    assert again.code == first.code
    timeless = [re.sub(r", [\d.]+ s, seed", "", outcome.out) for outcome in (first, again)]
    assert timeless[0] == timeless[1]


def test_missing_markers_and_ignored_columns(fairprobe, folder):
    (folder / "words.py").write_text("def model(frame):\n    return frame['job'].isna() & (frame['sex'] == 'M')\n")
    (folder / "words.csv").write_text("job,sex,id\ncook,F,1\n?,M,2\nsmith,M,3\n?,?,4\n")
    command = ["estimate", "--model", "words:model", "--data", "words.csv", "--sensitive", "sex", "--ignore", "id"]
    share = shares_of(fairprobe(*command, "--missing", "?", "--json"))["rows"]
    assert (share["hits"], share["n"], share["n_left_out"]) == (1, 3, 1)
