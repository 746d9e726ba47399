"""The site as it is built: no link to nowhere, nothing loaded from another host."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest

pytestmark = pytest.mark.slow  # scripts/docs runs them

LOADED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("object", "data"), ("link", "href")}
NOT_LOADED = {"canonical", "next", "prev", "license"}


class Page(HTMLParser):
    """The links, the anchors and what else is loaded of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.anchors.update(value for value in (given.get("id"), given.get("name")) if value)
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        self.loaded += [
            value
            for name, value in attrs
            if (tag, name) in LOADED and value and not set((given.get("rel") or "").split()) & NOT_LOADED
        ]
        for rule in re.findall(r"url\(([^)]+)\)", given.get("style") or ""):
            self.loaded.append(rule.strip("'\""))


def is_elsewhere(link: str) -> bool:
    return bool(urlsplit(link).netloc) or urlsplit(link).scheme in ("http", "https")


@pytest.fixture(scope="module")
def html(site):
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


def test_links_and_anchors_resolve(site, html):
    broken = []
    for path, page in html.items():
        for link in page.links:
            if is_elsewhere(link) or link.startswith(("mailto:", "data:", "javascript:")) or path.name == "404.html":
                continue
            address, anchor = urldefrag(link)
            target = path if not address else (path.parent / unquote(address)).resolve()
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file() or (anchor and target in html and unquote(anchor) not in html[target].anchors):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert not broken
    assert sum(len(page.links) for page in html.values()) > 100


def test_nothing_is_loaded_from_another_host(site, html):
    loaded = [(path, each) for path, page in html.items() for each in page.loaded]
    for path in site.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        loaded += [(path, each.strip("'\"")) for each in re.findall(r"(?:url\(|@import\s)\s*([^)\s;]+)", text)]
    for path in site.rglob("*.svg"):
        text = path.read_text(encoding="utf-8")
        loaded += [(path, each) for each in re.findall(r"<(?:image|use|script)[^>]* (?:xlink:)?href=\"([^\"]+)", text)]
    assert len(loaded) > 50
    assert not [f"{path.relative_to(site)}: {each}" for path, each in loaded if is_elsewhere(each)]
