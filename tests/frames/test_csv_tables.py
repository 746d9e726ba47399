"""CSV as it is written: nothing in it is a formula, and reading it gives the values that were written."""

import csv
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fairprobe.frames import restored, write_csv

FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
TEXT = st.text(st.sampled_from([*"=+-@'\"\t\r\n ,ab", ";", "\ufeff", "\uff1d", "\u00a0"]), min_size=1, max_size=8)


def written(frame, **keywords):
    text = io.StringIO(newline="")
    write_csv(frame, text, **keywords)
    return text.getvalue()


def cells(text):
    return list(csv.reader(io.StringIO(text, newline="")))


def test_formulas_are_texts():
    formulas = ["=SUM(A1)", "+1", "-2", "@x", "\tx", "\r=cmd|x", "\n=1", "  =1", "\uff1dcmd", "a\r=b"]
    texts = [*formulas, "fine", "a-b", "'=x", "'x"]
    frame = pd.DataFrame({"=a": texts, "n": range(-2, len(texts) - 2), "f": -0.5})
    frame["mixed"] = pd.Series([-1, "-1", None, True, -2.5, "x"] + [0] * (len(texts) - 6), dtype=object)
    head, *rows = cells(written(frame))
    assert head == ["'=a", "n", "f", "mixed"]
    expected = ["'=SUM(A1)", "'+1", "'-2", "'@x", "'\tx", "'\r'=cmd|x", "'\n'=1", "'  =1", "'\uff1dcmd", "a\r'=b"]
    assert [row[0] for row in rows] == [*expected, "fine", "a-b", "''=x", "'x"]
    assert [row[1] for row in rows] == [str(n) for n in frame["n"]]
    assert {row[2] for row in rows} == {"-0.5"}
    assert [row[3] for row in rows[:6]] == ["-1", "'-1", "", "True", "-2.5", "x"]
    assert frame["=a"].tolist() == texts  # what was given is as it was


@example([";"], "\ufeff")  # which a reader takes for the mark of the file's encoding
@given(st.lists(TEXT, min_size=1, max_size=5), TEXT)
def test_what_is_read_back_is_what_was_written(texts, name):
    frame = pd.DataFrame({name: texts, "n": -1})
    text = written(frame)
    for row in cells(text):
        for cell in row[:1]:
            assert not cell.startswith(FORMULA)
    # To who knows of no quotes, too, or has other separators.
    for line in text.replace("\r", "\n").replace(";", "\n").replace("\ufeff", "").split("\n"):
        assert not line.startswith(tuple(set(FORMULA) - set("\t\r\n")))
    again = restored(pd.read_csv(io.StringIO(text, newline=""), dtype=str, na_filter=False))
    assert again.iloc[:, 0].tolist() == texts
    assert again.columns[0] == name
    assert again["n"].tolist() == ["-1"] * len(texts)


@pytest.mark.parametrize("dtype", ["object", "str", "category", "string"])
def test_whatever_the_column_is(dtype):
    frame = pd.DataFrame({"a": pd.Series(["=1", None, "-x"], dtype=dtype), "b": pd.array([1, None, -2], dtype="Int64")})
    assert cells(written(frame))[1:] == [["'=1", "1"], ["", ""], ["'-x", "-2"]]


def test_columns_of_one_name_and_several_parts():
    frame = pd.DataFrame([["=1", "=2"], ["=3\r", np.nan]], columns=["a", "a"])
    text = written(frame.head(1)) + written(frame.tail(1), header=False)
    assert cells(text) == [["a", "a"], ["'=1", "'=2"], ["'=3\r", ""]]
