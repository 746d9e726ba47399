"""Every block of every page runs, and prints what the page shows."""

import os
import re
import sys
import tomllib
from importlib.util import find_spec

import pytest
from pages import CHECKOUT, INSTALL, ONLY_SHOWN, OUTPUT, ROOT, RUN, blocks, is_as_shown, pages, run

QUICK = {"docs/index.md"}
"""Pages that the default suite runs; `scripts/docs` runs all of them."""


def name(path):
    return path.relative_to(ROOT).as_posix()


def marked(path):
    return pytest.param(path, id=name(path), marks=[] if name(path) in QUICK else [pytest.mark.slow])


@pytest.mark.parametrize("path", [marked(path) for path in pages() if blocks(path.read_text(encoding="utf-8"))])
def test_the_blocks_of_a_page_run(path, tmp_path, monkeypatch):
    skip_without_packages(path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    try:
        for ran in run(path, tmp_path):
            if ran.shown is not None and ran.shown.title == OUTPUT:
                where = f"{name(path)}, line {ran.shown.line}"
                assert is_as_shown(ran.printed, ran.shown.text), (
                    f"{where}: printed\n{ran.printed}\nnot\n{ran.shown.text}"
                )
    finally:
        for each in set(sys.modules) - before:  # models.py of one page is not that of the next
            if str(getattr(sys.modules[each], "__file__", None) or "").startswith(str(tmp_path)):
                del sys.modules[each]


def skip_without_packages(path):
    """Packages that a page imports and that are not ours: some come with an extra only."""
    found = [block for block in blocks(path.read_text(encoding="utf-8")) if block.language == "python"]
    own = {"census", *(block.title.removesuffix(".py") for block in found if block.is_file)}
    for package in re.findall(r"^(?:from|import) (\w+)", "\n".join(block.text for block in found), re.MULTILINE):
        if package not in own and find_spec(package) is None:
            pytest.skip(f"{package} is not installed: pip install {package}")


@pytest.mark.parametrize("path", pages(), ids=name)
def test_no_block_is_left_out(path):
    text = path.read_text(encoding="utf-8")
    assert text.count("```") == 2 * len(blocks(text)), "a fence that is not as tests/docs/pages.py reads it"
    for block in blocks(text):
        assert block.language in (*RUN, *ONLY_SHOWN) or block.is_file, f"line {block.line}: neither run nor saved"
        if block.title == CHECKOUT:
            for line in block.text.splitlines():
                command = line.split()[0]
                assert os.access(ROOT / command, os.X_OK), f"line {block.line}: {command} is no script here"
        if block.title == INSTALL:
            assert_extras_exist(block.text)


def assert_extras_exist(text):
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for line in text.splitlines():
        assert line.startswith(("pip install ", "python -m pip install ")), f"{line!r} is no installation"
        _, bracket, rest = line.partition("fairprobe[")
        for extra in rest.partition("]")[0].split(",") if bracket else []:
            assert extra in known, f"{line!r}: no extra {extra}"
