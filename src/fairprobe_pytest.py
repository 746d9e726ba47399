"""The pytest plugin: `assert_no_discrimination`, as a function and as a fixture, and the marker `fairprobe`.

The plugin is a module beside the package and imports nothing of the package until a test needs it. A user who has
installed fairprobe but does not use the plugin loads only this file.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fairprobe.asserting import Assertion

FOLDER = ".fairprobe"
"""Name of the folder of saved cases, in the root folder of pytest."""

FIXTURE = "assert_no_discrimination"

_item: pytest.Item | None = None
"""The test that is running; None between tests."""

_n_calls = 0
"""Number of calls of `assert_no_discrimination` in the running test, which numbers its files of saved cases."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options `--fairprobe-seed` and `--fairprobe-budget` to pytest."""
    group = parser.getgroup("fairprobe", "inputs that a model treats differently because of a sensitive attribute")
    group.addoption("--fairprobe-seed", type=_at_least(0), metavar="N", help="Seed of all assertions. Default: 0.")
    group.addoption(
        "--fairprobe-budget",
        type=_at_least(1),
        metavar="N",
        help="Rows that a model may be asked about to search for cases and explain them, where a limit is not kept; "
        "the verdict does not depend on it. Default: 400,000.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker `fairprobe`, whose arguments are those of `assert_no_discrimination`."""
    config.addinivalue_line(
        "markers",
        "fairprobe(**arguments): arguments of assert_no_discrimination for all its calls in a test. Tests that use the "
        "fixture have the marker anyway, so that -m fairprobe chooses them.",
    )


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark a test with `fairprobe` if it uses the fixture `assert_no_discrimination`."""
    if FIXTURE in getattr(item, "fixturenames", ()):
        item.add_marker("fairprobe")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Store the test while it runs, so that `assert_no_discrimination` knows which test calls it."""
    global _item, _n_calls
    before, _item, _n_calls = _item, item, 0  # a test may itself run pytest
    try:
        return (yield)
    finally:
        _item = before


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the result of each assertion at the end; test reports carry the results, also from pytest-xdist."""
    lines = [
        f"{report.nodeid}: {said}"
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) == "call"
        for name, said in report.user_properties
        if name == "fairprobe"
    ]
    if lines:
        terminalreporter.section("fairprobe")
        for line in lines:
            terminalreporter.line(line)


@pytest.fixture(name=FIXTURE)
def _fixture() -> Callable[..., Assertion]:
    """Return `assert_no_discrimination`, which fails the test unless a model keeps a limit.

    It takes (model, data, *, sensitive, max_share) and further arguments by name.
    """
    return assert_no_discrimination


def assert_no_discrimination(model: Any, data: Any, **arguments: Any) -> Assertion:
    """Fail the test if more than `max_share` of the rows change their outcome with a sensitive parameter.

    It also fails if the limit is not shown to be kept. The arguments are those of
    `fairprobe.asserting.assert_no_discrimination`: sensitive, max_share, domain, seed, budget, favourable and others of
    `fairprobe.audit`. Arguments that the call leaves out come from the test's marker, then from the options of pytest.
    """
    __tracebackhide__ = True
    from fairprobe import asserting, errors

    global _n_calls
    _n_calls += 1
    item = _item
    if item is None:  # called outside of a test: nothing is saved
        return asserting.assert_no_discrimination(model, data, **arguments)
    told = {**_of_options(item), **_of_markers(item), **arguments}
    place = item.config.rootpath / FOLDER / _file_name(item.nodeid, _n_calls)
    saved = {"cases": place, "about": item.nodeid, "again": _command(item)}
    try:
        result = asserting.assert_no_discrimination(model, data, **{**saved, **told})
    except asserting.DiscriminationError as error:
        item.user_properties.append(("fairprobe", str(error).partition("\n")[0]))
        raise error.with_traceback(None) from None  # the message says it all; frames would print the data
    except errors.InputError as error:
        raise error.with_traceback(None) from None
    notes = [f"note: {each}" for each in result.health]
    item.user_properties.append(("fairprobe", "\n    ".join([result.sentence(), *notes])))
    return result


def _of_options(item: pytest.Item) -> dict[str, Any]:
    given = {name: item.config.getoption(f"fairprobe_{name}") for name in ("seed", "budget")}
    return {name: value for name, value in given.items() if value is not None}


def _of_markers(item: pytest.Item) -> dict[str, Any]:
    """Return the arguments in the test's markers, by name; a marker of the test overrides its class and module."""
    told: dict[str, Any] = {}
    for mark in item.iter_markers("fairprobe"):
        if mark.args:
            raise pytest.UsageError(f"the marker fairprobe must have arguments by name, got {mark.args!r}")
        told = {**mark.kwargs, **told}
    return told


def _command(item: pytest.Item) -> str:
    """Return the command that runs the test again from the folder where pytest was called.

    `{seed}` and `{budget}` in the command are placeholders, which the assertion fills in.
    """
    file, colons, name = item.nodeid.partition("::")
    path = os.path.relpath(item.config.rootpath / file, item.config.invocation_params.dir)
    node = shlex.quote(f"{path}{colons}{name}").replace("{", "{{").replace("}", "}}")
    return f"pytest {node} --fairprobe-seed {{seed}} --fairprobe-budget {{budget}}"


def _file_name(nodeid: str, call: int) -> str:
    """Return the name of the file of saved cases for a call: readable, and different for each test and call."""
    words = re.sub(r"[^A-Za-z0-9_]+", "-", nodeid.rpartition("/")[2]).strip("-")[:80]
    digest = hashlib.sha256(f"{nodeid} {call}".encode()).hexdigest()[:8]
    return f"{words}-{digest}.json"


def _at_least(least: int) -> Callable[[str], int]:
    def whole(text: str) -> int:
        value = int(text)
        if value < least:
            raise ValueError(text)
        return value

    whole.__name__ = f"whole number of at least {least}"
    return whole
