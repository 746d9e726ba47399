"""The drawings are those that their code draws, to the byte, and are good in the light and in the dark."""

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from xml.etree import ElementTree

import pytest
from pages import DOCS


@pytest.fixture(scope="module")
def known():
    """docs/pictures/draw.py, which is in no package; its dataclass looks the module up."""
    with pytest.MonkeyPatch.context() as patch:
        spec = spec_from_file_location("draw", DOCS / "pictures" / "draw.py")
        module = module_from_spec(spec)
        patch.setitem(sys.modules, "draw", module)
        spec.loader.exec_module(module)
        yield module


def test_the_drawings_are_those_of_the_code(known):
    drawn = dict(known.drawn())
    assert {path.name for path in (DOCS / "pictures").glob("*.svg")} == set(drawn)
    for name, svg in drawn.items():
        assert (DOCS / "pictures" / name).read_text(encoding="utf-8") == svg, f"{name}: scripts/docs pictures draws it"
        ElementTree.fromstring(svg)


def luminance(colour):
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize(("scheme", "ground"), [("light", "#ffffff"), ("dark", "#1e2129")])
def test_words_can_be_read_on_the_page_and_on_cards(known, scheme, ground):
    colours = known.PALETTES[scheme]
    for paper in (ground, colours.card, colours.wash):
        for ink in {colours.ink, colours.soft, colours.accent}:
            light, dark = sorted((luminance(ink), luminance(paper)), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (scheme, ink, paper)


def test_the_shares_drawn_are_those_of_their_page(known):
    page = (DOCS / "ideas" / "populations.md").read_text(encoding="utf-8")
    measured = re.findall(r"^(\w+) +plain ([\d.]+)%, linked ([\d.]+)%$", page, re.MULTILINE)
    assert [name for name, *_ in measured] == [name for name, *_ in known.SHARES]
    for (_, *said), (_, *drawn) in zip(measured, known.SHARES, strict=True):
        assert [float(each) for each in said] == pytest.approx(drawn, rel=0.06)
