"""Forms: they turn a batch of codes (level numbers of inputs) into the array or DataFrame that a model takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fairprobe.arrays import Codes
from fairprobe.domain.domain import Domain
from fairprobe.domain.parameters import Parameter
from fairprobe.errors import DataError
from fairprobe.model.categories import as_fitted, category_places

if TYPE_CHECKING:
    import pandas as pd

MOST_TEXTS: Final = 100_000
"""Largest number of values of a text column that are kept decoded in a table. Chosen: columns with more values are
decoded batch by batch."""

EXACT_IN_FLOAT32: Final = 2**24
"""Largest magnitude of numbers that are sent as float32. Derived: a 32-bit float tells all whole numbers up to 2**24
apart."""


class ArrayForm:
    """Turns codes into a NumPy array of numbers, with columns in domain order or in the model's own order."""

    categories: Mapping[str, tuple[Any, ...]] = {}

    def __init__(self, domain: Domain, dtype: DTypeLike, columns: Sequence[str] | None = None) -> None:
        self.domain = domain
        self._columns = list(columns or domain.visible)
        self._order = None if self._columns == list(domain.names) else [domain.names.index(c) for c in self._columns]
        self.dtype = np.dtype(dtype)
        lines = [parameter.affine for parameter in domain.parameters]
        self._offset, self._scale = np.array([line or (0.0, 1.0) for line in lines]).T.astype(self.dtype)
        self._is_shifted, self._is_scaled = bool((self._offset != 0).any()), bool((self._scale != 1).any())
        # What is hidden is left out in the end, so it needs no numbers.
        hidden = [domain.names.index(name) for name in domain.hidden]
        self._others = [column for column, line in enumerate(lines) if line is None and column not in hidden]

    def rows(self, codes: Codes) -> NDArray[Any]:
        """Return the batch to send to the model for some inputs, given as codes (level numbers): one row per input."""
        batch = np.empty(codes.shape, dtype=self.dtype)
        self._write(codes, batch)
        return self._ordered(batch)

    def families(self, codes: Codes) -> NDArray[Any]:
        """Return the batch for inputs and their twins: one block of rows for each combination of sensitive values."""
        families = self.domain.families
        if not families.is_plain:
            return self.rows(families.members(codes))
        batch = np.empty((len(families), *codes.shape), dtype=self.dtype)
        self._write(codes, batch[0])
        batch[1:] = batch[0]
        for column, values in self._sensitive_values:
            batch[:, :, column] = values
        return self._ordered(batch.reshape(-1, codes.shape[1]))

    def _ordered(self, batch: NDArray[Any]) -> NDArray[Any]:
        return batch if self._order is None else batch[:, self._order]

    def _write(self, codes: Codes, batch: NDArray[Any]) -> None:
        batch[:] = codes
        if self._is_scaled:
            batch *= self._scale
        if self._is_shifted:
            batch += self._offset
        for column in self._others:
            batch[:, column] = self.domain.parameters[column].numbers(codes[:, column])

    def of_frame(self, frame: pd.DataFrame) -> NDArray[Any]:
        """Return the rows of a DataFrame as an array in the form's dtype; as floats if whole numbers do not suffice."""
        rows = frame[self._columns]
        if self.dtype.kind == "O":
            return rows.to_numpy(dtype=object)
        if self.dtype.kind == "f":
            return rows.to_numpy(dtype=self.dtype, na_value=np.nan)
        numbers = rows.to_numpy(dtype=np.float64, na_value=np.nan)
        return numbers.astype(self.dtype) if (numbers == np.rint(numbers)).all() else numbers

    @cached_property
    def _sensitive_values(self) -> list[tuple[int, NDArray[Any]]]:
        """The columns in which twins differ, each with its values by combination of sensitive values.

        The values are the same for all inputs, so they are computed once.
        """
        base = np.zeros((1, len(self.domain.levels)), dtype=np.int64)
        members = self.domain.families.members(base)
        rows = np.empty(members.shape, dtype=self.dtype)
        self._write(members, rows)
        return [(column, rows[:, [column]]) for column, _ in self.domain.families.varied(base)]


class ObjectForm(ArrayForm):
    """Turns codes into a NumPy array of objects, for a model fitted on an array with text columns."""

    def __init__(self, domain: Domain, columns: Sequence[str] | None = None) -> None:
        super().__init__(domain, object, columns)

    def _write(self, codes: Codes, batch: NDArray[Any]) -> None:
        batch[:] = self.domain.decode(codes).to_numpy(dtype=object)


