"""The limits that end a search, the reasons why it stops, and the settings that are part of its identity."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from fairprobe.checks import check_above_0, checked_count, is_number
from fairprobe.errors import SettingError


class StopReason(StrEnum):
    """The reason why a search ended: a word, with a `sentence` that explains it."""

    sentence: str

    def __new__(cls, word: str, sentence: str) -> StopReason:
        """Return a member that is equal to its word, a string, and has the sentence as an attribute."""
        reason = str.__new__(cls, word)
        reason._value_ = word
        reason.sentence = sentence
        return reason

    MAX_CASES = "max-cases", "as many cases as asked for were found"
    MAX_INPUTS = "max-inputs", "as many inputs as allowed were judged"
    MAX_QUERIES = "max-queries", "as many queries as allowed were sent"
    MAX_SECONDS = "max-seconds", "the time allowed was used up"
    EXHAUSTED = "exhausted", "every input of the domain was judged"
    NOTHING_FOUND = "nothing-found", "no case was found in as many inputs as max_barren allows"
    NOTHING_NEW = "nothing-new", "no further case was found in as many inputs as max_barren allows"
    INCOMPLETE = "incomplete", "shards that kept failing were left out; what the others found is kept"
    INTERRUPTED = "interrupted", "it was interrupted; what was found before is kept"
    FAILED = "failed", "the model or the run failed; what was found before is kept"


@dataclass(frozen=True)
class SearchSettings:
    """Settings that the shards of a search depend on, in addition to the domain, the model and the seed."""

    strategy: str
    n_walkers: int
    n_global: int
    n_local: int
    delta_v: float
    delta_pr: float
    shard_inputs: int
    diversify: bool = True
    max_changes: int | None = None
    hurry: bool | None = None
    """True if all walkers of a strategy begin at once, for more cases per second; None until the limits decide it."""

    def __post_init__(self) -> None:
        for name in ("n_walkers", "n_global", "n_local", "shard_inputs"):
            object.__setattr__(self, name, checked_count(name, getattr(self, name)))
        for name in ("delta_v", "delta_pr"):
            value = getattr(self, name)
            if not is_number(value) or value < 0:
                raise SettingError.about(name, f"must be a finite number of at least 0, got {value!r}")
            object.__setattr__(self, name, float(value))
        if self.max_changes is not None:
            object.__setattr__(self, "max_changes", checked_count("max_changes", self.max_changes, at_least=0))
        if not isinstance(self.diversify, bool):
            raise SettingError.about("diversify", f"must be True or False, got {self.diversify!r}")
        if not isinstance(self.hurry, bool | None):
            raise SettingError.about("hurry", f"must be True, False or None, got {self.hurry!r}")


@dataclass(frozen=True)
class Limits:
    """The limits that end a search; None means no limit."""

    max_cases: int | None = None
    max_seconds: float | None = None
    max_queries: int | None = None
    max_judged: int | None = None
    max_barren: int | None = None

    def __post_init__(self) -> None:
        for name in ("max_cases", "max_queries", "max_judged", "max_barren"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else checked_count(name, value))
        check_above_0("max_seconds", self.max_seconds)

    def check_affords(self, n_members: int, *, asked_twice: bool = False) -> None:
        """Raise a SettingError if `max_queries` is too small for one input and its twins."""
        n = 2 * n_members if asked_twice else n_members
        if self.max_queries is not None and self.max_queries < n:
            twice = ", asked about twice if it is a case" if asked_twice else ""
            raise SettingError.about(
                "max_queries", f"must be at least {n}, what one input and its twins take{twice}, got {self.max_queries}"
            )


def settled(**arguments: Any) -> tuple[SearchSettings, Limits]:
    """Return the settings and the limits of a search, checked, from the arguments of `search`."""
    fields = [name for name in SearchSettings.__dataclass_fields__ if name in arguments]
    settings = SearchSettings(**{name: arguments[name] for name in fields})
    return settings, Limits(**{name: arguments[name] for name in Limits.__dataclass_fields__})
