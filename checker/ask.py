"""Asks the model again about the cases and rows of an audit; `check.py --model` calls it."""

import functools
import importlib
import sys


def ask(audit, name, note, same):
    """Compare today's answers with those of the audit, where it tells all columns of an input."""
    sys.path.insert(0, "")
    module, _, path = name.partition(":")
    model = functools.reduce(getattr, path.split("."), importlib.import_module(module))
    columns = [p["name"] for p in audit["domain"]["parameters"] if p["name"] not in audit["domain"]["hidden"]]
    asked = []  # what it is, the input, the answer
    for case in audit["cases"]:
        ends = (case["case"], {**case["case"], **case["twin"]})
        asked += [(f"case {case['id']}", end, output) for end, output in zip(ends, case["outputs"], strict=True)]
    sensitive = list(audit["question"]["sensitive"])
    for flip in audit["rows"]["flips"]:
        own = flip.get("values", {})
        twin = {**own, **{column: after for column, _, after in flip["changes"]}}
        for end in (own, twin):
            who = ", ".join(f"{each}={end.get(each)}" for each in sensitive)
            asked += [(f"row {flip['row']}", end, flip["answers"].get(who))]
    whole = [each for each in asked if each[2] is not None and not {*columns} - {*each[1]}]
    known = [each for each in whole if not {*audit["about"]["masked"]} & {*columns}]
    if len(known) < len(asked):
        note(f"{len(asked) - len(known):,} inputs again: the audit does not tell all their columns", None)
    if not known:
        return
    answers = answers_of(model, columns, [each[1] for each in known], audit["question"]["output"])
    resolution = max([share["resolution"] for share in audit["shares"]], default=0.0)
    off = [
        what
        for (what, _, before), now in zip(known, answers, strict=True)
        if not same(before, now) and not is_near(before, now, resolution)
    ]
    note(f"{len(known):,} inputs asked again", not off, f"another answer for {', '.join(dict.fromkeys(off[:9]))}")


def answers_of(model, columns, inputs, output):
    """The model's answers as plain values, asked as it is used: a frame if it was fitted on one or there are words."""
    import numpy as np

    table = [[row[column] for column in columns] for row in inputs]
    is_numeric = all(isinstance(value, (int, float)) for row in table for value in row)
    batch = np.array(table) if is_numeric else np.array(table, dtype=object)
    if hasattr(model, "feature_names_in_") or not is_numeric:
        try:
            import pandas as pd

            batch = pd.DataFrame(table, columns=columns)
        except ImportError:
            pass  # then an array must do
    names = {"proba": ["predict_proba"], "score": ["decision_function", "predict_proba"]}.get(output, ["predict"])
    function = next((getattr(model, name) for name in names if hasattr(model, name)), model)
    answers = np.asarray(function(batch))
    if output == "score" and answers.ndim == 2 and answers.shape[1] == 2:
        answers = answers[:, 1]
    return answers.tolist()


def is_near(before, now, resolution):
    """Whether numbers differ by no more than rounding; class by class."""
    if isinstance(before, list) and isinstance(now, list):
        return len(before) == len(now) and all(is_near(*each, resolution) for each in zip(before, now, strict=True))
    numbers = all(isinstance(each, float) for each in (before, now))
    return numbers and abs(before - now) <= resolution + 1e-9 * max(1.0, abs(before))
