"""Rules as text: what they mean, what is refused, and that tables, rows and plain evaluation agree."""

import os
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chance import SURPRISING, p_if_uniform
from fairprobe import Category, Domain, Integer, Ordinal, Real, Rule
from fairprobe.domain.allowed import Block
from fairprobe.domain.constraints import parse, text_of
from fairprobe.domain.expressions import names_in
from fairprobe.errors import DataError, DomainError
from random_domains import every_input

PARAMETERS = [
    Integer("age", 17, 26, missing=True),
    Real("rate", 0, 1, 0.25),
    Integer("capital-gain", 0, 4),
    Category("relationship", ["Husband", "Wife", "Single"], missing=True),
    Ordinal("size", ["S", "M", "L"]),
    Category("owner", [False, True]),
    Category("sex", ["Female", "Male"]),
]
DOMAIN = Domain(PARAMETERS, sensitive=["sex"])
SMALL = Domain([PARAMETERS[0], PARAMETERS[2], *PARAMETERS[3:]], sensitive=["sex"])


def by_pandas(frame, text):
    """What the rule says, worked out by a function written beside it."""
    return np.array([MEANING[text](row) for row in frame.to_dict("records")])


def absent(value):
    return value is None or value != value


MEANING = {
    "age >= 20": lambda r: not absent(r["age"]) and r["age"] >= 20,
    "age != 20": lambda r: absent(r["age"]) or r["age"] != 20,
    "not (age >= 20)": lambda r: absent(r["age"]) or r["age"] < 20,
    "age is missing": lambda r: absent(r["age"]),
    "age is not missing and age in (17, 19)": lambda r: not absent(r["age"]) and r["age"] in (17, 19),
    "age not in (17, 19)": lambda r: absent(r["age"]) or r["age"] not in (17, 19),
    "age in (17, missing)": lambda r: absent(r["age"]) or r["age"] == 17,
    "18 <= age < 22": lambda r: not absent(r["age"]) and 18 <= r["age"] < 22,
    "relationship != 'Husband' or sex == 'Male'": lambda r: r["relationship"] != "Husband" or r["sex"] == "Male",
    "relationship == missing": lambda r: absent(r["relationship"]),
    "size > 'S' and owner": lambda r: r["size"] in ("M", "L") and r["owner"],
    "not owner": lambda r: not r["owner"],
    "`capital-gain` * 2 + 17 > age": lambda r: not absent(r["age"]) and r["capital-gain"] * 2 + 17 > r["age"],
    "age % 2 == 0 or `capital-gain` // 2 == 1": lambda r: (
        (not absent(r["age"]) and r["age"] % 2 == 0) or r["capital-gain"] // 2 == 1
    ),
    "1 / `capital-gain` > 0.4": lambda r: r["capital-gain"] == 0 or 1 / r["capital-gain"] > 0.4,
    "-`capital-gain` >= -2": lambda r: r["capital-gain"] <= 2,
}


@pytest.mark.parametrize("text", MEANING)
def test_meaning(text):
    """In tables, for real rows, and by `matches`, the same."""
    codes = every_input(SMALL)
    frame = SMALL.decode(codes)
    expected = by_pandas(frame, text)
    restricted = SMALL.with_constraints([text])
    assert all(isinstance(block, Block) for block in restricted.restrictions.blocks)
    assert restricted.allows(codes).tolist() == expected.tolist()
    assert restricted.restrictions.allows_rows(frame).tolist() == expected.tolist()
    assert restricted.n_valid == expected.sum()
    turned = frame[frame.columns[::-1]].set_axis(range(9, 9 + len(frame)))
    assert restricted.constraints[0].matches(turned).tolist() == expected.tolist()
    if "size" not in text:  # text alone has no order
        assert Rule(text).matches(frame).tolist() == expected.tolist()
    assert parse(text_of(parse(text))) == parse(text)


