from __future__ import annotations

import csv
import gzip
import os
import subprocess
import sys
import zipfile
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairprobe.datasets import CENSUS_WORDS, census_domain, describe_census, load_census
from fairprobe.errors import DataError

N_ROWS = {"train": 32_561, "test": 16_281}

# Written apart from the package's own tables: width of a number's code, or the words in order.
ENCODING: dict[str, int | str] = {
    "age": 10,
    "workclass": ("Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked"),
    "fnlwgt": 20000,
    "education": (
        "Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th 12th Masters 1st-4th 10th "
        "Doctorate 5th-6th Preschool"
    ),
    "marital-status": (
        "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent Married-AF-spouse"
    ),
    "occupation": (
        "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners "
        "Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv Armed-Forces"
    ),
    "relationship": "Wife Own-child Husband Not-in-family Other-relative Unmarried",
    "race": "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black",
    "sex": "Female Male",
    "capital-gain": 1000,
    "capital-loss": 100,
    "hours-per-week": 1,
    "native-country": (
        "United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc) India Japan Greece South "
        "China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam Mexico Portugal Ireland France "
        "Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary Guatemala Nicaragua Scotland Thailand "
        "Yugoslavia El-Salvador Trinadad&Tobago Peru Hong Holand-Netherlands"
    ),
}

UPPER_BOUNDS = [9, 7, 39, 15, 6, 13, 5, 4, 1, 99, 39, 99, 39]


def natural_rows(split: str) -> list[dict[str, str]]:
    packed = files("fairprobe.datasets").joinpath("census", f"{split}.csv.gz").read_bytes()
    return list(csv.DictReader(gzip.decompress(packed).decode("ascii").splitlines()))


def encode(row: dict[str, str]) -> list[int]:
    codes = []
    for name, how in ENCODING.items():
        if isinstance(how, int):
            codes.append(int(row[name]) // how)
        elif row[name] == "?":
            codes.append(100)
        else:
            codes.append(how.split(" ").index(row[name]))
    return codes


@pytest.mark.parametrize("split", N_ROWS)
def test_encoded_rows_are_those_of_a_plain_encoder(split):
    X, y = load_census(encoded=True, split=split)
    rows = natural_rows(split)
    assert X.shape == (N_ROWS[split], 13)
    assert list(X.columns) == list(ENCODING)
    assert X.to_numpy().tolist() == [encode(row) for row in rows]
    assert y.tolist() == [{"<=50K": -1, ">50K": 1}[row["income"]] for row in rows]


@pytest.mark.parametrize("split", N_ROWS)
def test_natural_rows_are_as_published(split):
    X, y = load_census(encoded=False, split=split)
    rows = natural_rows(split)
    assert list(X.columns) == list(rows[0])[:-1]
    assert len(X.columns) == 14
    for name in X.columns:
        if name in ENCODING and isinstance(ENCODING[name], str):
            assert pd.api.types.is_string_dtype(X[name].dropna())
            assert X[name].fillna("?").tolist() == [row[name] for row in rows]
        else:
            assert X[name].dtype == np.dtype("int64")
            assert X[name].tolist() == [int(row[name]) for row in rows]
    assert y.tolist() == [row["income"] for row in rows]
    assert y.name == "income"


def test_each_call_gives_data_of_its_own():
    X, _ = load_census()
    X.iloc[:, :] = -1
    assert int(load_census()[0].min().min()) == 0


def test_words_are_those_of_the_encoding():
    words = {name: tuple(how.split(" ")) for name, how in ENCODING.items() if isinstance(how, str)}
    assert dict(CENSUS_WORDS) == words
    with pytest.raises(TypeError):
        CENSUS_WORDS["sex"] = ()


def test_encoded_domain_has_the_bounds_of_the_paper():
    domain = census_domain()
    assert domain.names == tuple(ENCODING)
    assert domain.sensitive == ("sex",)
    assert [(p.low, p.high) for p in domain.parameters] == [
        (1 if name == "age" else 0, high) for name, high in zip(ENCODING, UPPER_BOUNDS, strict=True)
    ]


def test_natural_domain_spans_the_rows():
    domain = census_domain(encoded=False, sensitive=["race", "sex"])
    assert domain.names == tuple(load_census(encoded=False)[0].columns)
    assert domain.sensitive == ("race", "sex")
    assert domain["age"].low == 17
    assert set(domain["sex"].values) == {"Female", "Male"}


def test_a_row_in_words():
    row = dict(zip(ENCODING, [3, 0, 10, 0, 2, 4, 3, 0, 1, 5, 0, 40, 20], strict=True))
    assert describe_census(row) == {
        "age": "age 30-39",
        "workclass": "Private",
        "fnlwgt": "final weight 200,000-219,999",
        "education": "Bachelors",
        "marital-status": "Never-married",
        "occupation": "Exec-managerial",
        "relationship": "Not-in-family",
        "race": "White",
        "sex": "Male",
        "capital-gain": "capital gain 5,000-5,999",
        "capital-loss": "capital loss 0-99",
        "hours-per-week": "hours per week 40",
        "native-country": "Mexico",
    }


def test_words_for_an_unknown_column():
    with pytest.raises(DataError, match="got 'education-num'"):
        describe_census({"education-num": 1})


def test_data_are_read_from_a_zipped_package_and_importing_reads_nothing(tmp_path):
    package = Path(str(files("fairprobe.datasets"))).parent
    archive = tmp_path / "package.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for path in sorted(package.rglob("*")):
            if "__pycache__" not in path.parts:
                packed.write(path, path.relative_to(package.parent))
    code = (
        "import sys, fairprobe.datasets as d; assert 'pandas' not in sys.modules; "
        "print(d.__file__, len(d.load_census()[0]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(archive)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "package.zip" in done.stdout
    assert done.stdout.split()[-1] == "32561"
