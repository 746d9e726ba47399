"""Reads the rows, the labels and the domain that the options name; without --domain, infers it from the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairprobe.arguments import Column, DataFile, DomainSource, SensitiveNames
from fairprobe.checks import nearest
from fairprobe.cli.files import lines_of, read_frame
from fairprobe.cli.values import Compared, as_options, compared_values, names, parse_link, values_of
from fairprobe.cli.words import flag, note
from fairprobe.domain import Domain, Link, Parameter
from fairprobe.domain.rows import check_columns as check_parameters
from fairprobe.errors import DataError, DomainError, SettingError
from fairprobe.frames import restored
from fairprobe.model.sources.load import load_object, what_happened
from fairprobe.wording import listed

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Source:
    """Options that name the data and the domain, and methods that load the rows, the labels and the domain from them.

    Args:
        data: a table of real rows, .csv, .csv.gz (UTF-8, commas, a header) or .parquet. The domain is inferred from it
            unless `domain` is given.
        domain: the domain: a TOML file (see fairprobe domain), or module:attribute in Python.
        label: the column to predict. It is left out of the inputs.
        ignore: columns that are not inputs of the model.
        sensitive: parameters that must not change the outcome.
        missing: a text that stands for a missing value in a CSV file, as "?".
        constraint: a rule that every input must keep: "`capital-gain` == 0 or `capital-loss` == 0" (names that are not
            plain words in backticks; and, or, not, in, is missing, + - * /).
        link: what changes along with a sensitive value: "relationship~sex: Male=Husband, Female=Wife", with a
            semicolon before another role; for numbers "height~sex: Male+13, Female+0" or "tenure~age: 0.5 per unit".
        hidden: sensitive parameters that the model does not take as input: only linked columns can carry them.
        sample_weight: the column with a weight for each row.
        groups: the column with a person's identifier for each row, if a person can have several rows.
        remembered: names of the options whose values come from the domain file, not from the command line.
    """

    data: DataFile | None = None
    domain: DomainSource | None = None
    label: Column | None = None
    ignore: Sequence[Column] | None = None
    sensitive: SensitiveNames | None = None
    missing: Sequence[str] | None = None
    constraint: Sequence[str] | None = None
    link: Sequence[str] | None = None
    hidden: Sequence[str] | None = None
    sample_weight: Column | None = None
    groups: Column | None = None
    remembered: Sequence[str] | None = None

    def with_remembered(self) -> Source:
        """Return a copy with settings that the domain file stores, such as the label, where no option gives them."""
        if self.data is None or self.domain is None or _is_object(self.domain):
            return self
        from fairprobe.domain.toml import read

        said = {name: value for name, value in read(self.domain).data.items() if value and not getattr(self, name)}
        if self.data.lower().endswith(".parquet"):
            said.pop("missing", None)  # it has missing values of its own
        if not said:
            return self
        note(f"from-domain-file: {self.domain} says {as_options(said)}")
        return replace(self, **said, remembered=tuple(said))

    def load(self) -> tuple[Domain, pd.DataFrame | None]:
        """Return the domain, and a frame with the input columns of the rows of --data; None without --data."""
        if self.data is not None:
            rows = self.rows()
            return self._domain_of(rows), rows
        for name in ("label", "ignore", "missing", "sample_weight", "groups"):
            if getattr(self, name):
                raise SettingError.about(name, "is about the columns of --data, got no --data")
        return self._domain_of(None), None

    @cached_property
    def table(self) -> pd.DataFrame:
        """All columns of the file of --data as a frame."""
        return read_frame(str(self.data), self.missing or ())

    def cases(self, path: str) -> pd.DataFrame:
        """Return a table of cases that fairprobe wrote, without the apostrophes that it put before some texts."""
        if path.lower().endswith(".parquet"):
            return read_frame(path)
        return restored(read_frame(path, self.missing or ()))

    def labels(self) -> pd.Series:
        """Return the label of each row of --data as plain Python values; raise a DataError if one is missing."""
        import pandas as pd

        if self.label is None:
            raise SettingError("--label must name the column of --data to predict, got none")
        if self.label not in self.table.columns:  # a domain file may remember another
            raise self._no_column("label", self.label)
        column = self.table[self.label]
        unknown = int(column.isna().sum())
        if unknown:
            raise DataError(
                f"every row must have a known label, got {unknown:,} of {len(column):,} in {self.data} without "
                f"{self.label}: leave these rows out"
            )
        return pd.Series(column.tolist(), name=self.label)

    def column(self, option: str) -> Any:
        """Return the column of --data that an option such as `groups` names, as an array; None if it was not given."""
        name = getattr(self, option)
        return None if name is None else self.table[name].to_numpy()

    @cached_property
    def lines(self) -> list[int] | None:
        """The line number where each row begins in the CSV file of --data; None without --data or for Parquet."""
        return None if self.data is None else lines_of(self.data)

    def rows(self) -> pd.DataFrame:
        """Return the table of --data without the columns of the label, the weights, the groups and the ignored ones.

        The remaining columns are the inputs of the model.
        """
        from fairprobe.domain.health import health_of_label, warn_of_health

        asked = [("ignore", name) for name in names(self.ignore or ())]
        asked += [(option, getattr(self, option)) for option in LEFT_OUT if getattr(self, option)]
        for option, name in asked:
            # Rows to be judged may well come without the label that a domain file remembers.
            if name not in self.table.columns and option not in (self.remembered or ()):
                raise self._no_column(option, name)
        rows = self.table.drop(columns=[name for _, name in asked], errors="ignore")
        unnamed = [name for name in rows.columns if str(name).startswith("Unnamed: ")]
        if unnamed:
            raise DataError(f"every column must have a name, got none: leave it out by --ignore {unnamed[0]!r}")
        if self.label in self.table.columns:
            warn_of_health(health_of_label(rows, self.table[self.label]))
        return rows

    def _no_column(self, option: str, name: str) -> DataError:
        known = self.table.columns
        return DataError(
            f"{flag(option)} must be one of the columns {listed(known)}; got {name!r}{nearest(name, known)}"
        )

    def _domain_of(self, rows: pd.DataFrame | None) -> Domain:
        """Return the domain that --domain names or, without it, one inferred from the rows.

        --sensitive replaces the sensitive parameters of a given domain. Constraints, links and hidden parameters of the
        options are added to it.
        """
        from fairprobe.domain.health import health_of_data, health_of_rules, warn_of_health

        compared = compared_values(self.sensitive or ())
        if self.domain is not None:
            domain = self._given(self.domain, compared)
            if rows is not None:
                for option in LEFT_OUT:
                    if getattr(self, option) in domain.names:
                        rule = "must name a column that is no parameter of the domain"
                        raise DataError(f"{flag(option)} {rule}, got {getattr(self, option)!r}")
                check_columns(rows, domain)
                warn_of_health(health_of_rules(rows, domain))
            return domain
        if rows is None:
            raise SettingError("a domain is needed: --data to infer it from, or --domain; got neither")
        if not compared:
            raise SettingError(f"--sensitive must name one of the columns {listed(rows.columns)}; got none")
        from fairprobe.domain.infer import infer_parameters, only_seen

        parameters = infer_parameters(rows)
        sensitive = only_seen(rows, parameters, _sensitive(parameters, compared))
        links, hidden = self._links(parameters), names(self.hidden or ())
        domain = Domain(parameters, sensitive, self.constraint or (), links, hidden)
        warn_of_health(health_of_data(rows, domain))
        return domain

    def _given(self, reference: str, compared: Compared) -> Domain:
        """Return the domain that --domain names, with the constraints, links and hidden parameters of the options."""
        domain = _named_domain(reference, compared)
        domain = domain.with_constraints(self.constraint) if self.constraint else domain
        domain = domain.with_links(self._links(domain.parameters)) if self.link else domain
        return domain.hiding(names(self.hidden)) if self.hidden else domain

    def _links(self, parameters: Sequence[Parameter]) -> list[Link]:
        by_name = {parameter.name: parameter for parameter in parameters}

        def value(name: str, text: str) -> Any:
            return values_of(by_name[name], [text])[0] if name in by_name else text  # which the domain refuses

        return [parse_link(text, value) for text in self.link or ()]


LEFT_OUT = ("label", "sample_weight", "groups")
"""Options that each name a column that is not an input of the model."""


def _is_object(reference: str) -> bool:
    """Return True if --domain names an object in Python instead of a file."""
    return ":" in reference and not Path(reference).exists()


def _named_domain(reference: str, compared: Compared) -> Domain:
    """Return the domain that the value of --domain names, a file or a Python object.

    `compared`, from --sensitive, replaces its sensitive parameters. Links to parameters that are then no longer
    sensitive are left out, with a note.
    """
    from fairprobe.domain.toml import read

    given: Any = _domain_object(reference) if _is_object(reference) else read(reference)
    sensitive, links, hidden = given.sensitive, given.links, given.hidden
    if compared:
        sensitive = _sensitive(given.parameters, compared)
        links = [link for link in given.links if link.sensitive in compared]
        for link in given.links:
            if link not in links:
                said = f"the link of {link.column!r} to {link.sensitive!r} is set aside"
                note(f"link-aside: {said}, as --sensitive does not name {link.sensitive!r}")
    elif isinstance(given, Domain):
        return given
    try:
        return Domain(given.parameters, sensitive, given.constraints, links, hidden)
    except DomainError as error:
        # The file is not at fault for a wrong --sensitive.
        raise error if compared else DomainError(f"{reference}: {error}") from None


def _domain_object(reference: str) -> Domain:
    """Return the domain that is the Python object `module:attribute`, or that this function returns."""
    found = load_object(reference, "--domain")
    if callable(found) and not isinstance(found, type):
        try:
            found = found()
        except Exception as error:
            raise SettingError(f"{reference} must give a Domain, got {what_happened(error)}") from error
    if not isinstance(found, Domain):
        raise SettingError(f"--domain must be a fairprobe.Domain, got {type(found).__name__}: {found!r:.80}")
    return found


def _sensitive(parameters: Sequence[Parameter], compared: Compared) -> dict[str, Sequence[Any] | None]:
    """Return the values to compare, by name of the sensitive parameter; None if they are not listed.

    The texts in `compared` become values of the parameters. An unknown name stays, and the domain refuses it.
    """
    by_name = {parameter.name: parameter for parameter in parameters}
    return {
        name: values_of(by_name[name], texts) if texts is not None and name in by_name else None
        for name, texts in compared.items()
    }


def check_columns(rows: pd.DataFrame, domain: Domain, what: str = "the data") -> None:
    """Raise a DataError unless the columns of the rows are the domain's parameters; `what` names the rows."""
    check_parameters(domain, rows, what)
    unknown = [str(name) for name in rows.columns if name not in domain.names]
    if unknown:
        raise DataError(
            f"every column of {what} must be a parameter of the domain, the --label or one to --ignore, "
            f"got {listed(unknown)}{nearest(unknown[0], domain.names)}"
        )
