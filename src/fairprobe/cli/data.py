"""Data and domain as the options name them: tables, read strictly; a domain given, or inferred from rows; labels."""

from __future__ import annotations

import csv
import gzip
import shlex
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from fairprobe.arguments import Column, DataFile, DomainSource, SensitiveNames
from fairprobe.checks import nearest, opened_regular
from fairprobe.cli.flags import flag
from fairprobe.cli.link_option import parse_link
from fairprobe.cli.loading import load_domain
from fairprobe.cli.words import note
from fairprobe.csv_tables import restored
from fairprobe.domain import Category, Domain, Link, Ordinal, Parameter
from fairprobe.domain.rows import check_columns as check_parameters
from fairprobe.errors import DataError, DomainError, SettingError
from fairprobe.wording import listed

if TYPE_CHECKING:
    import pandas as pd

HEAD = 65_536
"""Bytes looked at to tell text from anything else."""

Compared = dict[str, list[str] | None]
"""By sensitive parameter, the texts of the values to compare, where they are listed."""


@dataclass(frozen=True)
class Source:
    """Where the rows and the domain come from, as the options say it.

    Args:
        data: a table of real rows, .csv, .csv.gz (UTF-8, commas, a header) or .parquet. The domain is inferred from it
            unless `domain` is given.
        domain: the domain: a TOML file (see fairprobe domain), or module:attribute in Python.
        label: the column to predict. It is left out of the inputs.
        ignore: columns that are no inputs of the model.
        sensitive: parameters that must not change the outcome.
        missing: a text that stands for a missing value in a CSV file, as "?".
        constraint: a rule that every input keeps: "`capital-gain` == 0 or `capital-loss` == 0" (names that are no
            plain words in backticks; and, or, not, in, is missing, + - * /).
        link: what changes along with a sensitive value: "relationship~sex: Male=Husband, Female=Wife", with a
            semicolon before another role; for numbers "height~sex: Male+13, Female+0" or "tenure~age: 0.5 per unit".
        hidden: sensitive parameters that the model does not take: only links can carry them.
        sample_weight: the column of weights of the rows.
        groups: the column that says which rows are of one person.
        remembered: the options that the domain file says, not the command line.
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
        """With what the domain file remembers of the data, where the options do not say it."""
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
        """The domain, and the rows of the data if there are any."""
        if self.data is not None:
            rows = self.inputs_of(self.table())
            return self._domain_of(rows), rows
        about_data = ("label", "ignore", "missing", "sample_weight", "groups")
        for name in about_data:
            if getattr(self, name):
                raise SettingError.about(name, "is about the columns of --data, got no --data")
        return self._domain_of(None), None

    def load_labelled(self) -> tuple[Domain, pd.DataFrame, pd.Series]:
        """The domain, the rows of the data and their labels."""
        if self.label is None:
            raise SettingError("--label must name the column of --data to predict, got none")
        table = self.table()
        rows = self.inputs_of(table)
        if self.label not in table.columns:  # a domain file may remember another
            raise self._no_column("--label", self.label, table)
        return self._domain_of(rows), rows, labels_of(table, self.label, str(self.data))

    def table(self, path: str | None = None, *, is_ours: bool = False) -> pd.DataFrame:
        """The table of --data, or of a file beside it, which may be of another kind, or one that we wrote."""
        if path is None:
            return self._table
        is_parquet = path.lower().endswith(".parquet")
        table = read_frame(path, () if is_parquet else self.missing or ())
        return restored(table) if is_ours and not is_parquet else table

    @cached_property
    def _table(self) -> pd.DataFrame:
        return read_frame(str(self.data), self.missing or ())

    def column(self, option: str) -> Any:
        """The column of the data that --weights or --groups names, as an array; None if it names none."""
        name = getattr(self, option)
        return None if name is None else self.table()[name].to_numpy()

    @cached_property
    def lines(self) -> list[int] | None:
        """By row, the line of the file that it begins on; None for a file that has no lines."""
        file = Path(str(self.data))
        if file.name.lower().endswith(".parquet"):
            return None
        with _open(file) as text:
            reader, begins, lines = csv.reader(text), 1, []
            for row in reader:
                lines += [begins] if row else []
                begins = reader.line_num + 1
        return lines[1:]

    def with_lines(self, texts: Iterable[str], rows: Iterable[Any]) -> list[str]:
        """Texts that begin with "row" and its index, with the line of the file beside it, for those who open that."""
        if self.lines is None:
            return list(texts)
        pairs = zip(texts, rows, strict=False)
        return [text.replace(f"row {row}", f"row {row} (line {self.lines[row]})", 1) for text, row in pairs]

    def inputs_of(self, table: pd.DataFrame) -> pd.DataFrame:
        """The columns that are inputs of the model: all but the label, the weights, the groups and those ignored."""
        from fairprobe.domain.health import health_of_label, warn_of_health

        asked = [("ignore", name) for name in names(self.ignore or ())]
        others = ("label", "sample_weight", "groups")
        asked += [(option, getattr(self, option)) for option in others if getattr(self, option)]
        for option, name in asked:
            # Rows to be judged may well come without the label that a domain file remembers.
            if name not in table.columns and option not in (self.remembered or ()):
                raise self._no_column(flag(option), name, table)
        left_out = [name for _, name in asked if name in table.columns]
        rows = table.drop(columns=left_out)
        unnamed = [name for name in rows.columns if str(name).startswith("Unnamed: ")]
        if unnamed:
            raise DataError(f"every column must have a name, got none: leave it out by --ignore {unnamed[0]!r}")
        if self.label in table.columns:
            warn_of_health(health_of_label(rows, table[self.label]))
        return rows

    def _check_left_out(self, domain: Domain) -> None:
        """What is left out of the inputs can be none of them."""
        for option in ("label", "sample_weight", "groups"):
            if getattr(self, option) in domain.names:
                raise DataError(
                    f"{flag(option)} must name a column that is no parameter of the domain, as it is left out of the "
                    f"inputs, got {getattr(self, option)!r}"
                )

    @staticmethod
    def _no_column(option: str, name: str, table: pd.DataFrame) -> DataError:
        near = nearest(name, table.columns)
        return DataError(f"{option} must be one of the columns {listed(table.columns)}; got {name!r}{near}")

    def _domain_of(self, rows: pd.DataFrame | None) -> Domain:
        """The domain given, or what the rows span; --sensitive takes the place of the sensitive ones it names.

        What cannot be, what changes along and what is hidden add to what a domain given says of it.
        """
        from fairprobe.domain.health import health_of_data, health_of_rules, warn_of_health

        compared = compared_values(self.sensitive or ())
        if self.domain is not None:
            domain = self._given(self.domain, compared)
            if rows is not None:
                self._check_left_out(domain)
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
        domain = Domain(
            parameters,
            sensitive,
            self.constraint or (),
            self._links(parameters),
            names(self.hidden or ()),
        )
        warn_of_health(health_of_data(rows, domain))
        return domain

    def _given(self, reference: str, compared: Compared) -> Domain:
        if _is_object(reference):
            domain = load_domain(reference)
            if compared:
                links, hidden = _still_sensitive(domain.links, domain.hidden, compared)
                sensitive = _sensitive(domain.parameters, compared)
                domain = Domain(domain.parameters, sensitive, domain.constraints, links, hidden)
        else:
            domain = _domain_of_file(reference, compared)
        if self.constraint:
            domain = domain.with_constraints(self.constraint)
        if self.link:
            domain = domain.with_links(self._links(domain.parameters))
        hidden = names(self.hidden or ())
        for name in hidden:
            if name not in domain.sensitive:
                known = ", ".join(domain.sensitive)
                near = nearest(name, domain.sensitive)
                raise SettingError(f"--hidden must name sensitive parameters, {known}; got {name!r}{near}")
        return domain.hiding(hidden) if hidden else domain

    def _links(self, parameters: Sequence[Parameter]) -> list[Link]:
        by_name = {parameter.name: parameter for parameter in parameters}

        def value(name: str, text: str) -> Any:
            return values_of(by_name[name], [text])[0] if name in by_name else text  # which the domain refuses

        return [parse_link(text, value) for text in self.link or ()]


def _is_object(reference: str) -> bool:
    """Whether --domain names something in Python, not a file."""
    return ":" in reference and not Path(reference).exists()


def _domain_of_file(path: str, compared: Compared) -> Domain:
    from fairprobe.domain.toml import read

    content = read(path)
    sensitive: Any = _sensitive(content.parameters, compared) if compared else content.sensitive
    links, hidden = content.links, content.hidden
    if compared:
        links, hidden = _still_sensitive(links, hidden, compared)
    try:
        return Domain(content.parameters, sensitive, content.constraints, links, hidden)
    except DomainError as error:
        # What is wrong with --sensitive is not the file's fault.
        raise error if compared else DomainError(f"{path}: {error}") from None


def _still_sensitive(links: Iterable[Link], hidden: Iterable[str], compared: Compared) -> tuple[list[Link], list[str]]:
    """The links of a domain that --sensitive leaves a meaning; what is hidden must stay sensitive."""
    kept = [link for link in links if link.sensitive in compared]
    for link in links:
        if link not in kept:
            said = f"the link of {link.column!r} to {link.sensitive!r} is set aside"
            note(f"link-aside: {said}, as --sensitive does not name {link.sensitive!r}")
    for name in hidden:
        if name not in compared:
            raise SettingError(
                f"a hidden parameter must stay sensitive, got --sensitive {','.join(compared)} without {name!r}: "
                f"name it too, or leave it out of the domain"
            )
    return kept, list(hidden)


def _sensitive(parameters: Sequence[Parameter], compared: Compared) -> dict[str, Sequence[Any] | None]:
    """The values to compare, by sensitive parameter; a name that is none's is left for the domain to refuse."""
    by_name = {parameter.name: parameter for parameter in parameters}
    return {
        name: values_of(by_name[name], texts) if texts is not None and name in by_name else None
        for name, texts in compared.items()
    }


