"""Domain files: what is written is read again, and a bad file is refused with the rule and the value."""

from __future__ import annotations

import re

import pytest
from hypothesis import given

from fairprobe import Category, Domain, Integer, Ordinal, Real
from fairprobe.datasets import load_census
from fairprobe.errors import DomainError
from random_domains import domains


def round_trip(domain, folder):
    path = folder / "domain.toml"
    domain.to_toml(path)
    return Domain.from_toml(path)


@given(domains())
def test_round_trip(tmp_path_factory, domain):
    again = round_trip(domain, tmp_path_factory.mktemp("toml"))
    assert again == domain
    assert hash(again) == hash(domain)
    assert [type(p) for p in again.parameters] == [type(p) for p in domain.parameters]
    assert [p.dtype for p in again.parameters] == [p.dtype for p in domain.parameters]


def test_types_of_values_survive(tmp_path):
    domain = Domain([Category("x", [1, 2.5, "1", True and "yes"]), Ordinal("s", [False, True])], sensitive=["s"])
    again = round_trip(domain, tmp_path)
    assert [type(v) for v in again["x"].values] == [type(v) for v in domain["x"].values]
    assert [type(v) for v in again["s"].values] == [bool, bool]


def test_values_to_compare_survive(tmp_path):
    domain = Domain([Integer("age", 17, 90), Real("rate", 0, 1, 0.1)], sensitive={"age": [25, 45], "rate": [0.3, 0.1]})
    assert round_trip(domain, tmp_path) == domain


@pytest.mark.parametrize("encoded", [False, True])
def test_census_round_trip(tmp_path, encoded):
    frame, _ = load_census(encoded=encoded)
    domain = Domain.from_frame(frame, sensitive=["sex", "race"])
    again = round_trip(domain, tmp_path)
    assert again == domain
    assert again.decode(again.encode(frame)).equals(frame)


def test_path_may_be_a_string(tmp_path):
    domain = Domain([Integer("x", 0, 3)], sensitive=["x"])
    domain.to_toml(str(tmp_path / "d.toml"))
    assert Domain.from_toml(str(tmp_path / "d.toml")) == domain


