"""The published form: audits keep to it, and what does not is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from certificates import certificate, scored
from test_forgeries import MADE, OPEN, made

jsonschema = pytest.importorskip("jsonschema")

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "audit.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("make", [certificate, scored, lambda: certificate(None), lambda: certificate(show_rows=True)])
def test_audits_keep_to_it(make):
    assert [error.message for error in VALIDATOR.iter_errors(make())] == []


@pytest.mark.parametrize("name", [*MADE, *OPEN])
def test_audits_of_the_library_keep_to_it(name):
    assert [error.message for error in VALIDATOR.iter_errors(made(name))] == []


def without(*path):
    def change(audit):
        *way, last = path
        for key in way:
            audit = audit[key]
        del audit[last]

    return change


def with_(value, *path):
    def change(audit):
        *way, last = path
        for key in way:
            audit = audit[key]
        audit[last] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        without("digest"),
        without("shares", 0, "evidence"),
        without("digests", "shares"),
        with_(2, "format_version"),
        with_(1, "surprise"),
        with_(1, "shares", 0, "surprise"),
        with_("fair", "verdict", "outcome"),
        with_(1.5, "shares", 0, "value"),
        with_(-1, "shares", 0, "hits"),
        with_("12", "shares", 0, "n"),
        with_({"kind": "trust"}, "shares", 0, "evidence"),
        with_("sha256:0", "digest"),
        with_([1], "cases", 0, "outputs"),
        with_(432, "domain", "n_inputs"),
        with_({"x": 1}, "rows", "flips", 0, "row"),
        with_([0.5] * 201, "shares", 2, "history"),
    ],
)
def test_what_does_not_is_refused(change):
    audit = certificate()
    change(audit)
    assert not VALIDATOR.is_valid(audit)