# Names and values in options


def as_options(said: Mapping[str, str | Sequence[str]]) -> str:
    """Options as they would be given.

    >>> as_options({"label": "income", "missing": ["?", "n/a"]})
    "--label income --missing '?' --missing n/a"
    """
    given = [(name, one) for name, value in said.items() for one in ([value] if isinstance(value, str) else value)]
    return " ".join(f"{flag(name)} {shlex.quote(one)}" for name, one in given)


def names(texts: Iterable[str]) -> list[str]:
    """Names given one at a time or with commas between them.

    >>> names(["id,name", "zip"])
    ['id', 'name', 'zip']
    """
    return [name.strip() for text in texts for name in text.split(",") if name.strip()]


def compared_values(texts: Sequence[str]) -> Compared:
    """Sensitive parameters, with the texts of the values to compare where they are listed.

    >>> compared_values(["sex,race", "age=25,45"])
    {'sex': None, 'race': None, 'age': ['25', '45']}
    """
    compared: Compared = {}
    for text in texts:
        name, equals, values = text.partition("=")
        for single in [name.strip()] if equals else names([name]):
            if single in compared:
                raise SettingError(f"--sensitive must name each parameter once, got {single!r} more than once")
            compared[single] = names([values]) if equals else None
        if equals and not compared[name.strip()]:
            raise SettingError(f"--sensitive NAME=VALUE,VALUE must list the values to compare, got {text!r}")
    return compared


