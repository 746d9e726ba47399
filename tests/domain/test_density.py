import math
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from fairprobe import Category, Density, Derived, Domain, Integer, Link
from fairprobe.domain.factors import MOST_BINS, Bins, learned
from fairprobe.errors import DataError, DomainError, SettingError
from random_domains import every_input


def people(n=3000, seed=0):
    """Rows with a spike, a dependency, missing values and a wide category."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], n)
    age = rng.integers(18, 91, n)
    married = rng.random(n) < age / 120
    role = np.where(married, np.where(sex == "M", "Husband", "Wife"), np.where(age < 30, "Child", "Single"))
    gain = np.where(rng.random(n) < 0.9, 0, rng.choice([3103, 7688, 15024, *range(2000, 90_000, 777)], n))
    town = np.char.add("t", np.minimum(rng.geometric(0.05, n), 120).astype(str))
    hours = np.where(rng.random(n) < 0.05, np.nan, np.where(rng.random(n) < 0.5, 40.0, rng.integers(1, 99, n)))
    return pd.DataFrame({"age": age, "sex": sex, "role": role, "gain": gain, "town": town, "hours": hours})


SPOUSE = Link("role", "sex", [{"M": "Husband", "F": "Wife"}])


@pytest.fixture(scope="module")
def rows():
    return people()


@pytest.fixture(scope="module")
def domain(rows):
    return Domain.from_frame(rows, sensitive=["sex"])


@pytest.fixture(scope="module")
def density(domain, rows):
    return Density.fit(domain, rows)


def small_domain(**options):
    parameters = [Integer("a", 0, 4), Category("b", ["x", "y", "z"]), Integer("c", 0, 1, missing=True)]
    return Domain([*parameters, Category("sex", ["F", "M"])], sensitive=["sex"], **options)


def small_rows(n=400, seed=1):
    rng = np.random.default_rng(seed)
    a = rng.binomial(4, 0.4, n)
    b = np.where(a > 2, "x", rng.choice(["x", "y"], n))  # z is never seen
    c = np.where(rng.random(n) < 0.2, np.nan, (a + rng.integers(0, 2, n)) % 2)
    return pd.DataFrame({"a": a, "b": b, "c": c, "sex": rng.choice(["F", "M"], n)})


def test_it_is_one_in_all_that_rules_allow():
    domain = small_domain(constraints=["a < 3 or b == 'x'"])
    density = Density.fit(domain, small_rows())
    frame = domain.decode(every_input(domain))
    chances = np.exp(density.log_density(frame))
    assert chances.sum() == pytest.approx(1, abs=0.01)  # what the rules leave is told by a sample
    assert (chances[(frame["a"] >= 3) & (frame["b"] != "x")] == 0).all()


@pytest.mark.parametrize("constraints", [[], ["a < 3 or b == 'x'"]])
def test_samples_are_as_likely_as_it_says(constraints):
    domain = small_domain(constraints=constraints)
    density = Density.fit(domain, small_rows())
    inputs = every_input(domain)
    expected = np.exp(density.log_density(domain.decode(inputs))).to_numpy()
    n = 60_000
    codes = domain.encode(density.sample(n, seed=3))
    counts = np.bincount(np.ravel_multi_index(tuple(codes.T), domain.levels.tolist()), minlength=len(inputs))
    likely = expected * n >= 5
    seen, wanted = (np.append(each[likely], each[~likely].sum()) for each in (counts, expected))
    # Where rules leave only a part, that part is known to within a sample's error.
    assert chisquare(seen, n * wanted / wanted.sum()).pvalue > 1e-6


def test_wide_columns_have_the_same_tables_as_without_tables(domain, density, monkeypatch):
    codes = domain.sample_codes(500, np.random.default_rng(0))
    before = density.log_chances(codes)
    monkeypatch.setattr("fairprobe.domain.factors.MOST_TABLE", 0)
    assert np.array_equal(pickle.loads(pickle.dumps(density)).log_chances(codes), before)


def test_it_knows_spikes_wide_categories_and_missing_values(rows, density):
    sampled = density.sample(20_000, seed=1)
    for column, value in (("gain", 0), ("hours", 40.0)):
        assert (sampled[column] == value).mean() == pytest.approx((rows[column] == value).mean(), abs=0.03)
    assert sampled["hours"].isna().mean() == pytest.approx(0.05, abs=0.01)
    top = rows["town"].value_counts(normalize=True)[:5]
    assert sampled["town"].value_counts(normalize=True)[top.index].to_numpy() == pytest.approx(top.to_numpy(), abs=0.02)
    assert len(density.bins[4]) == MOST_BINS < sampled["town"].nunique()
    # Which values come again within a bin is learned: 7,688 does, its neighbours do not.
    near = sampled["gain"].between(7_650, 7_750) & (sampled["gain"] != 7_688)
    assert (sampled["gain"] == 7_688).sum() > 10 * near.sum()


def test_a_number_that_never_comes_again_is_spread_evenly():
    codes = np.random.default_rng(0).choice(10**6, 2000, replace=False)
    bins = Bins.of_rows(Integer("n", 0, 10**6 - 1), codes)
    assert bins.strength == 1e9
    drawn = bins.draw(np.zeros(1000, dtype=np.int64), np.random.default_rng(1))
    assert len(np.intersect1d(drawn, codes)) < 20


@given(st.data())
def test_bins_hold_every_level_once(data):
    n_levels = data.draw(st.integers(2, 300))
    codes = np.array(data.draw(st.lists(st.integers(0, n_levels - 1), min_size=1, max_size=200)))
    kind = data.draw(st.sampled_from(["integer", "category", "missing"]))
    if kind == "category":
        parameter = Category("p", [str(i) for i in range(n_levels)])
    else:
        parameter = Integer("p", 0, n_levels - 1 - (kind == "missing"), missing=kind == "missing")
    bins = Bins.of_rows(parameter, codes)
    every, logs = bins.bins_of(np.arange(n_levels)), bins.log_parts(np.arange(n_levels))
    assert bins.sizes.sum() == n_levels
    assert (bins.sizes > 0).all()
    assert np.bincount(every).tolist() == bins.sizes.tolist()
    assert bins.rows.sum() == len(codes)
    for number in range(len(bins)):
        assert np.exp(logs[every == number]).sum() == pytest.approx(1)
    drawn = bins.draw(every, np.random.default_rng(0))
    assert np.array_equal(bins.bins_of(drawn), every)
    if kind == "missing":
        assert bins.sizes[every[-1]] == 1  # no number is mixed with a missing value


def test_columns_that_tell_nothing_are_not_looked_at():
    bins = np.random.default_rng(0).integers(0, 5, (5000, 6))
    assert all(not factor.parents for factor in learned(bins, [5] * 6))


def test_it_sees_what_a_tree_cannot():
    """A column that tells something only beside another."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 4000))
    c = np.where(rng.random(4000) < 0.3, a, (a + b) % 2)
    table = np.column_stack([a, b, c])
    rows = [table[:, column] for column in range(3)]
    scores = [sum(f.log_chances(rows).sum() for f in learned(table, [2] * 3, most)) for most in (3, 1)]
    assert scores[0] > scores[1] + 100


