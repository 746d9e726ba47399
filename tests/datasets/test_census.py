import gzip
import hashlib
import os
import subprocess
import sys
import zipfile
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from fairprobe.datasets import census_domain, describe_census, load_census
from fairprobe.errors import DataError, DomainError, SettingError

NAMES = (
    "age", "workclass", "fnlwgt", "education", "marital-status", "occupation", "relationship", "race", "sex",
    "capital-gain", "capital-loss", "hours-per-week", "native-country",
)  # fmt: skip
UPPER_BOUNDS = [9, 7, 39, 15, 6, 13, 5, 4, 1, 99, 39, 99, 39]

ENCODED = {"train": (32_561, "75c6abd003b74c62"), "test": (16_281, "3d4d29a908a2f499")}
"""Rows, and the digest of codes and labels; once compared with an encoder that shares no code with the package."""


@pytest.mark.parametrize("split", ENCODED)
def test_encoded_rows(split):
    X, y = load_census(encoded=True, split=split)
    n, digest = ENCODED[split]
    assert X.shape == (n, 13)
    assert tuple(X.columns) == NAMES
    assert set(X.dtypes) == {y.dtype} == {np.dtype("int64")}
    content = b"".join(part.to_numpy().astype("<i8").tobytes() for part in (X, y))
    assert hashlib.sha256(content).hexdigest()[:16] == digest


def test_first_rows_and_sums_known_by_hand():
    X, y = load_census()
    # 39, State-gov, 77516, Bachelors, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, US
    assert X.iloc[0].tolist() == [3, 5, 3, 0, 2, 8, 3, 0, 1, 2, 0, 40, 0]
    # 50, Self-emp-not-inc, 83311, Bachelors, Married-civ-spouse, Exec-managerial, Husband, White, Male, 0, 0, 13, US
    assert X.iloc[1].tolist() == [5, 1, 4, 0, 0, 4, 2, 0, 1, 0, 0, 13, 0]
    assert (int((y == 1).sum()), int(X["sex"].sum())) == (7_841, 21_790)
    missing = (X == 100).sum()
    assert missing[missing > 0].to_dict() == {"workclass": 1_836, "occupation": 1_843, "native-country": 583}


@pytest.mark.parametrize("split", ENCODED)
def test_natural_rows_are_as_published(split):
    X, y = load_census(encoded=False, split=split)
    packed = files("fairprobe.datasets").joinpath("census", f"{split}.csv.gz").read_bytes()
    assert (
        X.assign(income=y).to_csv(index=False, na_rep="?").splitlines() == gzip.decompress(packed).decode().splitlines()
    )


def test_each_call_gives_data_of_its_own():
    X, _ = load_census()
    X.iloc[:, :] = -1
    assert int(load_census()[0].min().min()) == 0


def test_wrong_settings_are_refused():
    with pytest.raises(SettingError, match=r"split must be 'train' or 'test', got 'valid'"):
        load_census(split="valid")
    with pytest.raises(DomainError):
        census_domain(sensitive=["gender"])
    with pytest.raises(DataError, match="got 'education-num'"):
        describe_census({"education-num": 1})


def test_encoded_domain_has_the_bounds_of_the_paper():
    domain = census_domain()
    assert (domain.names, domain.sensitive) == (NAMES, ("sex",))
    assert [p.high for p in domain.parameters] == UPPER_BOUNDS
    assert [p.low for p in domain.parameters] == [1] + [0] * 12


def test_natural_domain_spans_the_rows():
    domain = census_domain(encoded=False, sensitive=["race", "sex"])
    assert domain.names == tuple(load_census(encoded=False)[0].columns)
    assert domain.sensitive == ("race", "sex")
    assert domain["age"].low == 17
    assert set(domain["sex"].values) == {"Female", "Male"}


def test_a_row_in_words():
    row = dict(zip(NAMES, [3, 0, 10, 0, 2, 4, 3, 0, 1, 5, 0, 40, 20], strict=True))
    assert list(describe_census(row).values()) == [
        "age 30-39", "Private", "final weight 200,000-219,999", "Bachelors", "Never-married", "Exec-managerial",
        "Not-in-family", "White", "Male", "capital gain 5,000-5,999", "capital loss 0-99", "hours per week 40",
        "Mexico",
    ]  # fmt: skip
    assert list(describe_census({"workclass": 100, "sex": np.int64(-1)}).values()) == ["unknown", "unknown"]


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
    environment = {**os.environ, "PYTHONPATH": str(archive)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "package.zip" in done.stdout
    assert done.stdout.split()[-1] == "32561"
