"""`fairprobe domain`: what it infers, what it says of the data, and what it mines."""

import numpy as np
import pandas as pd
import pytest

from fairprobe import Domain, Link
from fairprobe.cli.data import link_text, parse_link

COMMAND = ("domain", "--data", "rows.csv", "--label", "income", "--sensitive", "sex")
MINE = ("domain", "--label", "income", "--sensitive", "sex", "--mine")


def test_file_can_be_edited_and_searched(fairprobe, search, folder):
    fairprobe(*COMMAND, "--out", "mine.toml").says(
        "3 parameters, 740,000 inputs; sensitive: sex; twins of an input: 1."
    )
    text = (folder / "mine.toml").read_text()
    assert "low = 17" in text
    (folder / "mine.toml").write_text(text.replace("low = 17", "low = 45"))
    assert Domain.from_toml(folder / "mine.toml")["age"].levels == 46
    assert search("--max-cases", 3, domain="mine.toml").code == 0


def test_prints_by_default(fairprobe, folder):
    outcome = fairprobe(*COMMAND)
    (folder / "printed.toml").write_text(outcome.out)
    assert Domain.from_toml(folder / "printed.toml").names == ("age", "sex", "pay")
    assert outcome.err == ""


def test_values_to_compare_are_kept(fairprobe, folder):
    fairprobe("domain", "--data", "rows.csv", "--label", "income", "--sensitive", "age=20,40", "--out", "mine.toml")
    domain = Domain.from_toml(folder / "mine.toml")
    assert domain.sensitive == ("age",)
    assert domain["age"].levels == 2


def table(n=200, **columns):
    """Rows of an age and a sex, and columns made of the row's number."""
    rows = [[20 + 37 * i % 53, i % 2, *(make(i) for make in columns.values())] for i in range(n)]
    return "\n".join(",".join(map(str, row)) for row in [["age", "sex", *columns], *rows]) + "\n"


@pytest.fixture
def on_table(fairprobe, folder):
    def run(content, *arguments, sensitive="sex"):
        (folder / "given.csv").write_text(content)
        return fairprobe("domain", "--data", "given.csv", "--sensitive", sensitive, *arguments, "--out", "d.toml")

    return run


def test_a_note_is_written_where_there_is_something_to_say(on_table):
    outcome = on_table(table(job=lambda i: "?" if i % 5 == 0 else f"j{i * 7 % 11}")).says()
    assert outcome.err.startswith("note: missing-marker: ")
    assert outcome.err.count("note:") == 1
    assert on_table(table()).err == ""


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ({"sensitive": "Sex"}, ["got 'Sex': did you mean 'sex'?"]),
        ({"sensitive": "Sex=0,1"}, ["got 'Sex': did you mean 'sex'?"]),
        ({"arguments": ["--label", "Age"]}, ["--label must be one of the columns", "got 'Age': did you mean 'age'?"]),
        (
            {"arguments": ["--ignore", "aged"]},
            ["--ignore must be one of the columns", "got 'aged': did you mean 'age'?"],
        ),
    ],
)
def test_the_nearest_column_is_offered(on_table, arguments, parts):
    on_table(table(), *arguments.pop("arguments", []), **arguments).refuses(*parts)


@pytest.fixture
def people(folder):
    """Rows with rules, a parameter that follows from another and a role."""
    rng = np.random.default_rng(0)
    n = 2000
    sex = rng.choice(["f", "m"], n)
    married = rng.random(n) < 0.4
    school = rng.choice(["none", "high", "it's"], n)
    gain = np.where(rng.random(n) < 0.3, rng.integers(1, 900, n), 0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "sex": sex,
            "school": school,
            "years": pd.Series(school).map({"none": 0, "high": 12, "it's": 15}),
            "home": np.where(married, np.where(sex == "m", "husband", "wife"), rng.choice(["own", "other"], n)),
            "state": np.where(married, "married", rng.choice(["single", "widowed"], n)),
            "gain": gain,
            "loss": np.where(gain > 0, 0, np.where(rng.random(n) < 0.3, rng.integers(1, 900, n), 0)),
            "income": rng.integers(0, 2, n),
        }
    )
    frame.to_csv(folder / "people.csv", index=False)
    return frame


