"""`fairprobe retrain` as it should go."""

import json
import re
import shlex

import numpy as np
import pandas as pd
import pytest
import skops.io

import fairprobe as library
from fairprobe.domain import Domain

INPUTS = ["age", "sex", "pay"]
FEW = ("--augment", "flip,twins")


NEIGHBOURS = """
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

model = make_pipeline(StandardScaler(), KNeighborsClassifier(15, algorithm="kd_tree"))
"""


def content_of(outcome):
    content = json.loads(outcome.out)
    if "dry_run" in content:
        assert outcome.code == 0, outcome.err
    else:
        assert outcome.code == content["exit_code"] == (0 if content["accepted"] else 4), outcome.err
    return content


def loaded(path):
    return skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path))


def without_seconds(value):
    if isinstance(value, dict):
        return {key: without_seconds(inner) for key, inner in value.items() if key != "seconds"}
    return [without_seconds(inner) for inner in value] if isinstance(value, list) else value


def test_groups_stay_together(retrain, folder):
    """Ten rows of each person: with the column of --groups, which is no input, all ten are in one part."""
    for name in ("loans.csv", "test.csv"):
        table = pd.read_csv(folder / name)
        table.assign(person=name[0] + (table.index // 10).astype(str)).to_csv(folder / name, index=False)
    n_rows = content_of(retrain(*FEW, "--json", "--groups", "person"))["n_rows"]
    assert all(n % 10 == 0 for n in n_rows.values())
    held_out = retrain(*FEW, "--json", "--groups", "person", "--held-out", "test.csv")
    assert "rows-overlap" not in {each["check"] for each in content_of(held_out)["health"]}
    pd.read_csv(folder / "test.csv").drop(columns="person").to_csv(folder / "test.csv", index=False)
    retrain("--groups", "person", "--held-out", "test.csv").refuses(
        "--held-out test.csv: --groups must be one of", "'person'"
    )


def test_result_is_that_of_the_library(retrain, folder):
    content = content_of(retrain("--json", "--controls", "--held-out", "test.csv", "--seed", 7))
    train, test = (pd.read_csv(folder / name) for name in ("loans.csv", "test.csv"))
    from sklearn.tree import DecisionTreeClassifier

    result = library.retrain(
        DecisionTreeClassifier(max_depth=6, random_state=0),
        train[INPUTS],
        train["loan"],
        Domain.from_frame(train[INPUTS], sensitive=["sex"]),
        held_out=(test[INPUTS], test["loan"]),
        labels="mean",
        n_select=500,
        n_report=500,
        max_rounds=2,
        max_accuracy_loss=0.2,
        seed=7,
    )
    expected = json.loads(json.dumps(result.jsonable()))
    assert content["exit_code"] == 0
    got = {key: content[key] for key in expected}
    assert without_seconds(got) == without_seconds(expected)
    assert content["accepted"] is True
    assert content["n_rows"]["fit"] == 600
    assert (content["out"], content["error"], content["interrupted"]) == (None, None, False)


def test_what_is_shown(retrain):
    outcome = retrain("--controls", "--favourable", "no").says(
        " is returned: ",
        "the sensitive parameters held constant",
        "Accuracy, and how often the label is no, by sex",
        "Rounds, on the rows and inputs to choose by",
        "  - Models were fitted to ",
    )
    assert not re.search(r"\bfair\b|biased", outcome.out.replace("fairprobe", ""))


def test_the_same_again(retrain, fairprobe):
    first = retrain(*FEW, "--seed", "none", "--out", "new.skops")
    lines = first.err.splitlines()
    assert [line.split(":")[0] for line in lines] == ["round 1", "round 2"]
    assert all("accepted: " in line or "rejected: " in line for line in lines)
    again = shlex.split(first.out.split("The same again:")[1])
    assert "--overwrite" in again, "as the file is there now"
    second = fairprobe(*again[1:]).says()
    assert re.sub(r"[\d.]+ s, ", "", second.out) == re.sub(r"[\d.]+ s, ", "", first.out)


def test_subject_comes_with_the_census(fairprobe, folder):
    few = "--augment flip --labels mean --max-rounds 1 --no-controls --select-inputs 1000 --report-inputs 1000"
    command = ["retrain", "--model", "subject:decision-tree", *few.split()]
    content = content_of(fairprobe(*command, "--sensitive", "race", "--json", "--max-accuracy-loss", "0"))
    n_rows = content["n_rows"]
    assert (n_rows["fit"], n_rows["select"] + n_rows["report"]) == (32_561, 16_281)
    assert abs(n_rows["select"] - 8_140) < 40, "rows that are equal stay together"
    assert content["before"]["rows"]["sensitive"] == ["race"]
    assert "Before is the model given." in content["how"]
    assert content["favourable"] == 1


def test_cases_that_a_search_wrote(retrain, fairprobe):
    data = ("--data", "loans.csv", "--label", "loan", "--sensitive", "sex")
    assert fairprobe("search", "--model", "clf:fitted", *data, "--max-cases", 60, "--out", "cases.csv").code == 0
    command = ["--held-out", "test.csv", "--cases", "cases.csv", "--augment", "twins", "--json"]
    content = content_of(retrain(*command, model="clf:fitted"))
    assert content["n_cases"] >= 60
    assert content["rounds"][0]["augment"] == "twins"


def test_cases_with_labels(retrain, folder):
    cases = pd.DataFrame({"age": range(20, 60), "sex": 0, "pay": 65, "loan": "yes"})
    cases.to_csv(folder / "cases.csv", index=False)
    content = content_of(retrain("--cases", "cases.csv", "--labels", "given", "--augment", "twins", "--json"))
    assert content["n_cases"] == 40


def test_model_is_written_and_answers_as_was_said(retrain, folder):
    outcome = retrain(*FEW, "--held-out", "test.csv", "--out", "new.skops", "--json", "--report-inputs", 2000)
    content = content_of(outcome)
    assert content["out"] == "new.skops"
    assert not list(folder.glob(".*"))
    model, test = loaded(folder / "new.skops"), pd.read_csv(folder / "test.csv")
    twins = test[INPUTS].assign(sex=1 - test["sex"])
    answers = model.predict(test[INPUTS])
    # The report's rows are half of these: both halves are near.
    assert np.mean(answers == test["loan"]) == pytest.approx(content["accuracy_after"], abs=0.05)
    assert np.mean(answers != model.predict(twins)) == pytest.approx(content["after"]["rows"]["value"], abs=0.05)


def test_how_to_load_the_model(retrain, folder, capsys):
    outcome = retrain(*FEW, "--out", "new.skops")
    assert "Written: new.skops" in outcome.out
    python, option, code = shlex.split(outcome.out.split("To load the model:\n")[1].splitlines()[0])
    assert (python, option) == ("python", "-c")
    exec(code, {})
    assert capsys.readouterr().out == "DecisionTreeClassifier(max_depth=6, random_state=0)\n"
    assert "As options of other commands:\n  --model new.skops\n" in outcome.out


def test_the_types_that_its_own_file_needs_to_be_trusted_are_named(fairprobe, retrain, folder, capsys):
    """Whoever copies what is printed can load it; a tree of neighbours is not known to be harmless."""
    (folder / "near.py").write_text(NEIGHBOURS)
    outcome = retrain("--augment", "flip,twins", "--max-accuracy-loss", 1, "--out", "new.skops", model="near:model")
    code, options = (outcome.out.split(title)[1].splitlines()[1].strip() for title in ("load the model:", "commands:"))
    assert options.count("--trust=sklearn.") == 2
    exec(shlex.split(code)[2], {})
    assert "KNeighborsClassifier" in capsys.readouterr().out
    (folder / "one.csv").write_text("age,sex,pay\n30,0,20\n30,1,20\n")
    fairprobe("estimate", *shlex.split(options), "--data", "one.csv", "--sensitive", "sex").says()


def test_no_round_accepted(retrain, folder):
    retrain("--augment", "twins", "--max-rounds", 1, "--out", "new.skops").says(
        "a clone of the model given is returned, as no round was accepted: ",
        "Nothing is written to new.skops, as no round was accepted.",
        code=4,
    )
    assert not (folder / "new.skops").exists()


def test_a_file_that_is_there_is_replaced_if_that_is_asked_for(retrain, folder):
    (folder / "new.skops").write_text("older")
    outcome = retrain(*FEW, "--out", "new.skops", "--overwrite").says()
    assert "older" not in outcome.out
    assert type(loaded(folder / "new.skops")).__name__ == "DecisionTreeClassifier"


def test_dry_run_says_what_it_would_do_and_writes_nothing(retrain, folder):
    before = sorted(folder.iterdir())
    outcome = retrain("--dry-run", "--out", "new.skops", "--labels", "vote", "--seed", 3)
    parts = ("--augment twins+flip, twins, flip, case", "--max-rounds 2", "--out new.skops", "--seed 3")
    said = " ".join(outcome.says("A dry run: this is what retraining would do. Nothing is written.").out.split())
    for part in (*parts, "--report-inputs 500", "retraining no limit about "):
        assert part in said
    assert sorted(path for path in folder.iterdir() if path.name != "__pycache__") == before


def test_dry_run_in_json(retrain, folder):
    pd.DataFrame({"age": [20], "sex": 0, "pay": 65}).to_csv(folder / "cases.csv", index=False)
    command = ["--dry-run", "--json", "--held-out", "test.csv", "--cases", "cases.csv", "--augment", "twins"]
    content = content_of(retrain(*command, "--max-rounds", 30, model="clf:fitted"))
    assert content["dry_run"] is True
    settings, n_rows = content["settings"], content["settings"]["n_rows"]
    assert (n_rows["fit"], n_rows["select"] + n_rows["report"]) == (600, 400)
    assert abs(n_rows["select"] - 200) <= 4, "rows that are equal stay together"
    assert (settings["max_rounds"], settings["n_cases"], settings["cases"]) == (7, 1, "cases.csv")
    assert content["seconds"] == {"retraining": settings["max_seconds"]}
