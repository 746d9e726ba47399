"""Protocol of a service with a JSON of its own: a template of the request, and paths of the outputs in the answer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fairprobe.checks import nearest
from fairprobe.errors import SettingError
from fairprobe.model.protocols import EncodedRows, Instances, InvalidAnswerError, encoded, in_short

MARKS: Final = ("ROW", "VALUES")
"""Texts that stand for a row in a template: an object by column name, and a list of its values."""

_NAME, _PLACE = r"([^.\[\]]+)", r"\[(\*|\d+)\]"
_STEP: Final = f"{_NAME}|{_PLACE}"
_PATH: Final = rf"(?:{_STEP})(?:\.{_NAME}|{_PLACE})*"
"""Patterns of a step of a path and of the whole. A step is the name of a field, `[*]` for each element of a list, or
`[0]` for one of them."""

_RULE: Final = "must have the path of each output in the JSON of an answer, with [*] once if a request has many rows"


class TemplatedJson(Instances):
    """Protocol of a service that takes and gives a JSON of its own form."""

    name = "json"
    takes_frames = True

    def __init__(self, url: str, template: str, paths: Mapping[str, str]) -> None:
        super().__init__(url)
        try:
            content = json.loads(template)
        except (TypeError, ValueError) as error:
            raise SettingError.about("json_template", f"must be JSON, got {template!r:.200}: {error}") from None
        marks = [mark for mark in MARKS for _ in range(encoded(content).count(encoded(mark)))]
        if len(marks) != 1:
            rule = 'must hold "ROW" (an object) or "VALUES" (a list) once, where a row stands'
            raise SettingError.about("json_template", f"{rule}, got {template!r:.200}")
        mark = encoded(marks[0])
        self.as_objects = marks[0] == "ROW"
        several = _repeated(content, mark)
        self.is_single = several is None
        self._around = [b"", b""]
        if several is not None:
            self._around = encoded(several[0]).split(mark)
            several[0] = marks[0]
        self._head, self._tail = encoded(content).split(mark)
        if not paths:
            raise SettingError.about("answers", f"{_RULE}, got none beside json_template: as label=decisions[*].label")
        for output, path in paths.items():
            if not re.fullmatch(_PATH, path) or path.count("[*]") != 1 - self.is_single:
                raise SettingError.about("answers", f"{_RULE}, got {path!r} for {output!r}: as decisions[*].label")

    def request(self, batch: EncodedRows, places: Sequence[int], answer: str | None) -> bytes:
        """Return the template with the rows of `batch` that have the numbers `places`."""
        before, after = self._around
        return self._head + b",".join([before + batch.rows[place] + after for place in places]) + self._tail

    def values(self, content: Any, n_rows: int, answer: str | None) -> Any:
        """Return the values at the path `answer` in the decoded JSON of a reply."""
        if answer is None:
            raise SettingError.about("answers", "must have the path of the output that is asked for, got none for it")
        found = _at(content, re.findall(_STEP, answer), answer)
        return found if "[*]" in answer else [found]


def _repeated(content: Any, mark: bytes) -> list[Any] | None:
    """Return the innermost list of one element that holds the mark; None if there is none."""
    for each in content.values() if isinstance(content, dict) else content if isinstance(content, list) else ():
        found = _repeated(each, mark)
        if found is not None:
            return found
    is_repeated = isinstance(content, list) and len(content) == 1 and mark in encoded(content)
    return content if is_repeated else None


def _at(content: Any, steps: Sequence[tuple[str, str]], path: str) -> Any:
    """Return the value to which the steps of a path lead, or the list of values after `[*]`."""
    if not steps:
        return content
    (name, place), rest = steps[0], steps[1:]
    if place == "*" and isinstance(content, list):
        return [_at(each, rest, path) for each in content]
    if place.isdigit() and isinstance(content, list) and int(place) < len(content):
        return _at(content[int(place)], rest, path)
    if name and isinstance(content, dict) and name in content:
        return _at(content[name], rest, path)
    near = nearest(name, content) if name and isinstance(content, dict) else ""
    step = name or f"[{place}]"
    raise InvalidAnswerError(f"nothing at {step!r} of the path {path!r} in {in_short(content)}{near}")
