"""Domain files: what is written is read again, and a bad file is refused with the rule and the value."""

import math
import os
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fairprobe import Category, Domain, Integer, Link, Real
from fairprobe.domain import Derived
from fairprobe.domain.links import plain_values
from fairprobe.errors import DomainError
from random_domains import FINITE, WORDS, integers, listed, parameters, reals


def round_trip(domain, folder):
    path = folder / "domain.toml"
    domain.to_toml(path)
    return Domain.from_toml(path)


VALUE = st.one_of(WORDS, st.integers(-99, 99), FINITE, st.booleans(), st.sampled_from(["nan", "None", "1", "NaT"]))
NO_VALUE = st.sampled_from([None, math.nan, np.nan, pd.NA, pd.NaT])


def _compared(draw, parameter):
    """All values of a sensitive parameter, or a list of some, in which a missing one may be."""
    if draw(st.booleans()):
        return None
    values = [*draw(st.permutations([value for value in plain_values(parameter) if value is not None]))]
    values = values[: draw(st.integers(1, len(values)))]
    return [*values, draw(NO_VALUE)] if parameter.missing and (len(values) < 2 or draw(st.booleans())) else values


def _roles(draw, sensitive, column):
    """A table: who plays a role differs by sensitive value, and a cell may be empty."""
    orders = {value: draw(st.permutations(column)) for value in sensitive}
    return {
        f"role {place}": {value: orders[value][place] for value in sensitive if draw(st.integers(0, 4))}
        for place in range(draw(st.integers(1, len(column))))
    }


@st.composite
def told_domains(draw):
    """Domains with all that a file can say: lists to compare, derived parameters, links, rules, what is hidden."""
    s, x, n = draw(parameters("s", 2, 4, True)), draw(listed("x", 2, 6)), draw(integers("n", 3, 30))
    values = [value for value in plain_values(x) if value is not None]
    value = VALUE if draw(st.booleans()) else st.one_of(VALUE, NO_VALUE)
    follows = {key: draw(value) for key in values} | ({draw(NO_VALUE): draw(VALUE)} if draw(st.booleans()) else {})
    free = [x, n, Derived("y", "x", follows)] if draw(st.booleans()) else [x, n, draw(reals("r"))]
    try:
        plain = Domain(draw(st.permutations([s, *free])), {"s": _compared(draw, s)})
        compared = plain_values(plain["s"])
        shift = {key: n.step * draw(st.integers(-1, 1)) for key in compared}
        links = [Link("x", "s", _roles(draw, compared, values)), Link("n", "s", shift=shift)]
        links = links[: draw(st.integers(0, 2))]
        rules = draw(st.lists(st.sampled_from([f"n >= {n.low}", "x is not missing or n is missing"]), unique=True))
        return plain.with_links(links).with_constraints(rules).hiding(draw(st.lists(st.just("s"), max_size=1)))
    except DomainError:
        assume(False)


@given(told_domains())
def test_all_that_a_file_can_say_survives(tmp_path_factory, domain):
    again = round_trip(domain, tmp_path_factory.mktemp("toml"))
    assert again == domain
    assert hash(again) == hash(domain)
    assert [p.dtype for p in again.parameters] == [p.dtype for p in domain.parameters]
    for mine, theirs in zip(domain.parameters, again.parameters, strict=True):
        assert repr(mine) == repr(theirs) or isinstance(mine, Derived)  # which types values have, too
    for name in ("x", "y") if "y" in domain.names else ("x",):
        same = [(type(v), v) for v in plain_values(domain[name])]
        assert [(type(v), v) for v in plain_values(again[name])] == same
    assert again.families.varying == domain.families.varying


def test_a_link_per_unit_survives(tmp_path):
    numbers = [Integer("age", 17, 90), Integer("tenure", 0, 40), Category("sex", ["f", "m"])]
    domain = Domain(numbers, {"age": [25, 45], "sex": None}, links=[Link("tenure", "age", per=0.5)], hidden=["sex"])
    assert round_trip(domain, tmp_path) == domain


def test_a_name_that_no_file_can_hold_is_refused(tmp_path):
    domain = Domain([Category("s", ["a", "\ud800"])], sensitive=["s"])
    (tmp_path / "d.toml").write_text("as before")
    with pytest.raises(DomainError, match="must be UTF-8"):
        domain.to_toml(tmp_path / "d.toml")
    assert (tmp_path / "d.toml").read_text() == "as before"


def test_a_file_written_by_hand(tmp_path):
    (tmp_path / "d.toml").write_text(
        """
        format = 1
        sensitive = ["age", "sex"]
        parameter = [
            {name = "age", kind = "integer", low = 17, high = 90, compare = [25, 45, 65]},
            {name = "sex", kind = "category", values = ["Female", "Male"]},
            {name = "rate", kind = "real", low = 0, high = 1, step = 0.25, missing = true, moves = [-2, 1]},
        ]
        """
    )
    rate = Real("rate", 0, 1, 0.25, missing=True, moves=(-2, 1))
    parameters = [Integer("age", 17, 90), Category("sex", ["Female", "Male"]), rate]
    expected = Domain(parameters, sensitive={"age": [25, 45, 65], "sex": None})
    assert Domain.from_toml(tmp_path / "d.toml") == expected