def values_of(parameter: Parameter, texts: list[str]) -> list[Any]:
    """The parameter's values that the texts stand for; what stands for none is left to be refused."""
    known = parameter.categories or parameter.values if isinstance(parameter, (Category, Ordinal)) else ()
    by_text = {str(value).lower() if isinstance(value, bool) else str(value): value for value in known}
    return [by_text.get(text, by_text.get(text.lower(), number_or_text(text))) for text in texts]


def number_or_text(text: str) -> int | float | str:
    """The number that a text stands for, or the text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


# Tables


def read_frame(path: str, missing: Sequence[str] = ()) -> pd.DataFrame:
    """Read a CSV or Parquet file; `missing` are markers of missing values besides those that pandas knows."""
    file = Path(path)
    if file.is_dir():
        raise DataError(f"the data must be a file, got the folder {path}")
    kind = file.name.lower()
    if not kind.endswith((".csv", ".csv.gz", ".parquet")):
        raise DataError(f"the data must be a .csv, .csv.gz or .parquet file, got {path!r}")
    try:
        with opened_regular(file) as found:  # a pipe may never end
            is_empty = not found.read(1)
        if is_empty:
            raise DataError(f"the data must have a header and a row, got an empty file: {path}")
        return _read_parquet(file, missing) if kind.endswith(".parquet") else _read_csv(file, missing)
    except OSError as error:
        near = "" if file.exists() else nearest(file.name, (other.name for other in file.parent.glob("*")))
        raise DataError(f"the data must be a file that can be read, got {error.strerror}: {path}{near}") from None


def _read_parquet(file: Path, missing: Sequence[str]) -> pd.DataFrame:
    import pandas as pd
    import pyarrow

    if missing:
        raise SettingError(f"--missing is for CSV, as Parquet has missing values of its own, got {missing[0]!r}")
    try:
        frame = pd.read_parquet(file, engine="pyarrow")
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{file} must be a Parquet file, got {_first_line(error)}") from None
    if frame.empty:
        raise DataError(f"{file} must have a column and a row at least, got the shape {frame.shape}")
    return frame


def _read_csv(file: Path, missing: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    try:
        with _open(file) as text:
            _check_table(file, text)
    except UnicodeDecodeError as error:
        raise DataError(f"{file} must be UTF-8 text, got the byte 0x{error.object[error.start]:02x}") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{file} must be compressed by gzip, got {_first_line(error)}") from None
    try:
        return pd.read_csv(file, encoding="utf-8-sig", na_values=list(missing), low_memory=False, index_col=False)
    except (ValueError, pd.errors.ParserError) as error:
        raise DataError(f"{file} must be a CSV file, got {_first_line(error)}") from None


def _open(file: Path) -> IO[str]:
    """Open a file that begins like text."""
    opener: Any = gzip.open if file.suffix.lower() == ".gz" else open
    with opener(file, "rb") as raw:
        head = raw.read(HEAD)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{file} must be UTF-8 text, got UTF-16: save it as UTF-8")
    if b"\0" in head:
        raise DataError(f"{file} must be UTF-8 text, got zero bytes: a binary file, or UTF-16?")
    return opener(file, "rt", encoding="utf-8-sig", newline="")


def _check_table(file: Path, text: Iterable[str]) -> None:
    """Pandas fills rows that are too short and renames columns that come twice: both are refused here."""

    def lines() -> Iterator[str]:
        for number, line in enumerate(text, start=1):
            if "\0" in line:
                raise DataError(f"{file} must be text, got a zero byte on line {number:,}")
            yield line

    reader = csv.reader(lines())
    try:
        header = next((row for row in reader if row), [])
        _check_header(file, header)
        n_rows, begins = 0, reader.line_num + 1
        for row in reader:
            if row and len(row) != len(header):
                rule = f"a row must have {len(header)} values, as the header has"
                raise DataError(f"{file}: {rule}, got {len(row)} on line {begins:,}")
            n_rows += bool(row)
            begins = reader.line_num + 1
    except csv.Error as error:
        raise DataError(f"{file} must be a CSV file, got {error} on line {reader.line_num:,}") from None
    if not n_rows:
        raise DataError(f"{file} must have a row of data, got only a header: {', '.join(header)}")


def _check_header(file: Path, header: list[str]) -> None:
    if not header:
        raise DataError(f"{file} must have a header and a row, got only blank lines")
    repeated = [name for name, n in Counter(header).items() if n > 1 and name]
    if repeated:
        raise DataError(f"{file}: columns must have distinct names, got {', '.join(repeated)} more than once")
    if len(header) == 1 and set(";\t") & set(header[0]):
        raise DataError(f"{file} must have commas between its columns, got {header[0]!r:.60}")


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def labels_of(frame: pd.DataFrame, label: str, path: str) -> pd.Series:
    """The labels of rows, as plain numbers or strings; all must be known."""
    import pandas as pd

    column = frame[label]
    unknown = int(column.isna().sum())
    if unknown:
        raise DataError(
            f"every row must have a known label, got {unknown:,} of {len(column):,} in {path} without {label}: leave "
            "these rows out"
        )
    return pd.Series(column.tolist(), name=label)


def check_columns(rows: pd.DataFrame, domain: Domain, what: str = "the data") -> None:
    """Refuse rows whose columns are not the domain's parameters."""
    check_parameters(domain, rows, what)
    unknown = [str(name) for name in rows.columns if name not in domain.names]
    if unknown:
        raise DataError(
            f"every column of {what} must be a parameter of the domain, the --label or one to --ignore, "
            f"got {listed(unknown)}{nearest(unknown[0], domain.names)}"
        )
