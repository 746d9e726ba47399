"""What cannot be, what changes along, what is hidden, and which rows: on the command line."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fairprobe.cli.data import Source, parse_link
from fairprobe.domain import Domain, Link

MODELS = """
import numpy as np

def by_role(frame):
    return np.where((frame["role"] == "Husband") | (frame["age"] > 60), "yes", "no")

def by_both(frame):
    return np.where((frame["role"] == "Husband") | ((frame["sex"] == "M") & (frame["age"] > 50)), "yes", "no")

def blind(frame):
    assert "sex" not in frame
    return by_role(frame)

def two(frame):
    return np.where((frame["sex"] == "M") & (frame["age"] > 50) | (frame["race"] == "B") & (frame["age"] < 30), 1, 0)
"""

ROWS = """\
age,sex,role,race,id,w,loan
20,M,Husband,A,p1,1,yes
30,F,Wife,A,p1,1,no

40,M,Single,B,p2,2,no
55,F,Single,B,p3,4,no
59,M,Single,A,p4,2,yes
25,F,Husband,B,p5,0,no
"""

LINK = "role~sex: M=Husband, F=Wife"
DATA = ("--data", "people.csv", "--label", "loan", "--ignore", "id,w")
SEX = (*DATA, "--sensitive", "sex")


@pytest.fixture
def run(fairprobe, folder):
    (folder / "people.py").write_text(MODELS)
    (folder / "people.csv").write_text(ROWS)

    def run(command, *arguments, model="by_role"):
        asks = () if command == "domain" else ("--model", f"people:{model}")
        return fairprobe(command, *asks, *arguments)

    return run


def without_notes(outcome):
    lines = outcome.err.splitlines(keepends=True)
    return replace(outcome, err="".join(line for line in lines if not line.startswith("note: ")))


def as_it_is(_, text):
    return text


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("role~sex:M=Husband,F=Wife", Link("role", "sex", [{"M": "Husband", "F": "Wife"}])),
        (
            " role ~ sex : M = Husband, F=Wife; M=Widower, F = ",
            Link("role", "sex", [{"M": "Husband", "F": "Wife"}, {"M": "Widower"}]),
        ),
        ("`a~b`~'c:d': \"x,y\"='p;q', driver's=it's", Link("a~b", "c:d", [{"x,y": "p;q", "driver's": "it's"}])),
    ],
)
def test_a_link_as_text(text, link):
    assert parse_link(text, as_it_is) == link


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["--link must be COLUMN~SENSITIVE:", "got ''"]),
        ("~sex: M=Husband", ["--link must be COLUMN~SENSITIVE:"]),
        ("role~sex: M=Husband=x", ["a role must be VALUE=VALUE", "'M=Husband=x'"]),
        ("role~sex: M=Husband, Wife", ["a role must be VALUE=VALUE", "got 'Wife'"]),
        ("role~sex: M=Husband, M=Wife", ["must stand once", "'M' twice"]),
        ("age~sex: M+13", ["a role must be VALUE=VALUE", "a shift of a number stands in a domain file alone"]),
        ("role~sex: M=Husbnd, F=Wife", ["must name values of 'role'", "did you mean 'Husband'?"]),
    ],
)
def test_a_link_that_is_refused(run, text, parts):
    run("domain", *SEX, "--link", text).refuses(*parts)


def test_values_in_links_are_those_of_the_parameters(fairprobe, folder):
    (folder / "n.csv").write_text("sex,part\n0,1\n1,2\n0,3\n")
    outcome = fairprobe("domain", "--data", "n.csv", "--sensitive", "sex", "--link", "part~sex: 0=1, 1=2").says()
    (folder / "n.toml").write_text(outcome.out)
    assert Domain.from_toml("n.toml").links == (Link("part", "sex", [{0: 1, 1: 2}]),)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--constraint", "aeg > 3"], ["constraint 'aeg > 3'", "did you mean 'age'?"]),
        (["--constraint", "age == 21"], ["constraint 'age == 21' must hold for a row at least, got none of 6"]),
        (["--constraint", "__import__('os').system('true')"], ["__import__"]),
        (["--hidden", "role"], ["--hidden must name sensitive parameters, sex; got 'role'"]),
    ],
)
def test_rules_that_are_refused(run, arguments, parts):
    run("domain", *SEX, *arguments).refuses(*parts)


def test_a_rule_that_some_rows_break_is_noted(run):
    run("domain", *SEX, "--out", "d.toml")
    for where in (SEX, ("--data", "people.csv", "--domain", "d.toml")):
        outcome = run("search", *where, "--constraint", "age < 58", "--max-judged", 50)
        assert "note: rule-broken: constraint 'age < 58' is broken by 1 of 6 rows" in outcome.err


def test_a_file_remembers_what_was_said(run, folder):
    said = ["--missing", "?", "--constraint", "age >= 20", "--link", LINK, "--hidden", "sex"]
    outcome = run("domain", *SEX, *said, "--out", "d.toml").says()
    for part in ("constraint: age >= 20", "link: role with sex (M Husband, F Wife)", "hidden: sex", "allowed ("):
        assert part in outcome.out
    domain = Domain.from_toml("d.toml")
    assert [rule.text for rule in domain.constraints] == ["age >= 20"]
    assert domain.links == (Link("role", "sex", [{"M": "Husband", "F": "Wife"}]),)
    assert domain.hidden == ("sex",)
    outcome = run(
        "estimate", "--data", "people.csv", "--domain", "d.toml", "--population", "rows", model="blind"
    ).says()
    assert "note: from-domain-file: d.toml says --label loan --ignore id --ignore w --missing '?'\n" in outcome.err
    assert re.search(r"^  rows, linked +100% ", outcome.out, re.MULTILINE)


def test_options_come_before_the_file(run, folder):
    run("domain", *SEX, "--out", "d.toml")
    outcome = run("search", "--data", "people.csv", "--domain", "d.toml", "--ignore", "id", "--max-judged", 50)
    without_notes(outcome).refuses("every column of the data must be a parameter", "got w")
    where = Source(data="people.csv", domain="d.toml", ignore=["id"])
    with pytest.warns(match="d.toml says --label loan$"):
        source = where.with_remembered()
    assert (source.label, source.ignore, source.remembered) == ("loan", ["id"], ("label",))


def test_rows_may_come_without_what_a_file_remembers(run):
    run("domain", *SEX, "--out", "d.toml")
    pd.read_csv("people.csv").drop(columns=["loan", "w"]).to_csv("new.csv", index=False)
    where = ("--data", "new.csv", "--domain", "d.toml")
    assert run("estimate", *where, "--population", "rows").code == 0
    without_notes(run("retrain", *where)).refuses("--label must be one of the columns", "'loan'")


def test_a_marker_is_not_remembered_for_parquet(run, folder):
    run("domain", *SEX, "--missing", "?", "--out", "d.toml")
    pd.read_csv("people.csv").to_parquet("people.parquet")
    outcome = run("estimate", "--data", "people.parquet", "--domain", "d.toml", "--population", "rows").says()
    assert "--missing" not in outcome.err
    assert "row 4: sex F -> M" not in outcome.out  # by_role alone


@pytest.mark.parametrize("line", ["ignore = [3]", "ignore = 'w'", "label = ['loan']", "lable = 'loan'"])
def test_a_damaged_memory_is_refused(run, folder, line):
    run("domain", *SEX, "--out", "d.toml")
    text = (folder / "d.toml").read_text()
    begin, rest = text.index("\n[data]\n"), text.index("\n[[parameter]]")
    (folder / "d.toml").write_text(f"{text[:begin]}\n[data]\n{line}\n{text[rest:]}")
    run("search", "--data", "people.csv", "--domain", "d.toml").refuses("d.toml", "data")


def test_a_link_of_what_is_no_longer_sensitive_is_set_aside(run):
    run("domain", *SEX, "--link", LINK, "--out", "d.toml")
    outcome = run("search", "--domain", "d.toml", "--sensitive", "race", "--max-judged", 50).says()
    assert "note: link-aside: the link of 'role' to 'sex'" in outcome.err


def test_a_domain_in_python_keeps_its_own(run, folder):
    (folder / "plan.py").write_text(
        "import fairprobe as fp\n"
        "domain = fp.Domain([fp.Integer('age', 20, 80), fp.Category('sex', ['F', 'M']),\n"
        "    fp.Category('role', ['Husband', 'Single', 'Wife']), fp.Category('race', ['A', 'B'])], ['sex'],\n"
        "    constraints=[lambda frame: frame['age'] < 50],\n"
        "    links=[fp.Link('role', 'sex', [{'M': 'Husband', 'F': 'Wife'}])])\n"
    )
    for more in ([], ["--sensitive", "sex"]):
        outcome = run("search", "--domain", "plan:domain", "--constraint", "age != 30", *more, "--json")
        content = json.loads(outcome.out)
        assert content["linked"] == ["role"]
        # Ages 20 to 49 but for 30, of two races, as a husband and a wife.
        assert content["stop_reason"] == "exhausted"
        assert content["n_cases"] == 29 * 2


def test_a_search_starts_from_rows_and_says_so(run):
    content = json.loads(run("search", *SEX, "--link", LINK, "--max-judged", 5, "--json").out)
    assert (content["from"], content["n_start_rows"], content["n_judged"]) == ("rows", 5, 5)
    assert [case["row"] for case in content["cases"]] == [0, 1]
    outcome = run("search", *SEX, "--link", LINK, "--max-judged", 5)
    assert "started from  5 rows, then " in outcome.out
    assert "note: start-rows-outside: 1 of 6 rows" in outcome.err  # a woman who is a husband
    assert "- row 0 (line 2): sex M -> F, role Husband -> Wife changes yes to no" in outcome.out
    assert "- row 1 (line 3): sex F -> M, role Wife -> Husband changes no to yes" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--from", "row"], ["--from must be one of rows, density, domain", "did you mean 'rows'?"]),
        (["--from", "rows", "--strategy", "uniform"], ["needs a strategy that walks from the rows", "uniform"]),
        (["--max-changes", "1", "--strategy", "random"], ["--max-changes goes with rows", "random"]),
        (["--linked"], ["--linked needs a domain with links, got none: say them by --link"]),
    ],
)
def test_a_start_that_is_refused(run, arguments, parts):
    without_notes(run("search", *SEX, *arguments)).refuses(*parts)


ESTIMATE = ("estimate", *SEX, "--link", LINK, "--population", "rows")


def test_linked_and_plain_side_by_side(run):
    outcome = run(*ESTIMATE, model="by_both").says()
    table = dict(re.findall(r"^  (rows, \w+) +\S+ .* (\d+ of \d+)  all rows$", outcome.out, re.MULTILINE))
    assert table == {"rows, linked": "4 of 5", "rows, plain": "2 of 6"}
    assert "97.5%  4 of 5" in outcome.out
    shares = json.loads(run(*ESTIMATE, "--json", model="by_both").out)["shares"]["rows"]
    assert (shares["hits"], shares["plain"]["hits"], shares["linked"]) == (4, 2, ["role"])


def test_which_rows_flip(run, folder):
    outcome = run(*ESTIMATE, "--out", "flipped.csv", model="by_both").says(
        "row 0 (line 2): sex M -> F, role Husband -> Wife (sex=F: no, sex=M: yes)"
    )
    # A blank line is no row, but counts in the file.
    assert "row 3 (line 6): sex F -> M (sex=F: no, sex=M: yes)" in outcome.out
    flipped = pd.read_csv("flipped.csv")
    assert list(flipped.columns) == [
        *("row", "line", "compared", "age", "sex", "role", "race", "twin_sex", "twin_role"),
        *("output_sex=F", "output_sex=M"),
    ]
    rows = {side: part["row"].tolist() for side, part in flipped.groupby("compared")}
    assert rows == {"linked": [0, 1, 3, 4], "plain": [3, 4]}
    assert flipped["line"].tolist() == [2, 3, 6, 7, 6, 7]
    lines = (folder / "people.csv").read_text().splitlines()
    assert all(lines[line - 1].startswith(f"{age},") for line, age in zip(flipped["line"], flipped["age"], strict=True))


def test_no_row_flips(run):
    outcome = run("estimate", *SEX, "--population", "rows", "--out", "flipped.csv").says()
    assert pd.read_csv("flipped.csv").empty
    assert "row 0" not in outcome.out
    assert json.loads(run("estimate", *SEX, "--json").out)["rows"] == []


@pytest.mark.parametrize(
    ("gate", "code", "about"),
    [
        (["--gate", "rows plain"], 0, "the rows, plain: passed"),
        (["--gate", "linked"], 1, "the rows, linked: violated"),
        ([], 1, "the rows, linked and plain: violated"),
    ],
)
def test_a_gate_names_a_share(run, folder, gate, code, about):
    rng = np.random.default_rng(0)
    sex = rng.choice(["M", "F"], 400)
    role = np.where(rng.random(400) < 0.5, "Single", np.where(sex == "M", "Husband", "Wife"))
    pd.DataFrame({"age": rng.integers(20, 50, 400), "sex": sex, "role": role}).to_csv("many.csv", index=False)
    where = ("--data", "many.csv", "--sensitive", "sex", "--link", LINK, "--population", "rows", "--max-share", 0.2)
    outcome = run("estimate", *where, *gate, model="by_both")
    assert f"Verdict on {about}" in outcome.out
    assert outcome.code == code


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (
            ["--gate", "rows domain", "--max-share", "0.1"],
            ["--gate must be one of rows, domain, valid, density, linked, plain"],
        ),
        (["--gate", "plain", "--max-share", "0.1"], ["--gate plain needs that share, got only the linked share"]),
        (["--sample-weight", "wt"], ["--sample-weight must be one of the columns", "did you mean 'w'?"]),
        (["--sample-weight", "w", "--population", "domain"], ["--sample-weight is about rows"]),
        (["--out", "x.csv", "--population", "domain"], ["--out is about rows"]),
        (["--sample-weight", "id"], ["--sample-weight must be numbers"]),
    ],
)
def test_what_estimate_refuses(run, arguments, parts):
    asked = () if "--population" in arguments else ("--population", "rows")
    command = ("estimate", *SEX, "--link", LINK, "--linked", *asked)
    run(*command, *arguments).refuses(*parts)


def test_what_links_and_rows_are_needed_for(search, estimate):
    search("--max-changes", 2).refuses("--max-changes goes with rows to start from")
    estimate("--gate", "linked", "--max-share", 0.1).refuses("--gate linked needs that share, got only the plain share")
    estimate("--sample-weight", "w").refuses("--sample-weight is about the columns of --data, got no --data")


def test_weights_and_groups(run):
    where = ("--data", "people.csv", "--label", "loan", "--sensitive", "sex", "--population", "rows")
    command = ("estimate", *where, "--sample-weight", "w", "--groups", "id")
    share = json.loads(run(*command, "--json", model="by_both").out)["shares"]["rows"]
    # Rows 3 and 4 flip, which weigh 4 and 2 of 10.
    assert share["value"] == pytest.approx(0.6)
    assert share["design"] == "weighted in 5 groups"
    outcome = run(*command, model="by_both")
    assert "60% of the rows, weighted in 5 groups, (2 of 6)" in outcome.out
    assert run("estimate", *where, "--sample-weight", "w", "--ignore", "id").code == 0


def test_a_dry_run_asks_about_both_sides(run):
    command = (*ESTIMATE, "--dry-run", "--json")
    both, one = (json.loads(run(*command, *more).out)["n_queries"]["rows"] for more in ([], ["--no-linked"]))
    assert both == 2 * one == 24
