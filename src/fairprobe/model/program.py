"""Adapter for a program that reads rows and answers a line a row: kept alive between batches, restarted if it dies.

Rows go to its standard input as CSV, after one line with the names, or as JSON, one object a line. For each it writes
one line: a label or a number, in CSV several numbers with commas between them, in JSON any of these as JSON.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.checks import checked_count, nearest
from fairprobe.domain.domain import Domain
from fairprobe.errors import ModelError, SettingError
from fairprobe.model.adapters import Adapter
from fairprobe.model.encoding import objects
from fairprobe.model.forms import Form, FrameForm
from fairprobe.model.protocols import InvalidAnswerError, checked_answers, joined
from fairprobe.model.redaction import shortened

FORMATS: Final = ("csv", "jsonl")


def start(
    command: str | Sequence[str], *, protocol: str = "csv", timeout: float = 60.0, retries: int = 3
) -> ProgramModel:
    """A model that is a program, which is started when it is first asked.

    Args:
        command: the program and its arguments, as a list or as one line, which no shell sees.
        protocol: "csv" or "jsonl": how rows are written to it, and answers read.
        timeout: seconds without a line of answer after which it is given up.
        retries: how often it is started again, and asked the same, if it died or was given up.
    """
    if isinstance(command, str):
        try:
            command = shlex.split(command)
        except ValueError as error:
            raise SettingError(f"a command must be words as in a shell, got {command!r}: {error}") from None
    if not command:
        raise SettingError("a command must name a program, got nothing")
    if protocol not in FORMATS:
        rule = f"of a program must be one of {', '.join(FORMATS)}; got {protocol!r}{nearest(protocol, FORMATS)}"
        raise SettingError.about("protocol", rule)
    if not (isinstance(timeout, (int, float)) and 0 < timeout < np.inf):
        raise SettingError.about("timeout", f"must be a number above 0, got {timeout!r}")
    if shutil.which(command[0]) is None:
        raise SettingError(f"a command must name a program that can be run, got {command[0]!r}")
    return ProgramModel(tuple(command), protocol, float(timeout), checked_count("retries", retries, at_least=0))


class ProgramModel:
    """A program that answers rows. Sent to another process, it is started there anew."""

    def __init__(self, command: tuple[str, ...], protocol: str, timeout: float, retries: int) -> None:
        from fairprobe.model.background import PerProcess  # imports asyncio, which takes its time
        from fairprobe.model.program_process import Program

        self.command = command
        self.protocol = protocol
        self._here = PerProcess(partial(Program, command, self.name, timeout, retries))

    def __repr__(self) -> str:
        return f"ProgramModel({self.name})"

    @property
    def name(self) -> str:
        """The program, without its arguments."""
        return f"the program {os.path.basename(self.command[0])}"

    def predict(self, rows: Any) -> NDArray[Any]:
        """One answer for each row of a frame."""
        return self.ask("label", rows)

    def ask(self, output: str, rows: Any) -> NDArray[Any]:
        """The answers to the rows of a frame, read as that output."""
        from fairprobe.model.background import run

        if not len(rows):
            return np.empty(0)
        if self.protocol == "csv":
            header, lines = _csv(rows.iloc[:0], header=True), _lines_of(_csv(rows, header=False), len(rows))
        else:
            header, lines = "", [json.dumps(row) + "\n" for row in objects(rows)]
        return self._read(run(self._here.get().ask(header, lines)), output)

    def close(self) -> None:
        """End the program."""
        self._here.close()

    def _read(self, lines: list[str], output: str) -> NDArray[Any]:
        try:
            if self.protocol == "jsonl":
                return joined(checked_answers(json.loads(f"[{','.join(lines)}]"), len(lines)))
            return _labels(lines) if output == "label" else joined(checked_answers(_numbers(lines), len(lines)))
        except (InvalidAnswerError, ValueError) as error:
            what = error if isinstance(error, InvalidAnswerError) else "lines that are no JSON"
            raise ModelError(
                f"{self.name} must answer one {'JSON value' if self.protocol == 'jsonl' else 'label or number'} a "
                f"line, got {what}, as in {shortened(' | '.join(lines[:3]), 120)!r}"
            ) from None


def _csv(rows: Any, *, header: bool) -> str:
    text = io.StringIO()
    rows.to_csv(text, index=False, header=header, lineterminator="\n")
    return text.getvalue()


def _lines_of(text: str, n_rows: int) -> list[str]:
    lines = text.splitlines(keepends=True)
    if len(lines) != n_rows:
        raise SettingError("a row for a program must be one line, got a value with a line break: use protocol='jsonl'")
    return lines


def _labels(lines: list[str]) -> NDArray[Any]:
    """Each a whole number where it is one, else text: by itself, so that a label is the same in every batch."""
    try:
        return np.array(list(map(int, lines)), dtype=np.int64)
    except (OverflowError, ValueError):
        pass
    texts = [line.strip() for line in lines]
    if "" in texts:
        raise InvalidAnswerError(f"an empty line for row {texts.index('')}")
    labels = np.empty(len(texts), dtype=object)
    labels[:] = [int(text) if re.fullmatch(r"[+-]?\d{1,18}", text) else text for text in texts]
    return labels


def _numbers(lines: list[str]) -> list[Any]:
    """A number a line, or as many with commas between them."""
    try:
        if "," in lines[0]:
            return [list(map(float, line.split(","))) for line in lines]
        return list(map(float, lines))
    except ValueError as error:
        raise InvalidAnswerError(f"what is no number ({error})") from None


class ProgramAdapter(Adapter):
    """Writes rows with their names to a program; nothing but its answers is known of it."""

    is_elsewhere = True
    is_function = True

    def __init__(self, model: ProgramModel) -> None:
        super().__init__(model)
        self.name = model.name

    @staticmethod
    def accepts(model: Any) -> bool:
        """Return True for a program."""
        return isinstance(model, ProgramModel)

    def form(self, domain: Domain, batch: str | None) -> Form:
        """A frame."""
        if batch == "array":
            raise SettingError.about(
                "batch", "must be 'frame' for a program, which reads names and values, got 'array'"
            )
        return FrameForm(domain, domain.visible)

    def method(self, output: str, form: Form) -> Callable[[Any], Any]:
        """The program's answers, read as that output."""
        return partial(self.model.ask, output)
