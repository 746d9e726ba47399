"""Cases in a file of their own, to be replayed: JSON, written whole or not at all, read with every doubt."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairprobe.auditing.content import plain
from fairprobe.auditing.folder import RunFolder
from fairprobe.checks import parsed_toml
from fairprobe.domain import Domain
from fairprobe.domain.toml import parse, text_of
from fairprobe.errors import DataError
from fairprobe.oracle import checked_threshold

if TYPE_CHECKING:
    import pandas as pd

FORMAT = "fairprobe-cases"
FORMAT_VERSION = 1

GITIGNORE = "# Cases may be real rows. To share them, delete this file.\n*\n"


@dataclass(frozen=True)
class Question:
    """The question that cases answer: replayed to another one, they would tell nothing."""

    sensitive: tuple[str, ...]
    links: tuple[str, ...]
    """In words."""
    output: str
    threshold: float

    @classmethod
    def of(cls, domain: Domain, output: str, threshold: float | None) -> Question:
        """The question that a domain asks."""
        links = tuple(link.words() for link in domain.links)
        return cls(domain.sensitive, links, output, checked_threshold(threshold, output))

    @classmethod
    def told(cls, asked: Mapping[str, Any], links: Iterable[Any]) -> Question:
        """The question that a file tells."""
        names, words = tuple(map(str, asked["sensitive"])), tuple(map(str, links))
        return cls(names, words, str(asked["output"]), float(asked["threshold"]))

    def difference(self, other: Question) -> str | None:
        """What another question asks otherwise, in words; None if it is the same."""
        for name, ours in vars(self).items():
            theirs = vars(other)[name]
            if ours != theirs:
                return f"they were found with {name} {_words(ours)}, not {_words(theirs)}"
        return None


def _words(value: Any) -> str:
    return (", ".join(value) or "none") if isinstance(value, tuple) else str(value)


@dataclass(frozen=True)
class SavedCases:
    """Cases, the question they answer, and the domain they were found in."""

    cases: pd.DataFrame
    question: Question
    domain: Domain | None
    """None where a constraint is a function, which no file can hold."""
    about: str = ""
    """Where they were found: the name of a test."""

    def write(self, path: str | PathLike[str]) -> None:
        """Write the file, and its folder where there is none."""
        file, domain = Path(path), self.domain
        is_new = not file.parent.is_dir()
        folder = RunFolder(file.parent)
        if is_new:
            folder.write_by(".gitignore", lambda part: part.write_text(GITIGNORE, encoding="utf-8"))
        content = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "about": self.about,
            "question": vars(self.question),
            "domain": None if domain is None or domain.restrictions.callables else text_of(domain),
            "cases": plain(self.cases.astype(object).to_dict("records")),
        }
        text = f"{json.dumps(content, indent=1, ensure_ascii=False)}\n"
        folder.write_by(file.name, lambda part: part.write_text(text, encoding="utf-8", errors="backslashreplace"))

    @classmethod
    def read(cls, path: str | PathLike[str]) -> SavedCases:
        """Read the file; whatever is wrong with it is a DataError."""
        import pandas as pd

        content = read_json(path, FORMAT, FORMAT_VERSION)
        try:
            question = Question.told(content["question"], content["question"]["links"])
            text, cases = content["domain"], content["cases"]
            if not isinstance(cases, list) or not all(isinstance(each, dict) for each in cases):
                raise ValueError("cases that are no list of objects")
            domain = None if text is None else Domain._of(parse(parsed_toml(text)))
            return cls(pd.DataFrame(cases), question, domain, str(content["about"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:  # DomainError is a ValueError
            what = f"no {error}" if isinstance(error, KeyError) else f"{error}"
            raise DataError(f"{path} must hold saved cases, got {what}") from None


def read_json(path: str | PathLike[str], form: str, newest: int) -> Mapping[str, Any]:
    """A file that says that it is of a form, and of a version that is known."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path} must be a file that can be read, got {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} must be JSON, got {type(error).__name__}: {error}") from None
    if not isinstance(content, dict) or content.get("format") != form:
        got = content.get("format") if isinstance(content, dict) else type(content).__name__
        raise DataError(f"{path} must be of the format {form}, got {got!r}")
    version = content.get("format_version")
    if not isinstance(version, int) or not 1 <= version <= newest:
        raise DataError(f"{path} must be of a version up to {newest}, got {version!r}: a newer fairprobe may read it")
    return content
