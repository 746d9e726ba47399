"""Wrong use of `fairprobe retrain` and bad input (exit code 2), and models that fail (3): no traceback."""

import pandas as pd
import pytest
import skops.io

DATA = ("--data", "loans.csv", "--label", "loan", "--sensitive", "sex")


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--augment", "more"], ["--augment must be auto, or case, twins, flip", "'more'"]),
        (["--augment", "twins,more"], ["--augment must be", "'more'"]),
        (["--augment", ","], ["--augment must name", "got none"]),
        (["--labels", "given"], ["--labels given needs --cases"]),
        (["--max-accuracy-loss", "2"], ["--max-accuracy-loss must lie between 0 and 1", "got 2"]),
        (["--max-rounds", "none"], ["--max-rounds", "'none'"]),
        (["--out", "new.pkl"], ["--out must end in .skops;", "'new.pkl'"]),
        (["--favourable", "maybe"], ["--favourable must be a label of the rows, one of 'no', 'yes'; got 'maybe'"]),
        (["--held-out", "absent.csv"], ["No such file", "absent.csv"]),
        (["--cases", "absent.csv"], ["No such file", "absent.csv"]),
    ],
)
def test_wrong_option_is_refused_before_the_model_is_loaded(retrain, arguments, parts):
    retrain(*arguments, model="no_such_module:model").refuses(*parts)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ([], ["--model"]),
        (["--model", "clf:tree"], ["--data must name the rows to fit to", "subject:NAME"]),
        (["--model", "clf:tree", "--data", "loans.csv"], ["--label must name the column"]),
        (["--model", "clf:tree", "--data", "loans.csv", "--label", "loans"], ["--label must be one of", "'loans'"]),
        (["--model", "clf:tree", "--data", "loans.csv", "--label", "loan"], ["--sensitive must name", "age, sex, pay"]),
        (["--model", "clf:tree", "--data", "absent.csv", "--label", "loan"], ["No such file", "absent.csv"]),
        (["--model", "subject:mlp", "--held-out", "test.csv"], ["--held-out goes with --data"]),
        (["--model", "subject:mlp", "--label", "loan"], ["--label is about the columns of --data"]),
        (["--model", "subject:mlp", "--domain", "domain.toml"], ["the census must have a column", "none for pay"]),
    ],
)
def test_incomplete_command(retrain, fairprobe, arguments, parts):
    fairprobe("retrain", *arguments).refuses(*parts)


@pytest.mark.parametrize(
    ("model", "parts"),
    [
        ("toys:flips", ["must have fit", "got function", "give trainer= in Python"]),
        ("clf:DecisionTreeClassifier", ["must be an instance", "the class DecisionTreeClassifier"]),
        ("clf:frozen", ["scikit-learn can clone", "Frozen"]),
    ],
)
@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_model_that_cannot_be_retrained(retrain, model, parts, dry):
    retrain(*dry, model=model).refuses(*parts)


def unknown(n):
    return lambda rows: rows.assign(loan=rows["loan"].where(rows.index >= n))


@pytest.mark.parametrize(
    ("file", "change", "parts"),
    [
        ("loans.csv", unknown(2), ["got 2 of 600 in loans.csv without loan"]),
        ("loans.csv", lambda rows: rows.drop(columns="loan"), ["--label must be one of the columns age, sex, pay"]),
        ("test.csv", unknown(1), ["got 1 of 400 in test.csv without loan"]),
        ("test.csv", lambda rows: rows.drop(columns="loan"), ["--held-out test.csv: --label must be one of"]),
        ("test.csv", lambda rows: rows.drop(columns="pay"), ["--held-out test.csv must have a column", "every", "pay"]),
        ("test.csv", lambda rows: rows.assign(zip=8000), ["every column of --held-out test.csv must be", "zip"]),
    ],
)
def test_rows_that_cannot_be_used(retrain, folder, file, change, parts):
    change(pd.read_csv(folder / file)).to_csv(folder / file, index=False)
    retrain(*(["--held-out", file] if file == "test.csv" else [])).refuses(*parts)


