"""The US census income data of 1994 ("Adult"), natural or in the integer encoding of the paper's experiments."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from fairprobe.errors import DataError, HealthWarning, SettingError

if TYPE_CHECKING:
    import pandas as pd

    from fairprobe.domain import Domain

Split = Literal["train", "test"]

LABEL: Final = "income"
MISSING: Final = 100

_WORDS: Final = {
    "workclass": """
        Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked
    """,
    "education": """
        Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th 12th Masters 1st-4th 10th
        Doctorate 5th-6th Preschool
    """,
    "marital-status": """
        Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent Married-AF-spouse
    """,
    "occupation": """
        Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners
        Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv
        Armed-Forces
    """,
    "relationship": "Wife Own-child Husband Not-in-family Other-relative Unmarried",
    "race": "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black",
    "sex": "Female Male",
    "native-country": """
        United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc) India Japan Greece
        South China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam Mexico Portugal Ireland France
        Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary Guatemala Nicaragua Scotland Thailand
        Yugoslavia El-Salvador Trinadad&Tobago Peru Hong Holand-Netherlands
    """,
}

CENSUS_WORDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {name: tuple(words.split()) for name, words in _WORDS.items()}
)
"""Words for the codes of the encoded columns, by column: code i stands for word i, counted from 0."""

# By column, how many consecutive numbers share one code.
_WIDTHS: Final = {"age": 10, "fnlwgt": 20_000, "capital-gain": 1_000, "capital-loss": 100, "hours-per-week": 1}

# The bounds that the paper searched, in its order. Some rows lie outside them.
_BOUNDS: Final = {
    "age": (1, 9),
    "workclass": (0, 7),
    "fnlwgt": (0, 39),
    "education": (0, 15),
    "marital-status": (0, 6),
    "occupation": (0, 13),
    "relationship": (0, 5),
    "race": (0, 4),
    "sex": (0, 1),
    "capital-gain": (0, 99),
    "capital-loss": (0, 39),
    "hours-per-week": (0, 99),
    "native-country": (0, 39),
}


def load_census(*, encoded: bool = True, split: Split = "train") -> tuple[pd.DataFrame, pd.Series]:
    """Load the census: a frame of each person's attributes, and a series that tells if the income is above $50,000.

    Args:
        encoded: give the 13 integer columns of the paper's experiments, with 100 for a missing value, and labels -1 and
            +1; otherwise the 14 columns as they were published, and labels "<=50K" and ">50K".
        split: "train" (32,561 rows) or "test" (16,281 rows).
    """
    if split not in get_args(Split):
        raise SettingError(f"split must be 'train' or 'test', got {split!r}")
    rows, label = _read(encoded=bool(encoded), split=split)
    return rows.copy(), label.copy()


@cache
def _read(*, encoded: bool, split: Split) -> tuple[pd.DataFrame, pd.Series]:
    """Return the rows and labels of a split, cached after the first call; callers must copy them before a change."""
    import pandas as pd

    with files("fairprobe.datasets").joinpath("census", f"{split}.csv.gz").open("rb") as file:
        frame = pd.read_csv(file, compression="gzip", na_values=["?"], keep_default_na=False)
    label = frame.pop(LABEL)
    if not encoded:
        return frame, label
    codes = pd.DataFrame({name: _codes(frame[name]) for name in _BOUNDS}, dtype="int64")
    return codes, (label == ">50K").astype("int64") * 2 - 1


def census_domain(
    *, encoded: bool = True, sensitive: Sequence[str] | Mapping[str, Sequence[Any] | None] = ("sex",)
) -> Domain:
    """Return the domain of the census: the values that each column may have, and the sensitive columns.

    Args:
        encoded: use the bounds that the paper searched; otherwise the range of the natural training rows.
        sensitive: the sensitive columns; as a mapping with the values to compare.
    """
    from fairprobe.domain import Domain, Integer

    if not encoded:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HealthWarning)  # education-num is a function of education
            return Domain.from_frame(load_census(encoded=False)[0], sensitive=sensitive)
    return Domain([Integer(name, low, high) for name, (low, high) in _BOUNDS.items()], sensitive=sensitive)


def describe_census(row: Mapping[str, int]) -> dict[str, str]:
    """Return an encoded row in words, by column. A code without a word becomes "unknown".

    >>> describe_census({"age": 3, "occupation": 4, "workclass": 100, "capital-gain": 5})
    {'age': 'age 30-39', 'occupation': 'Exec-managerial', 'workclass': 'unknown',
     'capital-gain': 'capital gain 5,000-5,999'}
    """
    return {name: _describe(name, int(code)) for name, code in row.items()}


def _codes(column: pd.Series) -> pd.Series:
    name = str(column.name)
    if name in _WIDTHS:
        return column // _WIDTHS[name]
    codes = column.astype("category").cat.set_categories(CENSUS_WORDS[name]).cat.codes
    return codes.astype("int64").where(column.notna(), MISSING)


def _describe(name: str, code: int) -> str:
    if name in CENSUS_WORDS:
        words = CENSUS_WORDS[name]
        return words[code] if 0 <= code < len(words) else "unknown"
    if name not in _WIDTHS:
        raise DataError(f"a row's columns must be those of the encoded census ({', '.join(_BOUNDS)}), got {name!r}")
    width, title = _WIDTHS[name], "final weight" if name == "fnlwgt" else name.replace("-", " ")
    return f"{title} {code}" if width == 1 else f"{title} {code * width:,}-{code * width + width - 1:,}"
