"""Every sentence of a report is short enough to be read once, in all kinds of audits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

import pandas as pd
import pytest
from contents import bare, content, one_side

from fairprobe import Domain, Link, audit
from fairprobe.report.html import html

MOST_WORDS = 35

SMALL = {"n_experiments": 2, "n_samples": 300, "search_cases": 100, "max_judged": 3000, "explain_queries": 5000}


class Prose(HTMLParser):
    """The texts of paragraphs and items of lists; what stands in code, tables and lists of facts is no sentence."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.depth = 0
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag in ("p", "li"):
            self.depth += 1
            self.texts.append("")

    def handle_endtag(self, tag):
        self.depth -= tag in ("p", "li")

    def handle_data(self, data):
        if self.depth:
            self.texts[-1] += data


def sentences(page: str) -> Iterator[str]:
    for text in Prose(page).texts:
        yield from re.split(r"(?<=[.!?])\s+", " ".join(text.split()))


def rows() -> pd.DataFrame:
    n = 300
    return pd.DataFrame(
        {
            "age": [20 + k % 40 for k in range(n)],
            "sex": [("Female", "Male")[k % 2] for k in range(n)],
            "race": [("White", "Black", "Asian")[k // 2 % 3] for k in range(n)],
            "title": [("Ms", "Mr", "Dr", "Dr")[k % 4] for k in range(n)],
        }
    )


def answers(frame):
    likely = frame["age"] / 100 + 0.1 * (frame["sex"] == "Male") + 0.05 * (frame["race"] == "White")
    return likely + 0.07 * (frame["title"] == "Mr")


def labels(frame):
    return (answers(frame) > 0.5).astype(int).to_numpy()


def linked() -> Domain:
    link = Link("title", "sex", [{"Male": "Mr", "Female": "Ms"}])
    return Domain.from_frame(rows(), sensitive=["sex", "race"]).with_links([link])


class Blind:
    """A model that does not take sex."""

    classes_ = (0, 1)
    feature_names_in_ = ("age", "race", "title")

    def predict(self, frame):
        return (frame["age"] / 100 + 0.2 * (frame["title"] == "Mr") > 0.5).astype(int).to_numpy()


AUDITS = {
    "sex": (labels, {"sensitive": ["sex"], "favourable": 1, "rows_are": "held-out"}),
    "two-with-a-link": (labels, {"domain": linked, "favourable": 1}),
    "training": (labels, {"domain": linked, "rows_are": "training"}),
    "scores": (lambda frame: answers(frame).to_numpy(), {"sensitive": ["sex"], "output": "score", "threshold": 0.08}),
    "none": (lambda frame: (frame["age"] > 40).astype(int).to_numpy(), {"sensitive": ["sex"], "rows_are": "held-out"}),
    "matched": (Blind(), {"sensitive": ["sex"], "favourable": 1, "keep": ["age"], "gate": "matched"}),
    "impact": (labels, {"sensitive": ["sex"], "favourable": 1, "gate": "impact", "max_share": None}),
    "no-limit": (labels, {"sensitive": ["race"], "max_share": None}),
    "by-side": (labels, {"sensitive": ["sex"], "favourable": 1, "max_share": {"sex=Female": 0.01}}),
}


@pytest.mark.filterwarnings("ignore::fairprobe.errors.HealthWarning")
@pytest.mark.parametrize("name", AUDITS)
def test_no_sentence_of_an_audit_is_long(name):
    model, asked = AUDITS[name]
    asked = {**asked, "domain": asked["domain"]()} if "domain" in asked else asked
    made = audit(model, rows(), labels(rows()), **{"max_share": 0.01, "selfcheck": False, "mask": [], **SMALL, **asked})
    check(html(made.content))


@pytest.mark.parametrize("made", [content, bare, one_side])
def test_no_sentence_of_a_made_up_content_is_long(made):
    check(html(made()))


def check(page: str) -> None:
    told = [*sentences(page)]
    assert len(told) > 10
    assert [each for each in told if len(each.split()) > MOST_WORDS] == []