def test_what_was_found_is_written_with_comments(fairprobe, folder, people):
    outcome = fairprobe(*MINE, "--data", "people.csv", "--out", "mine.toml").says()
    text = (folder / "mine.toml").read_text()
    domain = Domain.from_toml(folder / "mine.toml")
    rules = [rule.text for rule in domain.constraints]
    assert "gain == 0 or loss == 0" in rules
    assert not [rule for rule in rules if "sex" in rule]
    assert domain["years"].kind == "derived"
    assert domain.links == ()
    assert "\n# mined: years follows from school: 2,000 rows, about " in text
    assert "\n# set aside: home != 'husband' or sex == 'm': " in text
    n = int((people["home"] == "husband").sum())
    assert f"names the sensitive parameter sex, and would make {n} of 2,000 rows not comparable; see the link" in text
    assert "mined: gain == 0 or loss == 0: " in outcome.out
    assert "link proposed: home~sex: m=husband, f=wife (" in outcome.out
    assert "mined: years follows from school: 2,000 rows, about " in outcome.out
    (folder / "judge.py").write_text("def predict(frame):\n    return (frame['sex'] == 'm') & (frame['age'] > 50)\n")
    where = ("--domain", "mine.toml", "--data", "people.csv")
    assert fairprobe("search", "--model", "judge:predict", *where, "--max-cases", 5).code == 0


def test_constraints_and_links_given_are_kept(fairprobe, folder, people):
    given = ("--constraint", "age >= 18", "--link", "home~sex: m=husband, f=wife")
    outcome = fairprobe(*MINE, *given, "--data", "people.csv", "--out", "mine.toml")
    domain = Domain.from_toml(folder / "mine.toml")
    assert domain.constraints[0].text == "age >= 18"
    assert [link.column for link in domain.links] == ["home"]
    assert "constraint: age >= 18\n" in outcome.out
    assert "proposed" not in outcome.out
    assert "link proposed" not in (folder / "mine.toml").read_text()


def test_few_rows_tell_nothing_and_it_is_said(fairprobe, folder, people):
    people.head(40).to_csv(folder / "few.csv", index=False)
    outcome = fairprobe(*MINE, "--data", "few.csv", "--out", "mine.toml").says()
    assert "note: nothing-mined: nothing was found in 40 rows. A rule about two values" in outcome.err
    assert Domain.from_toml(folder / "mine.toml").constraints == ()


def test_values_that_end_lines_stay_in_theirs(fairprobe, folder):
    rng = np.random.default_rng(0)
    sex = rng.choice(["f\nx", "m"], 1000)
    kind = rng.choice(["new\nline", 'quo"te', "back\\slash"], 1000)
    follows = pd.Series(kind).map({"new\nline": "a\tb", 'quo"te': "c'd", "back\\slash": "e\r\nf"})
    title = np.where(sex == "m", "Mr\n[x]", "Ms, or so")
    pd.DataFrame({"sex": sex, "kind": kind, "it\n[is]": follows, "title": title, "income": 1}).to_parquet(
        folder / "odd.parquet"
    )
    fairprobe(*MINE, "--data", "odd.parquet", "--out", "mine.toml").says()
    domain = Domain.from_toml(folder / "mine.toml")
    assert domain["it\n[is]"].kind == "derived"


def test_a_link_is_said_as_it_is_read():
    link = Link("a~b", "s", [{"m, n": "x=y", "f": "it's"}, {"m, n": ' "z" ', "f": "'"}])
    assert parse_link(link_text(link), lambda name, text: text) == link
