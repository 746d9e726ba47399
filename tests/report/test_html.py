"""The page: what stands in it, that it needs nothing else, and that no value is more than text."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from contents import HOSTILE, SVG, bare, content, hostile, one_side, sealed

from fairprobe.errors import SettingError
from fairprobe.report import FORMS, render
from fairprobe.report.content import scale_of
from fairprobe.report.html import html
from fairprobe.report.sections import CHAPTERS, chapters

VOID = {"meta", "br", "img", "input", "link", "line", "rect"}


class Page(HTMLParser):
    """What a browser would make of it: elements with their attributes, and the text outside scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.scripts: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] == ["script"]:
            self.scripts.append(data)
        elif self.open[-1:] != ["style"]:
            self.text += data

    def ids(self) -> list[str]:
        return [attributes["id"] or "" for _, attributes in self.elements if "id" in attributes]


def test_the_verdict_comes_first():
    text = Page(html(content())).text
    places = [text.index(words) for words in ("Violated", "8.99% of the rows", "Real rows that get another answer")]
    assert places == sorted(places)


def test_the_first_screen_says_where_and_why_directions_differ():
    made = content()
    first = Page(html(made)).text
    assert "The region with most affected people: age 34 to 71, education HS-grad or Some-college" in first
    assert "The directions differ" not in first
    made["shares"][3]["worse_off"] = "sex=Male"
    text = Page(html(made)).text
    assert "sex and race, with linked columns: worse off most often as sex=Female" in text.replace("Sex and", "sex and")
    assert "The directions differ because linked columns change along in one comparison" in text


def test_all_sections_are_there_and_labelled():
    page = Page(html(content()))
    for sections in CHAPTERS.values():
        assert set(sections) <= set(page.ids())
    for tag in ("AI Act", "NIST 2.11", "SR 11-7", "ECOA"):
        assert tag in page.text


def test_a_section_with_nothing_to_say_is_absent():
    made = bare()
    told = {section.name for chapter in chapters(made) for section in chapter.blocks}
    assert told == {"shares", "question", "record", "sign-off"}
    assert not {"rows", "cases", "regions", "proxies"} & set(Page(html(made)).ids())


def test_an_interrupted_run_says_so_on_top():
    made = bare()
    made |= {"shares": [], "search": None, "certificate": {}}
    made["verdict"]["bound"] = []
    made["about"]["interrupted"] = "search, which failed: <b>no</b>"
    page = Page(html(sealed(made)))
    assert page.text.index("Interrupted") < page.text.index("Inconclusive")
    assert "search, which failed: <b>no</b>." in page.text


def test_every_hostile_value_is_text_and_nothing_else():
    made = hostile()
    page = Page(html(made))
    assert not page.open
    tags = {tag for tag, _ in page.elements}
    calm = {tag for tag, _ in Page(html(content())).elements}
    assert tags == calm
    assert len(page.scripts) == 2
    assert not any(name.startswith("on") or name == "style" for _, attributes in page.elements for name in attributes)
    shown = page.text + json.dumps(json.loads(page.scripts[0]), ensure_ascii=False)
    for value in HOSTILE[:4]:
        assert value in page.text
    assert r"nul\u0000bell\u0007half\ud800" in page.text
    assert "\u200fright-to-left" in shown


def test_what_turns_text_around_stays_inside_its_value():
    page = html(hostile())
    outside = re.sub(r"<bdi>[^<]*</bdi>|<script.*?</script>", "", page, flags=re.S)
    assert "\u202e" not in outside
    assert "<bdi>race \u202eturned</bdi>" in page
    assert not re.search("[\u2066-\u2069]", page)


def test_the_page_asks_nobody_anything():
    page = html(content())
    for tag, attributes in Page(page).elements:
        assert tag not in ("link", "iframe", "object", "embed", "base", "form")
        assert (attributes.get("src") or "data:").startswith("data:")
        assert (attributes.get("href") or "#").startswith("#")
    assert "@import" not in page
    assert "url(" not in page


def test_the_policy_allows_this_style_and_this_script_alone():
    page = html(content())
    policy = dict(Page(page).elements[3][1])["content"] or ""
    for tag in ("style", "script"):
        text = re.findall(rf"<{tag}>(.*?)</{tag}>", page, flags=re.S)[-1]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; img-src data:;")
    assert "unsafe" not in policy


def test_drawings_are_images_with_words():
    pictures = [attributes for tag, attributes in Page(html(content())).elements if tag == "img"]
    assert len(pictures) == 1
    for each in pictures:
        assert base64.b64decode((each["src"] or "").partition(",")[2]).decode() == SVG
        assert each["alt"]


@pytest.mark.parametrize(("n", "most"), [(1_000, 1_000_000), (10_000, 5_000_000)])
def test_size(n, most):
    assert len(html(content(n, n_flips=2000)).encode()) < most


def test_rows_are_shown_only_if_the_content_has_them():
    def flips(made):
        return json.loads(Page(html(made)).scripts[0])["flips"]

    assert flips(content())["columns"] == []
    assert len(flips(content(shows_rows=True))["columns"]) == 13


def test_limits_for_one_side_and_none_at_all():
    page = Page(html(one_side()))
    assert "sex=Female worse off" in page.text
    assert "Limits for one side" in page.text
    made = content()
    made["question"]["max_share"] = None
    made["verdict"] |= {"outcome": "no-limit", "exit_code": 0}
    assert "No limit given" in Page(html(sealed(made))).text


@pytest.mark.parametrize(("high", "scale"), [(0.0931, 0.1), (0.0005, 0.0005), (0.51, 0.6), (1.0, 1.0), (0.0, 1e-6)])
def test_the_axis_ends_at_a_round_figure(high, scale):
    made = bare()
    made["shares"][0] |= {"low": 0.0, "high": high}
    assert scale_of(made) == pytest.approx(scale, abs=1e-6)


def test_an_unknown_form_is_refused():
    with pytest.raises(SettingError, match="form must be one of html, markdown, junit, model-card; got 'pdf'"):
        render(content(), "pdf")
    assert all(render(bare(), form) for form in FORMS)
