"""Reads stored cases from files of saved cases, from the folder of an audit or a search, or from a search's table.

A file of saved cases is JSON. It is written atomically, and every value is checked when it is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fairprobe.auditing import content as audit_content
from fairprobe.auditing.content import plain
from fairprobe.auditing.result import AUDIT, DOMAIN, RunFolder
from fairprobe.auditing.state import MASKED
from fairprobe.checks import opened_regular, parsed_toml
from fairprobe.domain import Domain
from fairprobe.domain.toml import parse, text_of
from fairprobe.errors import DataError
from fairprobe.files import write_results
from fairprobe.oracle import checked_threshold
from fairprobe.searching.stored_search import StoredCases, merged
from fairprobe.store.digests import hash_of_data
from fairprobe.store.run_folder import ABOUT, as_written

if TYPE_CHECKING:
    import pandas as pd

FORMAT = "fairprobe-cases"
FORMAT_VERSION = 1

MOST_BYTES: Final = 2**29
"""Largest size in bytes of a JSON file of cases or of an audit that is read. Chosen: an audit of ten million rows."""

GITIGNORE = "# Cases may be real rows. To share them, delete this file.\n*\n"

ROW = "row"
"""Prefix of the name of a case that is a real row, before its index; other names have "case" and a number."""

TWIN = "twin_"
"""Prefix of the columns of changed values in the table that a search writes."""


@dataclass(frozen=True)
class Question:
    """The question that stored cases answer: sensitive parameters, links, output and threshold.

    Replaying cases with another question would have no meaning.
    """

    sensitive: tuple[str, ...]
    """Names of the sensitive parameters."""
    links: tuple[str, ...]
    """The domain's links in words."""
    output: str
    threshold: float

    @classmethod
    def of(cls, domain: Domain, output: str, threshold: float | None) -> Question:
        """Return the question that a domain asks with an output and a threshold."""
        links = tuple(link.words() for link in domain.links)
        return cls(domain.sensitive, links, output, checked_threshold(threshold, output))

    @classmethod
    def told(cls, asked: Mapping[str, Any], links: Iterable[Any]) -> Question:
        """Return the question that a file states; `asked` is its object of JSON, and `links` are the links in words."""
        names, words = tuple(map(str, asked["sensitive"])), tuple(map(str, links))
        return cls(names, words, str(asked["output"]), float(asked["threshold"]))

    def difference(self, other: Question) -> str | None:
        """Return words on the first difference to another question; None if the questions are equal."""
        for name, ours in vars(self).items():
            theirs = vars(other)[name]
            if ours != theirs:
                return f"they were found with {name} {_words(ours)}, not {_words(theirs)}"
        return None


def _words(value: Any) -> str:
    return (", ".join(value) or "none") if isinstance(value, tuple) else str(value)


@dataclass(frozen=True)
class SavedCases:
    """Stored cases of one run, with the question that they answer and the domain, if the run states them."""

    cases: pd.DataFrame
    """Frame of the cases of which all values are stored, one per row, with names such as "case 1" as index."""
    question: Question | None = None
    domain: Domain | None = None
    """Domain of the run; None if it is unknown or if a constraint is a function, which no file can hold."""
    about: str = ""
    """Origin of the cases, such as the name of a test."""
    changing: frozenset[str] = frozenset()
    """Columns that change in twins, for a run that does not state its question."""
    command: str | None = None
    """Command line that made the run; None if the run does not state it."""
    in_part: pd.DataFrame | None = None
    """Frame of the cases of which only some values are stored, with names such as "row 17" as index.

    They are real rows, of which an audit stores only what varies, or cases with masked values."""
    rows: Sequence[Any] | None = None
    """Index label in the audited data of each case in `in_part`; None if values are masked."""
    data_hash: str | None = None
    """Digest of the audited rows, which shows if rows given later are the same."""

    @property
    def n_cases(self) -> int:
        """The number of cases, including those of which only some values are stored."""
        return len(self.cases) + (0 if self.in_part is None else len(self.in_part))

    def completed(
        self, data: pd.DataFrame | None, labels: Any, names: Sequence[str]
    ) -> tuple[pd.DataFrame, pd.DataFrame, str]:
        """Return the complete cases, the cases that stay incomplete, and the reason why, as a tuple.

        Cases of which only some values are stored are completed from the rows of `data` by their index, if these are
        the audited rows. `names` are the parameters of the domain.
        """
        import pandas as pd

        none, lost = self.cases.iloc[:0], self.in_part
        if lost is None or not len(lost):
            return self.cases, none, ""
        if self.rows is None:
            return self.cases, lost, "values are masked in the run"
        why = "a real row is told by its index alone"
        if data is None:
            return self.cases, lost, f"{why}, and no --data were given"
        held = data[[name for name in names if name in data.columns]]
        if self.data_hash not in (hash_of_data(held), hash_of_data(held, labels)):
            return self.cases, lost, f"{why}, and --data are other rows than those audited"
        places = {plain(index): place for place, index in enumerate(data.index.tolist())}
        found = held.iloc[[places[row] for row in self.rows]].astype(object).set_axis(lost.index)
        found[lost.columns] = lost
        return pd.concat([self.cases, found] if len(self.cases) else [found]), none, ""

    # A file of its own

    def write(self, path: str | PathLike[str]) -> None:
        """Write the cases, their question and domain to a file of saved cases, and create its folder if necessary."""
        file, domain = Path(path), self.domain
        is_new = not file.parent.is_dir()
        folder = RunFolder(file.parent).path
        if is_new:
            write_results(folder / ".gitignore", lambda part: part.write_text(GITIGNORE, encoding="utf-8"))
        content = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "about": self.about,
            "question": vars(self.question),
            "domain": None if domain is None or domain.restrictions.callables else text_of(domain),
            "cases": plain(self.cases.astype(object).to_dict("records")),
        }
        text = f"{json.dumps(content, indent=1, ensure_ascii=False)}\n"
        write_results(file, lambda part: part.write_text(text, encoding="utf-8", errors="backslashreplace"))

    @classmethod
    def read(cls, path: str | PathLike[str]) -> SavedCases:
        """Return the cases in a file of saved cases; any fault in it raises a DataError."""
        import pandas as pd

        with _json_of(path, FORMAT, FORMAT_VERSION) as content:
            question = Question.told(content["question"], content["question"]["links"])
            text, cases = content["domain"], content["cases"]
            if not isinstance(cases, list) or not all(isinstance(each, dict) for each in cases):
                raise ValueError("cases that are no list of objects")
            domain = None if text is None else Domain._of(parse(parsed_toml(text)))
            return cls(_named(pd.DataFrame(cases)), question, domain, str(content["about"]))