@pytest.mark.parametrize(
    "rules",
    [
        ["relationship != 'Husband' or sex == 'Male'"],
        ["age >= 20", "`capital-gain` * 2 + 17 > age", "relationship is not missing or size == 'L'"],
        ["`capital-gain` + 20 <= age"],
    ],
)
def test_sampling_is_uniform_over_what_is_allowed(rules):
    """Chi-square against enumeration; by luck once in a million."""
    domain = SMALL.with_constraints(rules)
    codes = every_input(SMALL)
    allowed = codes[domain.allows(codes)]
    number = {tuple(row): place for place, row in enumerate(allowed.tolist())}
    n = 20 * len(allowed)
    drawn = domain.sample_codes(n, np.random.default_rng(1))
    assert p_if_uniform([number[tuple(row)] for row in drawn.tolist()], len(allowed)) > SURPRISING


SCRIPT = """
from fairprobe import Category, Domain, Integer
parameters = [Integer("age", 17, 26), Integer("gain", 0, 4), Category("relationship", ["Husband", "Wife", "Single"])]
rules = ["age >= 20 or relationship == 'Single' or gain in (1, 3)", "relationship != 'Wife' or gain < 2"]
print(Domain([*parameters, Category("sex", ["Female", "Male"])], ["sex"], rules).sample(300, seed=1).to_csv())
"""


def test_another_hash_seed_gives_the_same_inputs(capsys):
    exec(SCRIPT, {})  # this process has a seed of its own
    here, command = capsys.readouterr().out, [sys.executable, "-c", SCRIPT]
    told = {"env": os.environ | {"PYTHONHASHSEED": "1"}, "capture_output": True, "text": True}
    there = subprocess.run(command, **told, check=True)
    assert there.stdout == here
    assert len(here.split()) == 301


def test_a_block_too_large_for_a_table_is_sampled_by_rejection():
    wide = Domain(
        [Integer("a", 0, 99_999), Integer("b", 0, 99_999), Integer("c", 0, 9), Category("sex", ["f", "m"])],
        sensitive=["sex"],
        constraints=["a + 10 < b", "c > 3"],
    )
    codes = wide.sample_codes(20_000, np.random.default_rng(0))
    assert (codes[:, 0] + 10 < codes[:, 1]).all()
    assert wide.n_valid is None
    assert p_if_uniform(codes[:, 2] - 4, 6) > SURPRISING
    assert abs(codes[:, 0].mean() - 33_300) < 1000


def test_very_wide_parameters_are_cut_at_the_constants():
    domain = Domain(
        [Integer("n", 0, 10**11, missing=True), Real("r", -5, 5, 1e-9), Category("sex", ["f", "m"])],
        ["sex"],
        constraints=["n == 7 or n > 99999999999 or n is missing", "r >= 0.5", "r not in (1, 2)"],
    )
    assert domain.n_valid == 2 * (1 + 1 + 1) * (4_500_000_000 + 1 - 2)
    frame = domain.sample(1000, seed=0)
    assert domain.restrictions.allows_rows(frame).all()
    assert set(frame["n"].dropna()) == {7, 10**11}


def test_more_inputs_than_a_word_can_count():
    parameters = [*(Integer(f"x{i}", 0, 999_999) for i in range(6)), Category("sex", ["f", "m"])]
    domain = Domain(parameters, ["sex"], constraints=["x0 < 10 or x1 < 10", "x1 > 5 or x2 > 5 or x3 == 0", "x4 >= x4"])
    assert domain.n_valid is not None
    assert domain.n_valid > 2**63
    assert domain.allows(domain.sample_codes(2000, np.random.default_rng(0))).all()


