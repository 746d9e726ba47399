"""Blocks by each writer: what stands in a result is shown, and what stands in data cannot act."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from fairprobe import Category, Domain, Integer
from fairprobe.blocks import WRITERS, Block, Figure, Interval, Items, Remark, Result, Section, Sentence, Table, written
from fairprobe.wording import value

NASTY = "<b>x</b>\x1b[2J\u202ebad | `a` [l](http://x)"


class Some(Result):
    """A result with a block of every kind, all of them with a nasty text."""

    def blocks(self) -> list[Block]:
        table = Table.of([value(NASTY), "#share"], [[NASTY, Interval("5%", 0.01, 0.05, 0.1)]], NASTY)
        figure = Figure(NASTY, "<svg></svg>", NASTY)
        section = Section(NASTY, (Items((NASTY,)), table, Table.of_facts({"n": NASTY}), figure))
        return [Sentence("one sentence", "Some"), Sentence(NASTY), Remark("few-rows", NASTY), section]


@pytest.mark.parametrize("writer", WRITERS)
def test_values_stay_text(writer):
    text = written(Some().blocks(), writer)
    assert "one sentence" in text
    assert "5%" in text
    assert "\x1b" not in text
    assert writer == "text" or "<b>" not in text
    assert "\u202e" not in re.sub("<bdi>.*?</bdi>|\u2068.*?\u2069", "", text)


def test_a_result_has_a_text_a_repr_and_html():
    assert repr(Some()) == "Some(one sentence)"
    assert Some().text().startswith("Some: one sentence")
    assert Some()._repr_html_().startswith('<div class="fairprobe"><p dir="auto"><strong>Some.</strong> one sentence')


def test_a_frame_becomes_a_table():
    table = Table.of_frame(pd.DataFrame({"sex": ["Male", None], "share": [0.25, 0.5]}), index=True)
    assert table.numbers == {"index", "share"}
    assert "Male" in written([table], "text")


def test_a_domain_in_a_notebook_has_its_sensitive_parameters_first_and_its_rules():
    parameters = [Integer("age", 1, 9), Category("sex", ["F", "M"])]
    page = Domain(parameters, sensitive=["sex"], constraints=["age > 2 or sex == 'F'"])._repr_html_()
    assert page.startswith(
        '<div class="fairprobe"><p dir="auto">Domain(2 parameters, 18 inputs, sensitive: sex, 1 constr'
    )
    assert page.index("<bdi>sex</bdi>") < page.index("<bdi>age</bdi>")
    assert "<bdi>age &gt; 2 or sex == &#x27;F&#x27;</bdi>" in page
