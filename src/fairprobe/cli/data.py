"""Reads the rows, the labels and the domain that the options name; without --domain, infers it from the rows.

A link is a line of text, with a semicolon between roles:

    relationship~sex: Male=Husband, Female=Wife; Male=Widower, Female=Widow

A link that shifts a number stands in a domain file alone.
Names and values that hold one of ~ : ; , = stand in quotes: "...", '...' or `...`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairprobe.arguments import Argument, Column, DataFile, DomainSource, SensitiveNames
from fairprobe.checks import nearest, repeated
from fairprobe.cli.files import lines_of, read_frame
from fairprobe.cli.words import flag, note
from fairprobe.domain import Category, Domain, Link, Ordinal, Parameter
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
            semicolon before another role. Shifts of numbers stand in the file of `domain`.
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
        """Read a file of cases that fairprobe wrote, and return its table without the apostrophes put before texts.

        A Parquet file has none, and is returned as it is.
        """
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
            got = f"{unknown:,} of {len(column):,} in {self.data} without {self.label}"
            raise DataError(f"every row must have a known label, got {got}: leave these rows out")
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
        rule = f"{flag(option)} must be one of the columns {listed(known)}"
        return DataError(f"{rule}; got {name!r}{nearest(name, known)}")

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
        rule = f"every column of {what} must be a parameter of the domain, the --label or one to --ignore"
        raise DataError(f"{rule}, got {listed(unknown)}{nearest(unknown[0], domain.names)}")


# Texts of options as values

Compared = dict[str, list[str] | None]
"""Texts of the values to compare, by name of the sensitive parameter; None if all its values are compared."""


def as_options(said: Mapping[str, str | Sequence[str]]) -> str:
    """Return the values of options, by name, as the text of a command line.

    >>> as_options({"label": "income", "missing": ["?", "n/a"]})
    "--label income --missing '?' --missing n/a"
    """
    given = [(name, one) for name, value in said.items() for one in ([value] if isinstance(value, str) else value)]
    return " ".join(f"{flag(name)} {shlex.quote(one)}" for name, one in given)


def names(texts: Iterable[str]) -> list[str]:
    """Return the names in some texts, each of which holds one name or several with commas between them.

    >>> names(["id,name", "zip"])
    ['id', 'name', 'zip']
    """
    return [name.strip() for text in texts for name in text.split(",") if name.strip()]


def compared_values(texts: Sequence[str]) -> Compared:
    """Return the names of sensitive parameters in texts of --sensitive, each with the values to compare, if listed.

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
    """Return the values of a parameter that some texts stand for.

    A text that stands for no known value becomes a number or stays a text, which a later check refuses.
    """
    known = parameter.categories or parameter.values if isinstance(parameter, (Category, Ordinal)) else ()
    by_text = {str(value).lower() if isinstance(value, bool) else str(value): value for value in known}
    return [by_text.get(text, by_text.get(text.lower(), number_or_text(text))) for text in texts]


def number_or_text(text: str) -> int | float | str:
    """Return the int or float that a text stands for, or the text itself if it is no number."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def as_given(argument: Argument, value: Any) -> Any:
    """Return the value of an option as the library takes it: a list of NAME=VALUE becomes a dict, others stay."""
    if value is None or argument.kind is None or "=" not in (argument.kind.metavar or ""):
        return value
    parts = [each.partition("=") for each in value]
    for left, equals, right in parts:
        if not left or not right:
            raise SettingError(f"{flag(argument.name)} must be NAME=VALUE, got {left + equals + right!r}")
    return {left.strip(): right.strip() for left, _, right in parts}


# Links

EXAMPLE = "'relationship~sex: Male=Husband, Female=Wife' (with a semicolon before another role)"

MARKS = "~:;,="
QUOTES = "\"'`"
HIDDEN = str.maketrans({mark: chr(0xE000 + place) for place, mark in enumerate(MARKS)})
SHOWN = {hidden: ord(mark) for mark, hidden in zip(MARKS, map(ord, HIDDEN.values()), strict=True)}
"""Translation table that restores separators within quotes, which are hidden while a text is split."""

_QUOTED = re.compile(r"(?:\A|(?<=[~:;,=]))\s*(?:\"[^\"]*\"|'[^']*'|`[^`]*`)")
"""Pattern of a quoted name. A quote opens only where a name begins: not in "driver's"."""


def parse_link(text: str, value: Callable[[str, str], Any]) -> Link:
    """Return the link with roles that a text of --link describes.

    `value` is a function from a parameter's name and a text to the parameter's value that the text stands for.

    >>> parse_link("relationship ~ sex: Male=Husband, Female=Wife", lambda name, text: text).words()
    'relationship with sex (Male Husband, Female Wife)'
    """
    who, _, how = _QUOTED.sub(lambda quoted: quoted[0].translate(HIDDEN), text).partition(":")
    column, sensitive = map(_bare, who.partition("~")[::2])
    if not (column and sensitive and how.strip()):
        raise SettingError(f"--link must be COLUMN~SENSITIVE: and what changes, as in {EXAMPLE}; got {text!r}")
    roles = []
    for part in how.split(";"):
        cells = [_cell(text, cell) for cell in part.split(",")]
        role = _once(text, [(value(sensitive, who), value(column, player)) for who, player in cells])
        roles.append({who: player for who, player in role.items() if player != ""})  # nobody plays an empty cell
    return Link(column, sensitive, roles)


def _cell(text: str, cell: str) -> tuple[str, str]:
    who, *player = map(_bare, cell.split("="))
    if len(player) != 1 or not who:
        advice = "a shift of a number stands in a domain file alone"
        raise SettingError(f"--link {text!r}: a role must be VALUE=VALUE, got {cell.strip()!r}: {advice}")
    return who, player[0]


def _once(text: str, cells: list[tuple[Any, Any]]) -> dict[Any, Any]:
    for who in repeated(who for who, _ in cells):
        raise SettingError(f"--link {text!r}: a sensitive value must stand once in a role, got {who!r} twice")
    return dict(cells)


def link_text(link: Link) -> str:
    """Return a link with roles as a text that `parse_link` reads.

    >>> link_text(Link("relationship", "sex", [{"Male": "Husband", "Female": "Wife"}, {"Male": "son, in law"}]))
    'relationship~sex: Male=Husband, Female=Wife; Male="son, in law"'
    """
    table = (link.roles or {}).values()
    roles = [", ".join(f"{_quoted(key)}={_quoted(player)}" for key, player in role.items()) for role in table]
    return f"{_quoted(link.column)}~{_quoted(link.sensitive)}: {'; '.join(roles)}"


def _quoted(value: Any) -> str:
    text = str(value)
    if text.strip() == text and text and not set(MARKS) & set(text) and text[0] not in QUOTES:
        return text
    quote = next((quote for quote in QUOTES if quote not in text), QUOTES[0])
    return f"{quote}{text}{quote}"


def _bare(text: str) -> str:
    """Return a name or value without outer spaces and one pair of matching quotes.

    Separators that the caller hid before splitting the text are restored.
    """
    text = text.strip().translate(SHOWN)
    return text[1:-1] if len(text) > 1 and text[0] in QUOTES and text[-1] == text[0] else text
