"""The domain that a command works on: from a file, from Python code, or inferred from data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairprobe.cli import values
from fairprobe.cli.data import check_columns, inputs_of, labels_of, read_frame
from fairprobe.cli.loading import load_domain
from fairprobe.cli.words import listed
from fairprobe.domain import Domain, Parameter
from fairprobe.errors import DomainError, SettingError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Source:
    """What the options say of data and domain."""

    data: str | None
    domain: str | None
    label: str | None
    ignore: Sequence[str]
    sensitive: Sequence[str]
    missing: Sequence[str]

    def load(self) -> tuple[Domain, pd.DataFrame | None]:
        """The domain, and the rows of the data if there are any."""
        table = self._table()
        rows = None if table is None else inputs_of(table, self.label, values.names(self.ignore))
        return self._domain_of(rows), rows

    def load_labelled(self) -> tuple[Domain, pd.DataFrame, pd.Series]:
        """The domain, the rows of the data and their labels."""
        if self.label is None:
            raise SettingError("--label must name the column of --data that is predicted, got none")
        table = self._table()
        assert table is not None
        rows = inputs_of(table, self.label, values.names(self.ignore))
        return self._domain_of(rows), rows, labels_of(table, self.label, str(self.data))

    def read_beside(self, path: str) -> pd.DataFrame:
        """The table of a file beside --data, which may be of another kind."""
        return read_frame(path, () if path.lower().endswith(".parquet") else self.missing)

    def _domain_of(self, rows: pd.DataFrame | None) -> Domain:
        compared = values.sensitive(self.sensitive)
        if self.domain is not None:
            domain = _given(self.domain, compared)
            if rows is not None:
                check_columns(rows, domain.names)
            return domain
        if rows is None:
            raise SettingError("a domain is needed: --data to infer it from, or --domain; got neither")
        if not compared:
            raise SettingError(f"--sensitive must name one of the columns {listed(rows.columns)}; got none")
        return infer_domain(rows, compared)

    def _table(self) -> pd.DataFrame | None:
        if self.data is not None:
            return read_frame(self.data, self.missing)
        for option, value in (("--label", self.label), ("--ignore", self.ignore), ("--missing", self.missing)):
            if value:
                raise SettingError(f"{option} is about the columns of --data, got no --data")
        return None


def infer_domain(rows: pd.DataFrame, compared: dict[str, list[str] | None]) -> Domain:
    """The domain that rows span. A sensitive value that is unknown is none to compare with those that are known."""
    from fairprobe.domain.infer import infer_parameters

    parameters = [replace(p, missing=False) if p.name in compared else p for p in infer_parameters(rows)]
    return Domain(parameters, _compared(parameters, compared))


def _given(reference: str, compared: dict[str, list[str] | None]) -> Domain:
    """The domain of a file or `module:attribute`; --sensitive takes the place of the sensitive ones it names."""
    if ":" in reference and not Path(reference).exists():
        domain = load_domain(reference)
        if not compared:
            return domain
        return Domain(domain.parameters, _compared(domain.parameters, compared), domain.constraints)
    from fairprobe.domain.toml import read

    parameters, named = read(reference)
    if compared:
        return Domain(parameters, _compared(parameters, compared))
    try:
        return Domain(parameters, named)
    except DomainError as error:
        raise DomainError(f"{reference}: {error}") from None


def _compared(
    parameters: Sequence[Parameter], compared: dict[str, list[str] | None]
) -> dict[str, Sequence[Any] | None]:
    by_name = {parameter.name: parameter for parameter in parameters}
    return {
        name: values.values_of(by_name[name], texts) if texts is not None and name in by_name else None
        for name, texts in compared.items()
    }
