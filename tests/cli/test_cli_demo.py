"""`fairprobe demo`, the page and its sentences."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stderr, redirect_stdout
from types import SimpleNamespace

import pytest

from fairprobe.cli import demo as demonstration
from fairprobe.cli import main
from fairprobe.cli.demo import PAPER, cells, pick, sentences
from fairprobe.searching import search


@pytest.fixture(scope="module")
def page():
    """What it prints, of smaller searches."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(demonstration, "N_INPUTS", 100_000)
        code = main(["demo"])
    return SimpleNamespace(code=code, out=out.getvalue(), err=err.getvalue())


def test_page(page):
    assert page.code == 0
    assert page.err == ""
    for strategy in (*PAPER, "anchored"):
        assert re.search(rf"^ *{strategy} +[\d,]+ +100,000 +[\d,]+ +[\d.]+% +[\d,]+ +[\d.]+ *$", page.out, re.MULTILINE)
    assert page.out.count("The same person as a ") == 3
    assert "not people of the census" in " ".join(page.out.split())
    assert "fairprobe search --model" in page.out


def test_page_fits_a_terminal_and_has_no_colours(page):
    assert max(len(line.rstrip()) for line in page.out.splitlines()) <= 80
    assert "\x1b" not in page.out


def test_words_not_codes(page):
    people = re.findall(r"A (?:wo)?man, .*?\. The same person", " ".join(page.out.split()))
    assert len(people) == 3
    for person in people:
        assert re.search(r"predicted to earn (<=|>)50K", person)
        assert re.search(r"works \d+ hours a week in [A-Z][a-z]+(-[a-z]+)* \([A-Z]", person)


def test_cases_picked_differ_in_occupation_and_flip(census_tree):
    tree, domain = census_tree
    found = search(tree, domain, max_cases=500)
    rows = pick(found, 3)
    assert len(set(found.cases["occupation"].iloc[rows])) == 3
    for row in rows:
        before, after = sentences(found, row)
        assert (">50K" in before) != (">50K" in after)
        assert before.startswith("A man") == ("a woman" in after)


def test_row_before_and_during_its_search():
    assert cells("uniform") == ["uniform"]
    assert cells("uniform", 5, 100, 0.5) == ["uniform", "5", "100", "", ">=5.0%", "10", "0.5"]
    assert cells("uniform", 5, 100, 0.5, 50)[4] == "10.0%"


def test_interrupted(fairprobe, monkeypatch):
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(demonstration, "search", stop)
    outcome = fairprobe("demo")
    assert outcome.code == 130
    assert outcome.err == "interrupted\n"