def test_constraints_cannot_be_written(tmp_path):
    domain = Domain([Integer("x", 0, 3)], sensitive=["x"], constraints=[lambda rows: rows["x"] > 0])
    with pytest.raises(DomainError, match="cannot hold callables, got 1 constraints"):
        domain.to_toml(tmp_path / "d.toml")
    domain.without_constraints().to_toml(tmp_path / "d.toml")
    again = Domain.from_toml(tmp_path / "d.toml", constraints=domain.constraints)
    assert again == domain


HEAD = 'format = 1\nsensitive = ["s"]\n[[parameter]]\nname = "s"\nkind = "integer"\nlow = 0\nhigh = 1\n'
MORE = HEAD + '[[parameter]]\nname = "x"\n'
GRID = MORE + 'kind = "integer"\nlow = 0\nhigh = 4\n'
DERIVED = MORE + 'kind = "derived"\nsource = "s"\n'
NAMED = HEAD + '[[parameter]]\nkind = "integer"\nlow = 0\nhigh = 1\n'
LINK = MORE + 'kind = "integer"\nlow = 0\nhigh = 1\n[[link]]\ncolumn = "x"\nsensitive = "s"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "format must be 1, got None"),
        ("not toml at all", "must be TOML"),
        ('format = 1\nsensitive = "s"', "sensitive must be a list of names, got 's'"),
        ('format = 1\nsensitive = ["s"]', "a sensitive parameter must be one of no parameter; got 's'"),
        (HEAD.replace('["s"]', '["s", "s"]'), "sensitive must name each parameter once, got s more than once"),
        ('format = 1\nsensitive = ["s"]\nparameter = 3', "parameters must be [[parameter]] tables, got 3"),
        ("parameters = []\n" + HEAD, "data, link, parameter; got 'parameters': did you mean 'parameter'?"),
        (MORE, "parameter 'x': kind must be one of integer, real, category, ordinal, derived, got None"),
        (MORE + 'kind = "integer"\nlow = 0', "parameter 'x': an integer needs name, low, high; got name, low"),
        (MORE + 'kind = "category"\nvalues = "ab"', "parameter 'x': values must be a list, got the string 'ab'"),
        (GRID + "missing = 1", "missing must be true or false, got 1"),
        (GRID + "moves = 1", "parameter 'x': moves must be a list, got 1"),
        (GRID + "dtype = 1", "parameter 'x': dtype must be a string, got 1"),
        (GRID + 'dtype = "int65"', "int65"),
        (GRID + "colour = 1", "got 'colour'"),
        (GRID + "compare = [1, 2]", "compare is for sensitive parameters, got it for 'x'"),
        (HEAD + "compare = 0", "compare must be a list, got 0"),
        (HEAD + 'compare = "01"', "compare must be a list, got '01'"),
        (DERIVED + "of = [0, 0]\nis = [1, 2]", "must list texts, numbers and truth values once, got [0, 0]"),
        (DERIVED + "of = [0]\nis = [1]\nif_mising = 5", "did you mean 'if_missing'?"),
        (DERIVED + "of = [0, 1]\nis = [1, 1979-05-27]", "strings, numbers or truth values"),
        (LINK + "role = 3", "must have a list of tables as role, got 3"),
        (LINK + "role = [{of = [0], is = [1]}, {name = '0', of = [1], is = [0]}]", "of distinct names, got 0, 0"),
        (LINK + "role = [{of = [0], is = [1], on = 3}]", "has name, of, is, if_missing, missing_for; got 'on'"),
        (LINK + "shift = 3", "of and by must be two lists of the same length"),
        (NAMED + "name = 5", "name must be a string that is not empty, got 5"),
    ],
)
def test_bad_file(tmp_path, text, message):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(DomainError, match=re.escape(message)) as caught:
        Domain.from_toml(path)
    assert "bad.toml" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, r"must be readable, got No such file or directory: .*d\.toml"),
        ("a folder", "must be readable, got Is a directory"),
        (b"format = 1 # \xff\xfe", "must be TOML"),
        (b"a" + b".a" * 100_000 + b" = 1", "a key of more than a hundred parts"),
        (b"[" + b'"a" . ' * 100_000 + b"a]", "a key of more than a hundred parts"),
        (2**40, "must be readable, got 1,099,511,627,776 bytes, more than 16,777,216"),
    ],
    ids=lambda each: str(each)[:30],
)
def test_no_file(tmp_path, content, message):
    path = tmp_path / "d.toml"
    if content == "a folder":
        path.mkdir()
    elif isinstance(content, int):
        path.touch()
        os.truncate(path, content)
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(DomainError, match=message):
        Domain.from_toml(path)
