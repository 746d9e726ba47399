"""What `fairprobe retrain` works on: rows to fit to with their labels, rows held out, cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fairprobe.cli import values
from fairprobe.cli.data import check_columns, inputs_of, labels_of
from fairprobe.cli.domains import Source
from fairprobe.cli.loading import SUBJECT
from fairprobe.cli.outcomes import match
from fairprobe.cli.request import load
from fairprobe.cli.words import listed
from fairprobe.domain import Domain
from fairprobe.errors import DataError, SettingError
from fairprobe.retrain.parts import checked_rows, classes_of
from fairprobe.retrain.supply import checked_cases

if TYPE_CHECKING:
    import pandas as pd

CENSUS = "fairprobe.datasets:census_domain"

Labelled = tuple["pd.DataFrame", "pd.Series"]
"""Rows and their labels."""


@dataclass(frozen=True)
class Inputs:
    """What the options say of data."""

    model: str
    source: Source
    held_out: str | None
    cases: str | None
    labels: str
    """How added inputs are labelled."""

    @property
    def is_census(self) -> bool:
        """Whether the rows are those that come with a subject."""
        return self.source.data is None

    def load(self) -> Data:
        """Read all; what does not fit together is refused."""
        domain, rows, labels = self._census() if self.is_census else self.source.load_labelled()
        classes = classes_of(checked_rows(domain, rows, labels)).tolist()
        held_out = self._census_test() if self.is_census else self._held_out(domain, classes)
        return Data(domain, rows, labels, classes, held_out, self._cases(domain, str(labels.name)))

    def load_model(self, domain: Domain) -> Any:
        """The model. A subject is fitted on the census; for other rows it is the kind of classifier, not fitted yet."""
        prefix, _, name = self.model.partition(":")
        if prefix != SUBJECT or self.is_census:
            return load(self.model)
        from fairprobe import subjects

        model = subjects.make(name)
        # The fair SVM alone needs to know the column.
        return model.set_params(sensitive=domain.sensitive[0]) if "sensitive" in model.get_params() else model

    def _census(self) -> tuple[Domain, pd.DataFrame, pd.Series]:
        from fairprobe.datasets import load_census

        if not self.model.startswith(f"{SUBJECT}:"):
            raise SettingError(
                "--data must name the rows to fit to, got none: only a subject:NAME has some of its own, the census"
            )
        if self.held_out is not None:
            raise SettingError("--held-out goes with --data, got no --data: the census has a test split of its own")
        domain, _ = replace(self.source, domain=self.source.domain or CENSUS).load()
        rows, labels = load_census(split="train")
        _check_columns("the census", rows, domain)
        return domain, rows, labels

    def _census_test(self) -> Labelled:
        from fairprobe.datasets import load_census

        return load_census(split="test")

    def _held_out(self, domain: Domain, classes: Sequence[Any]) -> Labelled | None:
        path, label = self.held_out, self.source.label
        if path is None or label is None:
            return None
        table = self.source.read_beside(path)
        if label not in table.columns:
            raise DataError(f"--held-out must have the column {label!r} of --label, got {listed(table.columns)}")
        rows = inputs_of(table, label, [name for name in values.names(self.source.ignore) if name in table.columns])
        _check_columns(f"--held-out {path}", rows, domain)
        labels = labels_of(table, label, path)
        unknown = [name for name in labels.unique().tolist() if name not in classes]
        if unknown:
            known, got = listed(map(repr, classes)), listed(map(repr, unknown))
            raise DataError(f"--held-out must have the labels of --data, {known}; got {got}")
        return rows, labels

    def _cases(self, domain: Domain, label: str) -> pd.DataFrame | None:
        if self.cases is None:
            return None
        table = self.source.read_beside(self.cases)
        absent = [name for name in domain.names if name not in table.columns]
        if absent:
            raise DataError(f"--cases must have a column for every parameter, got none for {listed(absent)}")
        checked_cases(domain, table)
        if self.labels != "given":
            return table[list(domain.names)]
        if label not in table.columns:
            raise DataError(
                f"--cases with --labels given must have the labels in a column {label!r}, got {listed(table.columns)}"
            )
        return table[list(domain.names)].assign(**{label: labels_of(table, label, self.cases).to_numpy()})


@dataclass(frozen=True)
class Data:
    """What was read."""

    domain: Domain
    rows: pd.DataFrame
    labels: pd.Series
    classes: Sequence[Any]
    """The labels' names, in order."""
    held_out: Labelled | None
    cases: pd.DataFrame | None

    def label(self, text: str | None) -> Any:
        """The label that the text of --favourable stands for."""
        if text is None:
            return None
        found = match(text, self.classes)
        if found is None:
            raise SettingError(f"--favourable must be one of the labels {listed(self.classes)}; got {text!r}")
        return found[0]


def _check_columns(what: str, rows: pd.DataFrame, domain: Domain) -> None:
    try:
        check_columns(rows, domain.names)
    except DataError as error:
        raise DataError(f"{what}: {error}") from None
