"""The reference holds every public name, and each says what its arguments are."""

import inspect
import re
import types

import pytest
from pages import DOCS

import fairprobe

PAGES = "\n".join(path.read_text(encoding="utf-8") for path in sorted((DOCS / "reference").glob("*.md")))
NOT_THERE = {"Parameter", "__version__", "datasets", "errors", "subjects", "testing"}
"""What the kinds share, and modules, of which the pages show the content."""

FUNCTIONS = [name for name in fairprobe.__all__ if isinstance(getattr(fairprobe, name), types.FunctionType)]


def test_every_public_name_is_in_the_reference():
    shown = {path.rpartition(".")[2] for path in re.findall(r"^::: ([\w.]+)$", PAGES, re.MULTILINE)}
    assert set(fairprobe.__all__) - NOT_THERE - shown == set()


@pytest.mark.parametrize("name", [*FUNCTIONS, "Domain.from_frame", "Density.fit", "Integer", "Category", "Link"])
def test_every_argument_is_explained(name):
    function = fairprobe
    for step in name.split("."):
        function = getattr(function, step)
    text = inspect.getdoc(function)
    if "The other arguments are those of `" in " ".join(text.split()):
        return
    known = re.findall(r"^ +(\w+): ", text, re.MULTILINE) + re.findall(r"`(\w+)`", text)
    assert [each for each in inspect.signature(function).parameters if each not in (*known, "cls")] == []


def test_every_health_check_is_on_its_page():
    """By the names that stand in the source as the first of two, the second being what is said."""
    source = "\n".join(path.read_text(encoding="utf-8") for path in sorted(DOCS.parent.glob("src/fairprobe/**/*.py")))
    said = r"(?:yield |Remark\(\s*|remark\(\s*|append\(\s*\(\s*|remarks = \[\(|remark = \()\"([a-z]+(?:-[a-z]+)+)\",\s"
    names = set(re.findall(said, source))
    assert len(names) > 20
    assert {name for name in names if f"`{name}`" not in PAGES} == set()
