"""The published form: audits keep to it, and what does not is refused."""

import json
from pathlib import Path

import pytest
from audits import MADE, OPEN, made, whole

jsonschema = pytest.importorskip("jsonschema")

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "audit.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", ["shown", "hidden", "scores"])
def test_whole_audits_keep_to_it(name):
    assert [error.message for error in VALIDATOR.iter_errors(whole(name))] == []


@pytest.mark.parametrize("name", [*MADE, *OPEN])
def test_audits_of_the_library_keep_to_it(name):
    assert [error.message for error in VALIDATOR.iter_errors(made(name))] == []


MISSING = object()


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (MISSING, ["digest"]),
        (MISSING, ["shares", 0, "evidence"]),
        (MISSING, ["digests", "shares"]),
        (1, ["format_version"]),
        (1, ["surprise"]),
        (1, ["shares", 0, "surprise"]),
        ("fair", ["verdict", "outcome"]),
        (1.5, ["shares", 0, "value"]),
        (-1, ["shares", 0, "hits"]),
        ("12", ["shares", 0, "n"]),
        ({"kind": "trust"}, ["shares", 0, "evidence"]),
        ("sha256:0", ["digest"]),
        ([1], ["cases", 0, "outputs"]),
        (432, ["domain", "n_inputs"]),
        ({"x": 1}, ["rows", "flips", 0, "row"]),
        ([0.5] * 201, ["shares", 2, "history"]),
    ],
)
def test_what_does_not_is_refused(value, path):
    audit = whole()
    *way, last = path
    part = audit
    for key in way:
        part = part[key]
    if value is MISSING:
        del part[last]
    else:
        part[last] = value
    assert not VALIDATOR.is_valid(audit)