NAMES = ["a", "b", "c"]
TERMS = st.recursive(
    st.sampled_from(NAMES) | st.integers(-3, 9).map(str),
    lambda inner: st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
    max_leaves=3,
)
LEAVES = st.one_of(
    st.tuples(TERMS, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), TERMS).map(" ".join),
    st.tuples(st.sampled_from(NAMES), st.sampled_from(["in", "not in"]), st.lists(st.integers(-1, 6), min_size=1)).map(
        lambda t: f"{t[0]} {t[1]} ({', '.join(map(str, t[2]))},)"
    ),
    st.sampled_from(NAMES).map("{} is missing".format),
)
FORMULAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        inner.map("not ({})".format),
    ),
    max_leaves=5,
)
WHOLE = [Integer("a", -2, 4), Integer("b", 0, 3, missing=True), Integer("c", 0, 12, 3)]
NUMBERS = Domain([*WHOLE, Category("sex", ["f", "m"])], sensitive=["sex"])


def in_python(text, row):
    """By Python itself, whose grammar is the same here but for `is missing`; a missing value is NaN, as there."""
    for name in NAMES:
        text = text.replace(f"{name} is missing", f"({name} != {name})")
    return bool(eval(text, {}, row))


@given(st.lists(FORMULAS, min_size=1, max_size=3))
def test_any_rules_are_as_python_would_have_them(texts):
    codes = every_input(NUMBERS)
    rows = NUMBERS.decode(codes).astype(dict.fromkeys(NAMES, float)).to_dict("records")
    if any(not names_in(parse(text)) for text in texts):
        return
    expected = np.array([all(in_python(text, row) for text in texts) for row in rows])
    try:
        domain = NUMBERS.with_constraints(texts)
    except DomainError as error:
        if expected.any() and "must name a parameter" not in str(error):
            raise
        return
    assert domain.allows(codes).tolist() == expected.tolist()
    assert domain.n_valid == expected.sum()
    assert domain.allows(domain.sample_codes(50, np.random.default_rng(0))).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age >> 5", "'and', 'or', 'not' and brackets, got '>>' at position 5"),
        ("age > 5 &", "got '&' at position 9: write 'and'"),
        ("(age > 5", "got '(' at position 1: '(' was never closed"),
        ("Age > 5", "a name must be that of a parameter, got 'Age': did you mean 'age'?"),
        ("relationship == 'Husbnd'", "got 'Husbnd': did you mean 'Husband'?"),
        ("relationship == 5", "'relationship' must be compared with one of its values, got 5"),
        ("relationship > 'Wife'", "the values of 'relationship' must have an order for '>', got a category"),
        ("age == 'old'", "like must be compared with like, got age and 'old'"),
        ("1 == 1", "every comparison must name a parameter, got one of constants"),
        ("true", "a rule must say something about a parameter"),
        ("age", "like must be compared with like, got age and True"),
        ("age > 100", "constraint 'age > 100' must allow an input, got none of"),
        ("__import__('os')", "got '__import__' at position 1: nothing can be called here"),
        ("().__class__", "got '.' at position 3: a name with a point stands in backticks"),
        ("9**9**9 > age", "powers are not among the operations"),
        ("age > 1e999", "a number must be of a usual size, got '1e999'"),
        ("(" * 10_000 + "age" + ")" * 10_000, "may have 10,000 characters at most, got 20,003"),
        ("'" + "x" * 1_000_000 + "' == relationship", "may have 10,000 characters at most, got 1,000,018"),
        ("+".join(["age"] * 300) + " > 3", "operations must be at most 120 deep"),
        ("(" * 49 + "age" + "+age)" * 49 + "+1" * 100 + "> 3", "operations must be at most 120 deep"),
        ("age in (1, 2]", "got ']' at position 13: closing parenthesis ']' does not match opening parenthesis '('"),
        ("age > 3)", "got ')' at position 8: unmatched ')'"),
        ("sex == x'abc'", "got \"'abc'\" at position 9"),
        ("age in sex", "after 'in' there must be a list of values in brackets, got 'sex'"),
        ("age in (1, sex)", "a list must hold values, no names, got 'sex'"),
        ("age > missing", "got 'missing' at position 7: write 'is missing' after a name"),
        ("age is 5", "after 'is' there must be 'missing', got '5'"),
        ("age is missing == 3", "only == != < <= > >= can stand in a row"),
        ("(age > 3) > 2", "a comparison must be of values, not of other comparisons"),
        ("age + 1 and age > 3", "every part must be a comparison, not a value alone"),
        ("age == not age", "got 'not' at position 8"),
        ("age, 3", "it must consist of comparisons"),
        ("(age for age in (1, 2)) == 3", "got 'for' at position 6"),
        ("", "must be a text that is not empty"),
    ],
)
def test_refused_at_once_and_nothing_is_run(text, message):
    begun = time.perf_counter()
    with pytest.raises(DomainError) as caught:
        DOMAIN.with_constraints([text])
    assert message in str(caught.value)
    assert len(str(caught.value)) < 400
    assert time.perf_counter() - begun < 1


