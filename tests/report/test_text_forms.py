"""Markdown, JUnit XML and the model card: they say the same, and every value in them is text."""

import re
from xml.etree import ElementTree as ET

import pytest
from contents import HOSTILE, bare, content, hostile, one_side, sealed
from markdown_it import MarkdownIt

from fairprobe.report.html import html
from fairprobe.report.junit import junit
from fairprobe.report.markdown import markdown, model_card, text
from fairprobe.wording import value

FORMS = [markdown, model_card]


def rendered(made: str) -> str:
    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(made)


def tags(page: str) -> set[str]:
    return set(re.findall(r"<(\w+)", page))


@pytest.mark.parametrize("form", FORMS)
def test_hostile_values_make_no_markup(form):
    page = rendered(form(hostile()))
    assert tags(page) == tags(rendered(form(content())))
    n_cells = {row.count("<td") for row in re.findall(r"<tr>.*?</tr>", page, flags=re.S)}
    assert n_cells == {row.count("<td") for row in re.findall(r"<tr>.*?</tr>", rendered(form(content())), flags=re.S)}


@pytest.mark.parametrize("words", HOSTILE)
@pytest.mark.parametrize("mark", [str, value])
def test_a_hostile_text_shows_as_it_is(words, mark):
    page = rendered(text(mark(words)))
    assert tags(page) == {"p"}
    calm = words if "\n" not in words and "\x00" not in words and "\u202e" not in words else None
    shown = page[3:-5].replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"').replace("&amp;", "&")
    assert calm is None or shown.strip("\u2068\u2069") == calm


@pytest.mark.parametrize("words", ["- a", "+ a", "1. a", "12) a", "= a", "---", "===", "# a", "> a", "    a", ":--- a"])
def test_a_sentence_begins_nothing(words):
    assert tags(rendered(text(words))) == {"p"}


@pytest.mark.parametrize("form", FORMS)
def test_what_must_be_known_is_there(form):
    made = form(content())
    assert "**Violated.** 8.99% of the rows" in made
    assert "census-forest" in made
    assert content()["digest"] in made
    assert "**Interrupted.**" in form(bare())
    assert "Cases, before" not in form(bare())


def test_a_simulated_share_has_the_number_of_its_inputs():
    """They may be fewer than those of the share above, which then is another figure."""
    assert "| Real rows, linked | 20,000 | 8.8% | 3.1% |" in markdown(content())


def cases_in(made) -> dict[str, ET.Element]:
    return {
        f"{each.get('classname')}: {each.get('name')}": each for each in ET.fromstring(junit(made)).iter("testcase")
    }


def test_junit_has_a_test_for_the_verdict_with_the_first_cases_and_for_each_bound_share():
    assert list(cases_in(content())) == [
        "fairprobe.verdict: verdict",
        "fairprobe.share: Real rows, linked twins: sex and race",
        "fairprobe.share: Real rows, plain twins: sex and race",
    ]
    said = cases_in(content())["fairprobe.verdict: verdict"].find("failure").text.splitlines()
    assert said[0] == "The 97.5% interval is 8.68% to 9.31%."
    assert len(said) == 12
    assert said[3].startswith("case 2: sex Male -> Female, relationship Husband -> Wife (>50K -> <=50K), age ")


@pytest.mark.parametrize(
    ("outcome", "failures", "errors"), [("violated", 3, 0), ("inconclusive", 0, 3), ("passed", 0, 0)]
)
def test_violated_is_a_failure_and_inconclusive_an_error(outcome, failures, errors):
    suite = ET.fromstring(junit(content(outcome=outcome)))
    assert (suite.get("failures"), suite.get("errors")) == (str(failures), str(errors))
    assert [len(list(suite.iter(each))) for each in ("failure", "error")] == [failures, errors]


UNTRAINED = "if the model was not trained on these rows"


@pytest.mark.parametrize("form", [*FORMS, junit])
def test_a_pass_is_never_unqualified_where_the_role_of_the_rows_is_unknown(form):
    made = content(outcome="passed")
    made["question"]["max_share"] = 0.2
    why = "no more than the 20% allowed"
    made["verdict"] |= {"condition": UNTRAINED, "sentence": f"passed, {UNTRAINED}: {why}", "why": why}
    text = form(sealed(made)) if form is junit else re.sub(r"\s+", " ", form(made))
    assert UNTRAINED in text
    if form is junit:
        shares = [each for name, each in cases_in(made).items() if name.startswith("fairprobe.share")]
        assert all(f"passed, {UNTRAINED}" in each.find("system-out").text for each in shares)
    else:
        assert f"**Passed, {UNTRAINED}.** No more than the 20% allowed" in text


def test_each_bound_share_has_its_own_outcome():
    made = content(outcome="inconclusive")
    made["verdict"]["outcomes"]["rows/plain/sex x race"] = "passed"
    suite = ET.fromstring(junit(sealed(made)))
    assert suite.get("errors") == "2"


def test_a_limit_for_one_side_is_a_test():
    found = cases_in(one_side())
    assert found["fairprobe.direction: sex=Female worse off, linked"].find("failure") is not None
    assert not any(name.startswith("fairprobe.share") for name in found)


def test_hostile_values_leave_xml_well_formed():
    root = ET.fromstring(junit(hostile()))
    assert {each.tag for each in root.iter()} == {each.tag for each in ET.fromstring(junit(content())).iter()}
    words = "".join(root.itertext()) + "".join(value for each in root.iter() for value in each.attrib.values())
    for each in HOSTILE[:4]:
        assert each in words
    assert r"nul\u0000bell\u0007half\ud800" in words


@pytest.mark.parametrize("form", [*FORMS, junit, html])
def test_the_same_content_gives_the_same_bytes(form):
    assert form(hostile()) == form(hostile())
    form(hostile()).encode()  # halves of characters are gone
