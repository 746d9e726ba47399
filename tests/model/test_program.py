import os
import pickle
import sys
import textwrap
import time

import numpy as np
import pandas as pd
import pytest

import fairprobe
from fairprobe import Category, Domain, Integer, Real
from fairprobe.errors import ModelError, SettingError
from fairprobe.model import Asker
from fairprobe.model.program import start
from fairprobe.testing import model_contract

DOMAIN = Domain([Integer("age", 17, 90), Real("rate", 0, 2, 0.1), Category("sex", ["F", 'M "x", y'])], ["sex"])


def model(frame):
    return np.where(frame["age"] + 10 * (frame["sex"] == "F") + frame["rate"] > 60, "yes", "no")


READS = """
    import csv, json, os, sys
    def rows():
        if sys.argv[-1] == "jsonl":
            for line in iter(sys.stdin.readline, ""):
                yield json.loads(line)
        else:
            names = next(csv.reader([sys.stdin.readline()]))
            for line in iter(sys.stdin.readline, ""):
                yield dict(zip(names, next(csv.reader([line]))))
    def label(row):
        return "yes" if float(row["age"]) + 10 * (row["sex"] == "F") + float(row["rate"]) > 60 else "no"
"""
ANSWERS = """
    for row in rows():
        said = label(row)
        print(json.dumps(said) if sys.argv[-1] == "jsonl" else said, flush=True)
"""


@pytest.fixture
def program(tmp_path):
    """Makes a command of the text of a program; none is left running."""
    made = []

    def make(text, *arguments, **options):
        file = tmp_path / f"score{len(made)}.py"
        file.write_text(textwrap.dedent(READS) + textwrap.dedent(text))
        made.append(start([sys.executable, str(file), *arguments], **options))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.mark.parametrize("protocol", ["csv", "jsonl"])
def test_a_program_gives_what_the_model_gives(program, protocol):
    scored = program(ANSWERS, protocol, protocol=protocol)
    model_contract(scored, DOMAIN)
    rows = DOMAIN.sample(25_000, seed=0)
    assert (scored.predict(rows) == model(rows)).all()
    settings = {"strategy": "fully-directed", "n_walkers": 100, "n_global": 300, "max_cases": 200}
    there, here = (fairprobe.search(each, DOMAIN, batch="frame", **settings) for each in (scored, model))
    assert there.to_frame().equals(here.to_frame())
    assert there.n_sent == there.n_queries


def test_it_is_kept_alive_and_sent_to_other_processes(program):
    scored = program("""
        for row in rows():
            print(os.getpid(), flush=True)
    """)
    rows = DOMAIN.sample(5, seed=0)
    first = set(scored.predict(rows).tolist())
    assert len(first) == 1
    assert set(scored.predict(rows).tolist()) == first
    copy = pickle.loads(pickle.dumps(scored))
    assert set(copy.predict(rows).tolist()).isdisjoint(first)
    scored.close()
    with pytest.raises(ProcessLookupError):
        os.kill(first.pop(), 0)


def test_a_program_that_dies_is_started_again_and_asked_the_same(program, tmp_path):
    scored = program(
        """
        n = 0
        for row in rows():
            n += 1
            if n > 900:
                open(sys.argv[1], "a").write("x")
                sys.exit(1)
            print(label(row), flush=True)
        """,
        str(tmp_path / "deaths"),
    )
    found = fairprobe.search(scored, DOMAIN, n_walkers=50, n_global=100, max_cases=150, strategy="random")
    deaths = (tmp_path / "deaths").read_text()
    again = fairprobe.search(model, DOMAIN, n_walkers=50, n_global=100, max_cases=150, strategy="random", batch="frame")
    assert len(deaths) > 1
    assert found.to_frame().equals(again.to_frame())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sys.exit(3)", "0 lines for 1 rows before it ended, with exit code 3"),
        ("print(1/0)", "it said: .*ZeroDivisionError"),
        ("for row in rows(): pass", "0 lines for 1 rows within 0.5 s; does it write each line out at once"),
        (
            "for n, row in enumerate(rows()):\n    if n % 2 == 0: print(label(row), flush=True)",
            r"[0-9,]+ lines for [0-9,]+ rows within 0.5 s",
        ),
        ("for row in rows(): print('yes', flush=True); print('no', flush=True)", "another line than the answer"),
        ("for row in rows(): print('', flush=True)", "an empty line for row 0"),
    ],
)
def test_a_program_that_does_not_answer_one_line_a_row(program, text, said):
    begun = time.monotonic()
    timeout = 0.5 if "within 0.5 s" in said else 60  # a program is slow to start beside a load
    with pytest.raises(ModelError, match=said):  # more rows than a pipe holds
        program(textwrap.dedent(text), timeout=timeout, retries=1).predict(DOMAIN.sample(9000, seed=0))
    assert time.monotonic() - begun < 60


def test_garbage_is_no_number_and_no_json(program):
    text = "for row in rows(): print('{oops', flush=True)"
    rows = DOMAIN.sample(5, seed=0)
    with pytest.raises(ModelError, match=r"must answer one JSON value a line, got lines that are no JSON.*\{oops"):
        program(text, "jsonl", protocol="jsonl").predict(rows)
    with pytest.raises(ModelError, match="what is no number"):
        Asker(program(text), DOMAIN, output="score").ask_frame(rows)
    with pytest.raises(ModelError, match="not finite"):
        Asker(program("for row in rows(): print('nan', flush=True)"), DOMAIN, output="value").ask_frame(rows)


def test_numbers_probabilities_and_labels_that_are_numbers(program):
    rows = DOMAIN.sample(30, seed=0)
    scores = program("for row in rows(): print(float(row['age']) / 3, flush=True)")
    assert (Asker(scores, DOMAIN, output="score").ask_frame(rows) == rows["age"] / 3).all()
    proba = program("for row in rows(): print('0.25,0.75', flush=True)")
    assert Asker(proba, DOMAIN, output="proba").ask_frame(rows).tolist() == [[0.25, 0.75]] * 30
    labels = program("for row in rows(): print(int(row['age']) if float(row['rate']) > 1 else 'none', flush=True)")
    together = labels.predict(rows)
    alone = [labels.predict(rows.iloc[[place]])[0] for place in range(30)]
    assert together.tolist() == alone


@pytest.mark.parametrize(
    ("command", "options", "said"),
    [
        ("", {}, "must name a program"),
        ("./no-such-program --flag", {}, "can be run, got './no-such-program'"),
        ("'unclosed", {}, "words as in a shell"),
        ([sys.executable], {"protocol": "xml"}, "protocol must be one of csv, jsonl; got 'xml'"),
        ([sys.executable], {"timeout": -1}, "timeout must be a number above 0"),
    ],
)
def test_commands_that_are_wrong(command, options, said):
    with pytest.raises(SettingError, match=said):
        start(command, **options)


def test_a_value_with_a_line_break_needs_json(program):
    rows = pd.DataFrame({"age": [30, 40], "rate": [1.0, 1.0], "sex": ["F", "a\nb"]})
    with pytest.raises(SettingError, match="line break: use protocol='jsonl'"):
        program(ANSWERS).predict(rows)
    assert program(ANSWERS, "jsonl", protocol="jsonl").predict(rows).tolist() == ["no", "no"]