def test_rules_that_allow_nothing_together_are_refused():
    with pytest.raises(DomainError, match="must allow an input together, got none of"):
        DOMAIN.with_constraints(["age > 20", "age < 20"])


def test_a_rule_that_no_row_keeps_is_refused_and_one_that_some_break_is_said():
    frame = pd.DataFrame({"age": [20, 30, 40] * 20, "sex": ["f", "m"] * 30})
    with pytest.raises(DataError, match=r"'age == 25' must hold for a row at least, got none of 60"):
        Domain.from_frame(frame, ["sex"], constraints=["age == 25"])
    with pytest.warns(UserWarning, match=r"rule-broken: constraint 'age > 20' is broken by 20 of 60 rows"):
        Domain.from_frame(frame, ["sex"], constraints=["age > 20"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("size >= 'M'", [False, True, True, False, False]),
        ("not size >= 'M'", [True, False, False, True, True]),
        ("'M' > size or size is missing", [True, False, False, True, True]),
        ("size <= worn", [True, False, True, False, False]),
        ("n >= 2", [False, True, False, True, False]),
        ("b", [True, False, False, True, False]),
        ("1 == 1", [True] * 5),
        ("1 > 2", [False] * 5),
        ("worn != 'S'", [False, True, True, True, True]),
    ],
)
@pytest.mark.parametrize("kind", ["text", "string"])
def test_rules_match_real_rows_of_any_dtype(text, expected, kind):
    """Values off the grid or of another kind than the rest, pandas' NA, and an index of its own."""
    frame = pd.DataFrame(
        {
            "n": ["?", 2, None, 2.5, 1],
            "size": ["S", "L", "M", None, None],
            "b": pd.array([True, None, False, True, None], dtype="boolean"),
            "worn": ["S", "M", "L", "L", pd.NA],
        },
        index=list("vwxyz"),
    )
    sizes = ["S", "M", "L"]
    if kind == "string":
        frame = frame.astype({"size": "string", "worn": "string"})
    parameters = (
        Integer("n", 0, 9),
        Ordinal("size", sizes, missing=True),
        Category("b", [False, True]),
        Ordinal("worn", sizes, missing=True),
    )
    assert Rule(text, parameters=parameters).matches(frame).tolist() == expected
    assert Rule(text, parameters=parameters).matches(frame.iloc[:0]).tolist() == []
    assert Rule("size >= 'S'", parameters=parameters).matches({"size": ["XS", "S"]}).tolist() == [False, True]
    assert Rule("1 > 2 or n == 2.5").matches(frame).tolist() == [False, False, False, True, False]


@pytest.mark.parametrize("text", ["size >= 'M'", "size < other", "'a' < 'b'", "size > True"])
def test_text_has_no_order_by_itself(text):
    frame = pd.DataFrame({"size": ["S", None, "L"], "other": ["S", "M", "L"]})
    with pytest.raises(DataError, match=r"must be numbers, got .*: take the rule from"):
        Rule(text).matches(frame)