class FrameForm:
    """Turns codes into a DataFrame with the dtypes of the domain and its columns in the model's own order.

    A column with given `categories` becomes a pandas categorical of exactly these values. With `plain_text`, text
    columns hold Python strings whatever pandas would use. Otherwise scikit-learn converts each value itself, which
    takes a third of an encoder's time.
    """

    def __init__(
        self,
        domain: Domain,
        columns: Sequence[str],
        categories: Mapping[str, tuple[Any, ...]] | None = None,
        *,
        plain_text: bool = False,
    ) -> None:
        self.domain = domain
        self._plain_text = plain_text
        self._columns = [domain.names.index(name) for name in columns]
        self.categories: Mapping[str, tuple[Any, ...]] = dict(categories or {})
        """Values of each column that was fitted as a pandas categorical, by column name, in the model's order."""
        self._places = {name: category_places(domain[name], values) for name, values in self.categories.items()}

    def rows(self, codes: Codes) -> pd.DataFrame:
        """Return the batch to send to the model for some inputs, given as codes (level numbers): one row per input."""
        import pandas as pd

        columns = {}
        for column in self._columns:
            name, some = self.domain.names[column], codes[:, column]
            if name in self.categories:
                places, categories = self._places[name].take(some), list(self.categories[name])
                columns[name] = pd.Categorical.from_codes(places, categories=categories)
            elif column in self._texts:
                columns[name] = self._texts[column].take(some)
            else:
                columns[name] = self.domain.parameters[column].decode(some)
        return pd.DataFrame(columns, copy=False)

    def families(self, codes: Codes) -> pd.DataFrame:
        """Return the batch for inputs and their twins: one block of rows for each combination of sensitive values."""
        return self.rows(self.domain.families.members(codes))

    def of_frame(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of a DataFrame, with columns in the model's order and categoricals as fitted."""
        import pandas as pd

        columns = {name: frame[name] for name in (self.domain.names[column] for column in self._columns)}
        for name, categories in self.categories.items():
            columns[name] = as_fitted(columns[name], categories)
        return pd.DataFrame(columns, copy=False)

    @cached_property
    def _texts(self) -> dict[int, Any]:
        """Values indexed by code, by column number, for text columns that pandas would not hold as Python strings."""
        import pandas as pd

        texts = {}
        for column in self._columns if self._plain_text else ():
            parameter = self.domain.parameters[column]
            if parameter.dtype == "str" and parameter.levels <= MOST_TEXTS:
                values = parameter.decode(np.arange(parameter.levels))
                if getattr(values.dtype, "storage", "python") != "python":
                    texts[column] = values.astype(pd.StringDtype("python", na_value=np.nan))
        return texts


Form = ArrayForm | FrameForm
"""Form of a model's batches: turns codes of inputs, whole families, or rows of a DataFrame into a batch."""


def checked_columns(columns: Sequence[str] | None, name: str, domain: Domain) -> None:
    """Raise a DataError if a model was fitted on other columns than the domain's parameters.

    No check is made if `columns` is None, because the model does not state its columns.
    """
    if columns is None:
        return
    if hidden := [column for column in columns if column in domain.hidden]:
        raise DataError(f"a hidden parameter must be none that {name} was fitted on, got {hidden[0]!r}: leave it out")
    if absent := ", ".join(column for column in columns if column not in domain.names):
        raise DataError(f"every column the model was fitted on must be a parameter, got no {absent}: add the column")
    unknown = [column for column in domain.visible if column not in columns]
    if unknown and all(column in domain.sensitive for column in unknown):
        advice = f"say hidden={unknown!r} (--hidden), and by links what changes along with it"
        raise DataError(f"{name} was not fitted on the sensitive {', '.join(unknown)}: {advice}")
    if unknown:
        got = f"{', '.join(unknown)}: leave it out of the inputs (--ignore on the command line)"
        raise DataError(f"every parameter must be a column that {name} was fitted on, got {got}")


def natural_dtype(domain: Domain) -> type[Any]:
    """Return the dtype of an array of all visible parameters: int64 if all are never missing integers, else float64."""
    whole = all("int" in parameter.dtype.lower() and not parameter.missing for parameter in domain.seen)
    return np.int64 if whole else np.float64


def is_exact_in_float32(parameter: Parameter) -> bool:
    """Return True if a parameter's values and codes are whole numbers that float32 represents exactly."""
    if parameter.kind == "real" or parameter.levels - 1 > EXACT_IN_FLOAT32:
        return False
    is_line = parameter.kind == "integer"
    codes = np.array([0, parameter.levels - 1 - parameter.missing]) if is_line else np.arange(parameter.levels)
    numbers = parameter.numbers(codes)
    return bool(((numbers == np.rint(numbers)) & (np.abs(numbers) <= EXACT_IN_FLOAT32) | np.isnan(numbers)).all())
