"""What a model eats: arrays or frames as it was fitted, with the right columns, dtypes and values."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fairprobe import Category, Domain, Integer, Ordinal, Real, datasets
from fairprobe.errors import DataError, SettingError
from fairprobe.model import Asker
from fairprobe.model.forms import ArrayForm, FrameForm, ObjectForm
from random_domains import domains, inputs, numeric_parameters

SEX = Category("sex", ["Female", "Male"])
NUMBERS = Domain([Integer("age", 17, 90), Integer("hours", 0, 40, 5), Integer("sex", 0, 1)], sensitive=["sex"])
WORDS = Domain([Integer("age", 17, 90), SEX, Category("job", ["a", "b", "c"])], sensitive=["sex"])


class Spy:
    """A callable that keeps the batches it gets, and says 0."""

    def __init__(self):
        self.batches = []

    def __call__(self, batch):
        self.batches.append(batch)
        return np.zeros(len(batch), dtype=int)


class SpyModel(Spy):
    def predict(self, batch):
        return self(batch)


def asked(model, domain, n=20, **options):
    codes = domain.sample_codes(n, np.random.default_rng(0))
    Asker(model, domain, **options).ask(codes)
    return model.batches[-1], codes


S = Integer("s", 0, 1)


@pytest.mark.parametrize(
    ("domain", "dtype"),
    [
        (NUMBERS, np.int64),
        (WORDS, None),
        (Domain([Category("a", [False, True]), Integer("b", 0, 3), SEX], sensitive=["sex"]), None),
        (Domain([Category("a", [False, True]), Integer("b", 0, 3), S], sensitive=["s"]), np.float64),
        (Domain([Ordinal("size", ["S", "M"]), S], sensitive=["s"]), None),
        (Domain([Integer("x", 0, 9, dtype="Int64"), S], sensitive=["s"]), np.int64),
        (Domain([Integer("x", 0, 9, missing=True), S], sensitive=["s"]), np.float64),
        (Domain([Category("x", [1, 2.5]), S], sensitive=["s"]), np.float64),
    ],
)
def test_a_callable_gets_an_array_if_all_is_numbers_otherwise_a_frame(domain, dtype):
    batch, codes = asked(Spy(), domain)
    if dtype is None:
        pd.testing.assert_frame_equal(batch, domain.decode(codes))
    else:
        assert type(batch) is np.ndarray
        assert batch.dtype == dtype
        np.testing.assert_array_equal(batch, as_numbers(domain, codes))
        assert asked(SpyModel(), domain)[0].dtype == dtype


@pytest.mark.parametrize("model", [Spy, SpyModel])
def test_batch_overrides(model):
    with pytest.raises(SettingError, match="batch must be 'array', 'frame' or None, got 'list'"):
        Asker(model(), NUMBERS, batch="list")
    batch, codes = asked(model(), NUMBERS, batch="frame")
    pd.testing.assert_frame_equal(batch, NUMBERS.decode(codes))
    batch, codes = asked(model(), WORDS, batch="array")
    assert batch.dtype == object
    assert batch.tolist() == WORDS.decode(codes).to_numpy(dtype=object).tolist()


def training_frame(domain, n=300):
    frame = domain.sample(n, seed=0)
    return frame, (frame.iloc[:, 0].rank() > n / 2).astype(int)


@pytest.mark.parametrize("columns", [["sex", "age", "hours"], None])
@pytest.mark.filterwarnings("error")
def test_a_model_gets_what_it_was_fitted_on_without_a_warning(columns):
    frame, y = training_frame(NUMBERS)
    rows = frame.to_numpy() if columns is None else frame[columns]
    model = DecisionTreeClassifier(random_state=0).fit(rows, y)
    codes = NUMBERS.sample_codes(50, np.random.default_rng(0))
    asker = Asker(model, NUMBERS)
    answer, families = asker.ask(codes), asker.ask_families(codes)
    whole = NUMBERS.decode(codes)
    expected = model.predict(whole.to_numpy() if columns is None else whole[columns])
    assert isinstance(asker.form, ArrayForm if columns is None else FrameForm)
    np.testing.assert_array_equal(answer, expected)
    assert families.shape == (2, 50)


def test_a_pipeline_fitted_on_objects_gets_objects():
    frame, y = training_frame(WORDS)
    rows = frame.to_numpy(dtype=object)
    model = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(rows, y)
    asker = Asker(model, WORDS)
    assert isinstance(asker.form, ObjectForm)
    codes = WORDS.encode(frame)
    np.testing.assert_array_equal(asker.ask(codes), model.predict(rows))


@pytest.mark.parametrize(
    ("fit_on", "message"),
    [
        (lambda frame: frame.assign(extra=1, more=2), "fitted on must be a parameter, got no extra, more"),
        (
            lambda frame: frame[["age", "sex"]],
            "must be a column that DecisionTreeClassifier was fitted on, got hours: leave it out",
        ),
        (lambda frame: frame[["age", "sex"]].to_numpy(), r"was fitted on 2 columns, .* got 3: age, hours, sex"),
    ],
)
def test_columns_that_do_not_fit(fit_on, message):
    frame, y = training_frame(NUMBERS)
    with pytest.raises(DataError, match=message):
        Asker(DecisionTreeClassifier().fit(fit_on(frame), y), NUMBERS)


def test_text_as_plain_strings_is_the_same_text():
    """What a known pipeline is given holds the very values and dtypes; what anybody else is given is as in the data."""
    X, y = (part.head(4000) for part in datasets.load_census(encoded=False))
    text = [name for name in X if X[name].dtype.kind not in "if"]
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)
    columns = make_column_transformer((encoder, text), remainder="passthrough")
    model = make_pipeline(columns, DecisionTreeClassifier(max_depth=9, random_state=0)).fit(X, y)
    domain = Domain.from_frame(X, ["sex"])
    codes = domain.sample_codes(500, np.random.default_rng(0))
    plain, whole = Asker(model, domain).form.rows(codes), domain.decode(codes)
    for name in text:
        assert plain[name].dtype == "str" or plain[name].dtype == object  # pandas 2
        assert plain[name].astype(object).equals(whole[name].astype(object))
        assert getattr(plain[name].dtype, "storage", "python") == "python"
    assert (model.predict(plain) == model.predict(whole)).all()

    class Own(type(model)):
        """May look at what pandas holds text as."""

    model.__class__ = Own
    given = Asker(model, domain).form.rows(codes)
    assert given.dtypes.equals(whole.dtypes[list(given)])


@pytest.mark.parametrize(
    ("parameter", "kind", "dtype"),
    [
        (Integer("x", 0, 2**24), DecisionTreeClassifier, np.float32),
        (Integer("x", -(2**24), 0), DecisionTreeRegressor, np.float32),
        (Integer("x", 0, 9), LogisticRegression, np.float64),
        (Integer("x", 0, 2**24 + 1), DecisionTreeClassifier, np.float64),
        (Category("x", [1, 2**24 + 1, 2]), DecisionTreeClassifier, np.float64),
        (Real("x", 0, 1, 0.1), DecisionTreeClassifier, np.float64),
    ],
)
def test_trees_get_float32_where_that_is_exact(parameter, kind, dtype):
    domain = Domain([parameter, Integer("s", 0, 1)], sensitive=["s"])
    codes = domain.sample_codes(200, np.random.default_rng(0))
    rows = np.column_stack([p.numbers(codes[:, c]) for c, p in enumerate(domain.parameters)])
    output = "value" if kind is DecisionTreeRegressor else "label"
    assert Asker(kind().fit(rows, codes[:, 0] % 2), domain, output=output).form.dtype == dtype


def as_numbers(domain, codes):
    columns = [p.decode(codes[:, c]) for c, p in enumerate(domain.parameters)]
    return np.column_stack([pd.Series(column).to_numpy(dtype=np.float64, na_value=np.nan) for column in columns])


@given(st.data(), domains(kinds=numeric_parameters))
def test_arrays_hold_the_decoded_numbers(data, domain):
    codes = data.draw(inputs(domain))
    spy = Spy()
    Asker(spy, domain).ask(codes)
    assert isinstance(spy.batches[0], np.ndarray)
    np.testing.assert_array_equal(spy.batches[0].astype(np.float64), as_numbers(domain, codes))


def same(one, other):
    if isinstance(one, pd.DataFrame):
        pd.testing.assert_frame_equal(one, other)
    else:
        assert one.shape == other.shape
        pairs = zip(one.ravel().tolist(), other.ravel().tolist(), strict=True)
        assert all(type(a) is type(b) and (pd.isna(a) or a == b) for a, b in pairs)


@given(st.data(), domains(), st.sampled_from([ObjectForm, lambda domain: FrameForm(domain, domain.names[::-1])]))
def test_families_are_the_rows_of_the_families(data, domain, make):
    codes, form = data.draw(inputs(domain)), make(domain)
    same(form.families(codes), form.rows(domain.families.members(codes)))
