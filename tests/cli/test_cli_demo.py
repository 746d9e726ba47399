"""`fairprobe demo`, the page and its sentences."""

import re

from fairprobe.cli import demo
from fairprobe.cli.demo import PAPER, pick, sentence
from fairprobe.searching import search


def test_page(fairprobe, terminal, monkeypatch):
    monkeypatch.setattr(demo, "N_INPUTS", 40_000)
    page = fairprobe("demo")
    assert page.code == 0
    assert "fully-directed" in page.err
    for strategy in (*PAPER, "anchored"):
        assert re.search(rf"^ *{strategy} +[\d,]+ +40,000 +[\d,]+ +[\d.]+% +[\d,]+ +[\d.]+ *$", page.out, re.MULTILINE)
    people = re.findall(r"- (?:Fem|M)ale, .*: predicted to earn (?:<=|>)50K. The same person as (?:Fem|M)ale", page.out)
    assert len(people) == 3
    assert "made up, not people" in page.out
    assert "fairprobe search --model" in page.out
    assert "\x1b" not in page.out


def test_cases_picked_differ_in_occupation_and_flip(census_tree):
    tree, domain = census_tree
    found = search(tree, domain, max_cases=500)
    rows = pick(found, 3)
    assert len(set(found.cases["occupation"].iloc[rows])) == 3
    for row in rows:
        before, after = sentence(found, row).split(" The same person ")
        assert (">50K" in before) != (">50K" in after)
        assert before.startswith("Male") == ("as Female" in after)


def test_interrupted(fairprobe, monkeypatch):
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "search", stop)
    outcome = fairprobe("demo")
    assert (outcome.code, outcome.err) == (130, "interrupted\n")