def read_run(path: str) -> list[SavedCases]:
    """Return the cases in a path: the folder of an audit or a search, or a file or folder of saved cases.

    Each file of saved cases gives one entry of the list.
    """
    place = Path(path)
    if not place.exists():
        raise DataError(f"a run must be a folder or a file that exists, got {path}")
    if (place / AUDIT).exists():
        return [_of_audit(place)]
    if (place / ABOUT).exists():
        with as_written(place):
            return [_of_search(place)]
    files = [place] if place.is_file() else sorted(place.glob("*.json"))
    if not files:
        rule = f"a run must be a folder with {AUDIT}, with {ABOUT} or with saved cases (.json)"
        raise DataError(f"{rule}, got none of them in {path}")
    return list(map(SavedCases.read, files))


def of_table(table: pd.DataFrame) -> SavedCases:
    """Return the cases in a table that `fairprobe search` wrote, one per row."""
    names = set(map(str, table.columns))
    changing = {name.removeprefix(TWIN) for name in names if name.startswith(TWIN)} & names
    return SavedCases(_named(table), changing=frozenset(changing))


def _named(cases: pd.DataFrame) -> pd.DataFrame:
    return cases.set_axis([f"case {number}" for number in range(1, len(cases) + 1)])


def _of_search(folder: Path) -> SavedCases:
    """Return the cases in the folder of a search; if the search has not ended, those of its finished shards (parts)."""
    import pandas as pd

    stored = StoredCases(folder)
    settings, (entries, most) = stored.run.about["settings"], stored.of_result()
    frames = list(merged([(stored, entries)], most))
    cases = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=stored.domain.names)
    question = Question.of(stored.domain, settings["output"], settings["threshold"])
    return SavedCases(_named(cases), question, stored.domain)


def _of_audit(folder: Path) -> SavedCases:
    import pandas as pd

    domain = Domain.from_toml(folder / DOMAIN) if (folder / DOMAIN).exists() else None
    with _json_of(folder / AUDIT, audit_content.FORMAT, audit_content.FORMAT_VERSION) as content:
        about = content["about"]
        links = [] if about["config"]["linked"] is False else content["domain"]["links"]
        n_parameters, is_masked = len(content["domain"]["parameters"]), bool(about["masked"])
        whole, in_part, rows = {}, [], []
        for each in content["cases"]:
            case = {name: value for name, value in each["case"].items() if value != MASKED}
            if len(case) == n_parameters:
                whole[f"case {each['id']}"] = case
            else:
                in_part.append(case)
                rows.append(None if is_masked else each["origin"]["row"])
        return SavedCases(
            pd.DataFrame(list(whole.values()), index=list(whole)),
            Question.told(content["question"], links),
            domain,
            command=None if is_masked else about["command"],
            in_part=pd.DataFrame(in_part, index=[f"{ROW} {row}" for row in rows], dtype=object),
            rows=None if is_masked else rows,
            data_hash=str(about["data"]["hash"]),
        )


@contextmanager
def _json_of(path: str | PathLike[str], form: str, newest: int) -> Iterator[dict[str, Any]]:
    """Yield the object in a JSON file; any fault in the file, or met in reading it, raises a DataError.

    It must have the "format" `form` and a "format_version" from 1 to `newest`.
    """
    try:
        with opened_regular(path, MOST_BYTES) as file:
            content = json.loads(file.read().decode())
        if content["format"] != form:
            raise DataError(f"{path} must be of the format {form}, got {content['format']!r}")
        version = content["format_version"]
        if not isinstance(version, int) or not 1 <= version <= newest:
            rule = f"{path} must be of a version up to {newest}"
            raise DataError(f"{rule}, got {version!r}: a newer fairprobe may read it")
        yield content
    except DataError:
        raise
    except OSError as error:
        raise DataError(f"{path} must be a file that can be read, got {error.strerror}") from None
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        what = f"no {error}" if isinstance(error, KeyError) else f"{type(error).__name__}: {error}"
        raise DataError(f"{path} must be as fairprobe writes it, got {what}") from None
