"""Asking: counts, threads, checks of the answers, and errors that name the first bad row."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import threadpoolctl
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from fairprobe import Category, Domain, Integer, audit, estimate
from fairprobe.errors import ModelError, SettingError
from fairprobe.model.asking import Asker
from fairprobe.model.threads import WORTH, Threads

DOMAIN = Domain([Integer("age", 17, 90), Integer("hours", 0, 99), Integer("sex", 0, 1)], sensitive=["sex"])
CODES = DOMAIN.sample_codes(40, np.random.default_rng(0))
ROWS = DOMAIN.decode(CODES)
LABELS = (ROWS["age"] + ROWS["hours"] > 100).astype(int).to_numpy()


def ask(model, output="label", codes=CODES, **options):
    return Asker(model, DOMAIN, output=output, **options).ask(codes)


def described(row):
    return f"age={ROWS['age'][row]}, hours={ROWS['hours'][row]}, sex={ROWS['sex'][row]}"


def test_families_come_by_combination():
    parameters = [Integer("a", 0, 2), Integer("x", 0, 9), Category("b", ["u", "v"])]
    domain = Domain(parameters, sensitive=["b", "a"])  # not in the order of the columns
    codes = domain.sample_codes(6, np.random.default_rng(0))
    answers = Asker(lambda frame: frame["a"] + 10 * frame["x"] + 100 * (frame["b"] == "v"), domain).ask_families(codes)
    assert answers.shape == (6, 6)
    for row, (b, a) in enumerate([(b, a) for b in (0, 1) for a in (0, 1, 2)]):
        np.testing.assert_array_equal(answers[row], a + 10 * codes[:, 1] + 100 * b)


@pytest.mark.parametrize(
    "answer",
    [
        lambda X: (X[:, 0] > 50).tolist(),
        lambda X: X[:, 0] > 50,
        lambda X: pd.Series(X[:, 0] > 50, index=range(5, 5 + len(X))),
        lambda X: (X[:, 0] > 50)[:, None],
        lambda X: pd.DataFrame({"label": X[:, 0] > 50}),
        lambda X: (X[:, 0] > 50).astype(object),
    ],
)
def test_answers_may_come_in_many_shapes(answer):
    assert ask(answer).tolist() == (ROWS["age"] > 50).tolist()


@pytest.mark.parametrize("labels", [("no", "yes"), (b"n", b"y"), (0.5, 1.5)])
def test_labels_may_be_anything(labels):
    got = ask(lambda X: [labels[int(age > 50)] for age in X[:, 0]])
    assert got.tolist() == [labels[int(age > 50)] for age in ROWS["age"]]


@pytest.mark.parametrize(
    ("answer", "output", "message"),
    [
        (lambda X: X[:-1, 0], "label", r"output='label' of the shape \(40,\), got \(39,\)"),
        (lambda X: X, "label", r"output='label' of the shape \(40,\), got \(40, 3\)"),
        (lambda X: 1, "label", r"output='label' of the shape \(40,\), got \(\)"),
        (lambda X: X, "value", r"output='value' of the shape \(40,\), got \(40, 3\)"),
        (lambda X: X[:, 0], "proba", r"output='proba' of the shape \(40, classes\), got \(40,\)"),
        (lambda X: X[None], "score", r"output='score' of the shape \(40,\), got \(1, 40, 3\)"),
        (lambda X: [[1], [2, 3]], "label", "the model must give one answer a row, got list"),
        (lambda X: (x for x in X), "label", "the model must give"),
        (lambda X: ["yes"] * len(X), "score", "needs numbers, got .*yes.* for .*: use output='label'"),
    ],
)
def test_an_answer_of_another_shape(answer, output, message):
    with pytest.raises(ModelError, match=message):
        ask(answer, output)


def at_row(row, bad, good):
    return lambda X: np.array([bad if place == row else good for place in range(len(X))])


@pytest.mark.parametrize("row", [0, 39])
@pytest.mark.parametrize(
    ("bad", "good", "output", "message"),
    [
        (np.nan, 1.0, "label", "a label for every row, got nan for "),
        (None, "a", "label", "a label for every row, got None for "),
        (np.nan, 1.0, "score", "a finite number for every row, got nan for "),
        (np.inf, 1.0, "value", "a finite number for every row, got inf for "),
    ],
)
def test_the_first_bad_row_is_named(row, bad, good, output, message):
    with pytest.raises(ModelError, match=message + described(row)):
        ask(at_row(row, bad, good), output)


@pytest.mark.parametrize("bad", [(1.5, -0.5), (0.2, -3.0), (7.0, 0.5)])
def test_a_probability_is_a_number_from_0_to_1(bad):
    def model(X):
        answers = np.full((len(X), 2), 0.5)
        answers[3] = bad
        return answers

    with pytest.raises(ModelError, match=r"a probability from 0 to 1 for every class, got .* for age="):
        ask(model, "proba")
    assert ask(lambda X: np.full((len(X), 2), (1 + 1e-9, -1e-9)), "proba").max() > 1


@pytest.mark.parametrize("population", [None, ROWS], ids=["domain", "rows"])
@pytest.mark.parametrize(
    "make", [lambda sex: (1, sex), lambda sex: [sex], lambda sex: {sex}, lambda sex: np.array([sex, 1])]
)
def test_a_label_is_one_value(make, population):
    def model(X):
        answers = np.empty(len(X), dtype=object)
        for place, sex in enumerate(X[:, 2]):
            answers[place] = make(sex)
        return answers

    with pytest.raises(ModelError, match=r"must be one text, number or truth value, got .* for age=\d+, .*: join"):
        estimate(model, DOMAIN, "domain" if population is None else population)


@pytest.mark.parametrize("dtype", ["int64", "uint64", object])
def test_whole_numbers_that_floats_do_not_tell_apart_are_refused(dtype):
    def model(X):
        return np.array([2**60 + sex for sex in X[:, 2].tolist()], dtype=dtype)

    with pytest.raises(ModelError, match=r"whole numbers of at most 2\*\*53.*subtract or divide"):
        estimate(model, DOMAIN, ROWS, output="value", threshold=0.5)
    fits = estimate(lambda X: model(X) - 2**60, DOMAIN, ROWS, output="value", threshold=0.5)
    assert fits.value == 1.0


@pytest.mark.parametrize(
    ("low", "high", "threshold", "is_said"),
    [(1.0, 1.1, 0.1, True), (0.2, 0.3, 0.1, True), (1.0, 1.5, 0.5, False), (2.0**55, 2.0**55, 1, True)],
)
@pytest.mark.parametrize("population", [None, ROWS], ids=["domain", "rows"])
@pytest.mark.filterwarnings("ignore")
def test_gaps_at_the_rounding_of_a_threshold_are_said(low, high, threshold, is_said, population):
    population = "domain" if population is None else population
    how = {"output": "value", "threshold": threshold}
    share = estimate(lambda X: np.where(X[:, 2] == 1, high, low), DOMAIN, population, **how)
    assert (high - low > threshold) == bool(share.hits)  # as it is computed
    assert ("at-threshold" in dict(share.health)) == is_said


@pytest.mark.parametrize("row", [0, 20, 39])
def test_the_row_it_raises_on_is_named(row):
    def model(X):
        if (ROWS.to_numpy()[row] == X).all(axis=1).any():
            raise ValueError("I cannot")
        return X[:, 0]

    said = "must answer every input of the domain, got ValueError: I cannot; for " + described(row)
    with pytest.raises(ModelError, match=said) as caught:
        ask(model)
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (DecisionTreeClassifier(), "must be fitted, got an unfitted DecisionTreeClassifier: call fit first"),
        (DecisionTreeClassifier, "must be an instance, got the class DecisionTreeClassifier: create and fit"),
        *((model, "a model must have predict or be callable, got") for model in (5, "model", None, object())),
        (SimpleNamespace(predict_proba=len), r"it has predict_proba alone: give a function, .* output='score'"),
    ],
)
def test_what_is_no_model(model, message):
    with pytest.raises(SettingError, match=message):
        Asker(model, DOMAIN)


@pytest.mark.parametrize(
    ("model", "output", "method"),
    [
        (LogisticRegression(), "score", lambda model: model.decision_function),
        (RandomForestClassifier(5), "score", lambda model: lambda rows: model.predict_proba(rows)[:, 1]),
        (RandomForestClassifier(5), "proba", lambda model: model.predict_proba),
        (Ridge(), "value", lambda model: model.predict),
    ],
)
def test_the_method_of_each_output(model, output, method):
    rows = ROWS.to_numpy().astype(float)
    model.fit(rows, LABELS)
    # The last bits of a product may differ by how rows lie in memory.
    np.testing.assert_allclose(ask(model, output), method(model)(rows), atol=1e-9)


def test_scores_of_many_classes_have_a_column_each():
    classes = ROWS["age"].to_numpy() // 30
    forest = RandomForestClassifier(5, random_state=0).fit(ROWS.to_numpy(), classes)
    np.testing.assert_array_equal(ask(forest, "score"), forest.predict_proba(ROWS.to_numpy()))
    machine = SVC(decision_function_shape="ovr").fit(ROWS.to_numpy(), classes)
    assert ask(machine, "score").shape == (40, len(set(classes)))
    answers = Asker(forest, DOMAIN, output="score").ask_families(CODES)
    assert answers.shape == (2, 40, len(set(classes)))


@pytest.mark.parametrize(
    ("model", "output", "message"),
    [
        (LinearSVC(), "proba", "output='proba' needs a model with predict_proba, got LinearSVC"),
        (Ridge(), "score", "output='score' needs a model with decision_function or predict_proba"),
    ],
)
def test_an_output_that_a_model_does_not_have(model, output, message):
    with pytest.raises(SettingError, match=message):
        Asker(model.fit(ROWS.to_numpy(), LABELS), DOMAIN, output=output)


def test_rows_without_a_known_sensitive_value_are_not_asked_about():
    """A model may refuse missing values; those rows are left out of the observed rates, too."""
    rows = pd.DataFrame({"age": np.arange(40) + 20, "sex": ["F", "M", None, "M"] * 10})

    def model(frame):
        assert not frame["sex"].isna().any()
        return np.where((frame["sex"] == "M") & (frame["age"] > 30), "yes", "no")

    options = {"selfcheck": False, "populations": ["rows"], "search_cases": 5, "max_inputs": 200}
    done = audit(model, rows, sensitive=["sex"], favourable="yes", **options)
    assert {each["value"]: each["n"] for each in done.content["impact"]} == {"F": 10, "M": 20}


def in_use():
    return max(each["num_threads"] for each in threadpoolctl.threadpool_info() if each["user_api"] == "openmp")


@pytest.fixture
def two_threads():
    HistGradientBoostingClassifier(max_iter=1).fit(np.arange(20)[:, None], np.arange(20) % 2)  # brings OpenMP along
    with threadpoolctl.threadpool_limits(2, user_api="openmp"):
        yield


def test_a_short_batch_has_one_thread_and_a_long_one_all(two_threads):
    threads = Threads()
    with threads.limited(1000):
        assert in_use() == 1
    assert in_use() == 2
    threads._seconds_a_row = WORTH / 1000
    with threads.limited(1100):
        assert in_use() == 2
    with threads.limited(900):
        assert in_use() == 1


@pytest.mark.parametrize(("cpu", "left"), [(1.4, 2), (1.6, 1)])
def test_threads_that_cost_too_much_rest_for_a_while(two_threads, monkeypatch, cpu, left):
    monkeypatch.setattr(Threads, "alone_until", -np.inf)
    clock = iter([0.0, cpu * WORTH * 1.1])
    monkeypatch.setattr("time.process_time", lambda: next(clock, 0.0))
    threads = Threads()
    threads._seconds_a_row = WORTH / 1000
    with threads.limited(1100):
        assert in_use() == 2
    with Threads.limited(threads, 1100):
        assert in_use() == left


def test_a_limit_ends_with_an_error(two_threads):
    with pytest.raises(ValueError, match="no"), Threads().limited(1000):
        raise ValueError("no")
    assert in_use() == 2


def test_a_model_is_asked_within_the_limit(two_threads):
    seen = []

    def model(X):
        seen.append(in_use())
        return X[:, 0] > 3

    domain = Domain([Integer("x", 0, 9), Integer("sex", 0, 1)], sensitive=["sex"])
    Asker(model, domain).ask(domain.sample_codes(100, np.random.default_rng(0)))
    assert seen[-1] == 1
