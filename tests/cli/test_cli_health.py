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


@pytest.mark.parametrize(
    ("columns", "parts"),
    [
        (
            {"job": lambda i: "?" if i % 5 == 0 else f"j{i * 7 % 11}"},
            ["missing-marker", "'job'", "'?' in 40 of 200", "--missing '?'"],
        ),
        ({"no": lambda i: i}, ["id-column", "'no'"]),
        ({"born": lambda i: f"19{10 + i % 90}-01-{1 + i % 28:02}"}, ["dates-as-text", "'born'"]),
        ({"target": lambda i: i // 3 % 2}, ["label-among-inputs", "'target'", "--label"]),
        ({"title": lambda i: "Mr" if i % 2 else "Ms"}, ["determined-column", "'sex' goes one to one with 'title'"]),
        ({"country": lambda _: "US"}, ["single-valued", "'country'"]),
    ],
)
def test_a_note_is_written(on_table, columns, parts):
    outcome = on_table(table(**columns))
    assert outcome.code == 0
    assert outcome.err.startswith(f"note: {parts[0]}: ")
    assert all(part in outcome.err for part in parts)
    assert outcome.err.count("note:") == 1


def test_plain_data_get_no_note(on_table):
    assert on_table(table()).err == ""


def test_a_marker_that_is_named_is_not_noted(on_table):
    content = table(job=lambda i: "?" if i % 5 == 0 else f"j{i * 7 % 11}")
    assert on_table(content, "--missing", "?").err == ""


def test_an_input_that_is_the_label_in_other_words(on_table):
    content = table(hired=lambda i: i // 3 % 2, decision_code=lambda i: "YN"[i // 3 % 2])
    outcome = on_table(content, "--label", "hired")
    assert (
        "note: label-among-inputs: column 'decision_code' determines the label 'hired' in all 200 rows" in outcome.err
    )


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


def test_the_nearest_population_is_offered(estimate):
    estimate("--population", "domains").refuses("got domains: did you mean 'domain'?")


def test_a_threshold_that_no_probability_can_pass(search):
    search("--output", "proba", "--threshold", "10", model="toys:proba").refuses(
        "--threshold must be below 1 for probabilities, whose gap is 1 at most, got 10"
    )
