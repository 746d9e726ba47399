"""What is said of data that a domain is inferred from, and the name offered where one is mistyped."""

from __future__ import annotations

import pytest


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
    outcome = on_table(table(job=lambda i: "?" if i % 5 == 0 else f"j{i * 7 % 11}"))
    assert outcome.code == 0
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


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["--strategy", "anchord"], "anchored"),
        (["--output", "Proba", "--threshold", "0.1"], "proba"),
    ],
)
def test_the_nearest_choice_is_offered(search, arguments, meant):
    search(*arguments).refuses(f"did you mean '{meant}'?")