def test_plausibility_is_the_part_of_held_out_rows_that_are_no_likelier(domain, rows, density):
    some = rows.iloc[:50]
    said, logs = density.plausibility(some), density.log_density(some)
    assert said.index.equals(some.index)
    expected = [(density.held_out <= log + density._log_mass).mean() for log in logs]
    assert said.tolist() == expected
    others = density.plausibility(people(4000, seed=9))
    assert np.quantile(others, [0.05, 0.5, 0.95]) == pytest.approx([0.05, 0.5, 0.95], abs=0.04)
    assert (density.plausibility_of(domain.sample_codes(2000, np.random.default_rng(0))) < 0.01).mean() > 0.9


@given(least=st.floats(0, 1, exclude_max=True))
def test_the_floor_is_where_the_plausibility_is_reached(density, domain, least):
    codes = domain.encode(people(300, seed=2), nearest=True)
    codes = codes[domain.contains(codes)]
    above = density.log_chances(codes) >= density.floor(least)
    assert np.array_equal(above, density.plausibility_of(codes) >= least - 1e-9)


def test_no_sample_is_below_the_floor(density):
    codes = density.sample_codes(5000, np.random.default_rng(0), density.floor(0.3))
    assert len(codes) == 5000
    assert (density.plausibility_of(codes) >= 0.3).all()