@pytest.mark.parametrize(
    ("cases", "arguments", "parts"),
    [
        ({"age": [30, 100], "sex": 1, "pay": 5}, [], ["--cases must lie in the domain", "1 of 2 outside", "age=100"]),
        ({"age": [30], "pay": 5}, [], ["--cases must have a column for every parameter", "sex"]),
        ({"age": [30], "sex": 1, "pay": 5}, ["--labels", "given"], ["--labels given", "a column 'loan'"]),
    ],
)
def test_cases_that_cannot_be_used(retrain, folder, cases, arguments, parts):
    pd.DataFrame(cases).to_csv(folder / "cases.csv", index=False)
    retrain("--cases", "cases.csv", *arguments).refuses(*parts)


def test_model_that_cannot_be_fitted(retrain):
    outcome = retrain(model="clf:never_fits")
    outcome.refuses("the model must fit the rows, got RuntimeError: out of memory", code=3)
    assert outcome.out == ""


def test_model_that_fails_in_a_later_round(retrain, folder):
    outcome = retrain("--max-rounds", 5, "--augment", "flip,twins", "--out", "new.skops", model="clf:fails_later").says(
        code=3
    )
    assert "Traceback" not in outcome.err
    assert "error: the model must fit the rows, got RuntimeError: the disk is on fire" in outcome.err
    assert outcome.err.count("the disk is on fire") == 1
    assert "; written: new.skops" in outcome.err
    assert "Shares and accuracy, " in outcome.out
    assert "The same again" not in outcome.out
    assert (folder / "new.skops").exists()


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_model_that_skops_cannot_write_is_refused_before_the_work_starts(retrain, dry):
    outcome = retrain("--out", "new.skops", *dry, model="clf:with_lambda")
    outcome.refuses("must be one that skops can write and read again, got AttributeError", "<lambda>", "--out")


def test_model_that_fitting_makes_one_that_skops_cannot_write(retrain, folder):
    (folder / "new.skops").write_text("older")
    outcome = retrain("--augment", "flip,twins", "--out", "new.skops", "--overwrite", model="clf:noting").says(code=3)
    assert (
        "error: a model that is written must be one that skops can write and read again, got AttributeError"
        in outcome.err
    )
    assert "Traceback" not in outcome.err
    assert "Shares and accuracy, " in outcome.out
    assert "To load the model" not in outcome.out
    assert (folder / "new.skops").read_text() == "older"
    assert not list(folder.glob(".*"))


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_a_file_that_is_there_is_refused_before_the_work_starts(retrain, folder, dry):
    (folder / "new.skops").write_text("older")
    outcome = retrain("--out", "new.skops", *dry, model="no_such_module:model")
    outcome.refuses("--out must name a file that is not there yet, got new.skops: --overwrite allows to replace it")
    assert (folder / "new.skops").read_text() == "older"


def test_interrupted_retraining_keeps_the_rounds_done(retrain, folder):
    done = retrain("--augment", "flip,twins", "--max-rounds", "3", "--out", "new.skops", model="clf:interrupted").says(
        code=130
    )
    first, last = done.err.splitlines()
    assert first.startswith("round 1: ")
    assert last.startswith("interrupted; kept: ")
    assert last.endswith("; written: new.skops")
    assert "Shares and accuracy, " in done.out
    assert "Stopped because it was interrupted" in done.out
    assert "The same again" not in done.out
    path = folder / "new.skops"
    assert "clf.Interrupted" in skops.io.get_untrusted_types(file=path)


def test_running_retraining_on_a_terminal(retrain, terminal):
    done = retrain("--max-rounds", "1", model="clf:slow").says()
    assert "fitting the model to compare with" in done.err
    assert "round 1: twins of 10% cases + all rows flipped (+" in done.err
    assert "fitting the model" not in done.out