def test_a_file_written_by_hand(tmp_path):
    (tmp_path / "d.toml").write_text(
        """
        format = 1
        sensitive = ["age", "sex"]
        [[parameter]]
        name = "age"
        kind = "integer"
        low = 17
        high = 90
        compare = [25, 45, 65]
        [[parameter]]
        name = "sex"
        kind = "category"
        values = ["Female", "Male"]
        [[parameter]]
        name = "rate"
        kind = "real"
        low = 0
        high = 1
        step = 0.25
        missing = true
        moves = [-2, 1]
        """
    )
    expected = Domain(
        [
            Integer("age", 17, 90),
            Category("sex", ["Female", "Male"]),
            Real("rate", 0, 1, 0.25, missing=True, moves=(-2, 1)),
        ],
        sensitive={"age": [25, 45, 65], "sex": None},
    )
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "format must be 1, got None"),
        ("format = 2", "format must be 1, got 2"),
        ("not toml at all", "must be TOML"),
        ("format = 1", "sensitive must name one parameter at least, got none"),
        ('format = 1\nsensitive = "s"', "sensitive must be a list of names, got 's'"),
        ("format = 1\nsensitive = [1]", "sensitive must be a list of names, got [1]"),
        ("format = 1\nsensitive = []", "sensitive must name one parameter at least, got none"),
        ('format = 1\nsensitive = ["s"]', "a sensitive parameter must be one of no parameter; got 's'"),
        (HEAD.replace('["s"]', '["s", "s"]'), "sensitive must name each parameter once, got s more than once"),
        ('format = 1\nsensitive = ["s"]\nparameter = 3', "parameters must be [[parameter]] tables, got 3"),
        (
            "parameters = []\n" + HEAD,
            "data, link, parameter; got parameters: did you mean 'parameter'?",
        ),
        (HEAD.replace('["s"]', '["sex"]'), "a sensitive parameter must be one of s; got 'sex'"),
        (
            HEAD + "[[parameter]]\n",
            "parameter None: kind must be one of integer, real, category, ordinal, derived, got None",
        ),
        (MORE, "parameter 'x': kind must be one of integer, real, category, ordinal, derived, got None"),
        (
            MORE + 'kind = "float"',
            "parameter 'x': kind must be one of integer, real, category, ordinal, derived, got 'float'",
        ),
        (
            MORE + 'kind = ["real"]',
            "parameter 'x': kind must be one of integer, real, category, ordinal, derived, got ['real']",
        ),
        (MORE + 'kind = "integer"\nlow = 0', "parameter 'x': an integer needs name, low, high; got name, low"),
        (MORE + 'kind = "real"\nlow = 0\nhigh = 1', "needs name, low, high, step; got name, low, high"),
        (MORE + 'kind = "category"', "needs name, values; got name"),
        (MORE + 'kind = "category"\nvalues = []', "parameter 'x': values must not be empty, got []"),
        (MORE + 'kind = "category"\nvalues = "ab"', "parameter 'x': values must be a list, got 'ab'"),
        (MORE + 'kind = "category"\nvalues = [1, 1]', "parameter 'x': values must be distinct, got 1 more than once"),
        (MORE + 'kind = "category"\nvalues = [[1]]', "parameter 'x': values must be strings, numbers or truth values"),
        (MORE + 'kind = "category"\nvalues = [nan]', "parameter 'x': a missing value is allowed by missing=True"),
        (MORE + 'kind = "category"\nvalues = [1, inf]', "parameter 'x': values must be finite, got inf"),
        (MORE + 'kind = "integer"\nlow = 5\nhigh = 4', "low must be at most high, got low=5, high=4"),
        (MORE + 'kind = "integer"\nlow = "0"\nhigh = 4', "parameter 'x': low must be a number, got '0'"),
        (
            MORE + 'kind = "integer"\nlow = 0.5\nhigh = 4',
            "parameter 'x': low must be a whole number, got 0.5: use Real",
        ),
        (MORE + 'kind = "integer"\nlow = 0\nhigh = inf', "parameter 'x': high must be finite, got inf"),
        (MORE + 'kind = "integer"\nlow = 0\nhigh = true', "parameter 'x': high must be a number, got True"),
        (MORE + 'kind = "integer"\nlow = 0\nhigh = 4\nstep = 0', "parameter 'x': step must be above 0, got 0"),
        (MORE + 'kind = "real"\nlow = 0\nhigh = 1\nstep = nan', "parameter 'x': step must be finite, got nan"),
        (MORE + 'kind = "integer"\nlow = 0\nhigh = 4\nmissing = 1', "missing must be true or false, got 1"),
        (MORE + 'kind = "integer"\nlow = 0\nhigh = 4\nmoves = 1', "parameter 'x': moves must be a list, got 1"),
        (MORE + 'kind = "integer"\nlow = 0\nhigh = 4\nmoves = [1]', "moves must have one below 0 and one above 0"),
        (MORE + 'kind = "integer"\nlow = 0\nhigh = 4\nmoves = [-1, 0.5]', "moves must be whole numbers of steps"),
        (MORE + 'kind = "integer"\nlow = 0\nhigh = 4\ndtype = 1', "parameter 'x': dtype must be a string, got 1"),
        (MORE + 'kind = "integer"\nlow = 0\nhigh = 4\ndtype = "int65"', "int65"),
        (MORE + 'kind = "integer"\nlow = 0\nhigh = 4\ncolour = 1', "got 'colour'"),
        (
            MORE + 'kind = "integer"\nlow = 0\nhigh = 4\ncompare = [1, 2]',
            "compare is for sensitive parameters, got it for 'x'",
        ),
        (HEAD + "compare = [0, 7]", "the values to compare must lie in the domain of 's', got [7]"),
        (HEAD + "compare = 0", "compare must be a list, got 0"),
        (HEAD + 'compare = "01"', "compare must be a list, got '01'"),
        (HEAD + "compare = [0]", "a sensitive parameter must have two values at least, got one for 's'"),
        (HEAD + "compare = [0, 0]", "values must be distinct, got 0 more than once"),
        (
            HEAD + '[[parameter]]\nname = "s"\nkind = "integer"\nlow = 0\nhigh = 1',
            "distinct names, got s more than once",
        ),
        (
            HEAD + '[[parameter]]\nname = 5\nkind = "integer"\nlow = 0\nhigh = 1',
            "name must be a string that is not empty, got 5",
        ),
        (
            HEAD + '[[parameter]]\nname = ""\nkind = "integer"\nlow = 0\nhigh = 1',
            "name must be a string that is not empty, got ''",
        ),
        (
            HEAD + '[[parameter]]\nname = ["x"]\nkind = "integer"\nlow = 0\nhigh = 1\ncompare = [0]',
            "name must be a string that is not empty, got ['x']",
        ),
    ],
)
def test_bad_file(tmp_path, text, message):
    """A DomainError, with the rule and the value, that names the file."""
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(DomainError, match=re.escape(message)) as caught:
        Domain.from_toml(path)
    assert "bad.toml" in str(caught.value)


def test_no_file(tmp_path):
    with pytest.raises(DomainError, match=r"must be readable, got No such file or directory: .*none\.toml"):
        Domain.from_toml(tmp_path / "none.toml")


def test_a_folder(tmp_path):
    with pytest.raises(DomainError, match="must be readable, got Is a directory"):
        Domain.from_toml(tmp_path)


def test_not_utf8(tmp_path):
    (tmp_path / "d.toml").write_bytes(b"format = 1 # \xff\xfe")
    with pytest.raises(DomainError, match="must be TOML"):
        Domain.from_toml(tmp_path / "d.toml")