def test_rows_outside_are_not_plausible(density):
    row = {"age": 40, "sex": "M", "role": "Husband", "gain": 0, "town": "t1", "hours": 40.0}
    odd = pd.DataFrame([row, {**row, "age": 200}, {**row, "town": "nowhere"}])
    assert density.plausibility(odd)[1:].tolist() == [0, 0]
    assert density.plausibility(odd)[0] > 0
    assert density.log_density(odd)[1:].tolist() == [-math.inf, -math.inf]


def test_derived_columns_follow_and_are_no_part_of_it(rows):
    years = {role: number for number, role in enumerate(["Child", "Single", "Husband", "Wife"])}
    data = rows.assign(rank=rows["role"].map(years))
    domain = Domain.from_frame(data, sensitive=["sex"], parameters=[Derived("rank", "role", years)])
    density = Density.fit(domain, data)
    assert len(density.bins) == 6
    sampled = density.sample(500, seed=0)
    assert (sampled["rank"] == sampled["role"].map(years)).all()
    assert density.plausibility(sampled).gt(0).all()


def test_rules_and_links_are_kept(rows):
    domain = Domain.from_frame(rows, sensitive=["sex"], constraints=["gain == 0 or age > 25"], links=[SPOUSE])
    density = Density.fit(domain, rows)
    assert density.n_left_out == int(((rows["gain"] > 0) & (rows["age"] <= 25)).sum())
    sampled = density.sample(5000, seed=0)
    assert ((sampled["gain"] == 0) | (sampled["age"] > 25)).all()
    assert not ((sampled["role"] == "Husband") & (sampled["sex"] == "F")).any()
    row = {"age": 40, "sex": "F", "role": "Husband", "gain": 0, "town": "t1", "hours": 40.0}
    assert density.plausibility(pd.DataFrame([row])).tolist() == [0]
    assert density.within(domain.without_links()).plausibility(pd.DataFrame([row])).tolist() != [1]


def test_it_can_be_printed(density):
    assert repr(density) == "Density(6 columns, fitted to 2,400 rows, held against 600 others)"
    lines = density.describe().splitlines()
    assert len(lines) == 7
    assert any("role" in line and "given" in line and "sex" in line for line in lines)


def test_its_hash_follows_from_its_content(density, rows):
    again, other = (Density.fit(density.domain, each) for each in (rows, rows.iloc[:-5]))
    assert again.digest == density.digest != other.digest
    assert density.within(density.domain.with_constraints(["age > 20"])).digest != density.digest


def test_a_density_of_another_domain_is_refused(density, rows):
    other = Domain.from_frame(rows[["age", "sex", "role"]], sensitive=["sex"])
    with pytest.raises(DomainError, match="this domain has the parameters age, sex, role; fit it again"):
        density.within(other)
    younger = Domain.from_frame(rows[rows["age"] < 60], sensitive=["sex"])
    with pytest.raises(DomainError, match="this domain has another 'age'; fit it again"):
        density.within(younger)


@pytest.mark.parametrize("n", [1, 19])
def test_too_few_rows(domain, rows, n):
    with pytest.raises(DataError, match=f"needs 20 rows at least that are inputs of the domain, got {n} of {n}"):
        Density.fit(domain, rows.iloc[:n])


def test_few_rows_are_said(domain, rows):
    density = Density.fit(domain, rows.iloc[:40])
    said = "8 rows were held out to say what is plausible, so a plausibility is a multiple of 0.12"
    assert density.health == (("few-rows", said),)


def test_a_column_that_is_all_missing(domain, rows):
    absent = rows.assign(hours=np.nan)
    assert Density.fit(domain, absent).sample(500, seed=0)["hours"].isna().mean() > 0.95
    with pytest.raises(DataError, match="got 0 of 3,000: 3,000 have a value of 'town' that is none of the domain's"):
        Density.fit(domain, rows.assign(town=None))


def test_rules_that_rows_never_keep(rows, monkeypatch):
    monkeypatch.setattr("fairprobe.domain.density.PATIENCE", 20_000)
    domain = Domain.from_frame(rows, sensitive=["sex"])
    density = Density.fit(domain, rows).within(domain.with_constraints(["gain == 1"]))
    with pytest.raises(DomainError, match="must allow what the rows are like, got none of"):
        density.sample(10)


def test_a_floor_that_no_input_reaches(density, monkeypatch):
    monkeypatch.setattr("fairprobe.domain.density.PATIENCE", 20_000)
    with pytest.raises(SettingError, match=r"must be one that inputs reach, .* the highest seen is"):
        density.sample_codes(10, np.random.default_rng(0), 0.0)
