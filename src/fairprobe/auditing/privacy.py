"""Hides the values of masked columns, which the user asked to hide, in the content of a report."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

MASKED = "masked"

SHORTEST = 4
"""Smallest number of letters of a masked value that is searched for in texts; chosen.

For shorter values, such as "no", which occur in any text, only the column's name is searched for."""


class Mask:
    """Replaces the values of masked columns, which the user asked to hide, by "masked" in rows, texts and content.

    `rows` are the audited rows, whose values in these columns are searched for in texts.
    """

    def __init__(self, columns: Iterable[str], rows: pd.DataFrame) -> None:
        self.columns = tuple(columns)
        others = {str(value) for name in rows.columns if name not in self.columns for value in rows[name].unique()}
        values = {str(value) for name in self.columns for value in rows[name].unique()}
        names = set(map(str, rows.columns))
        self._values = {value for value in values if len(value) >= SHORTEST and value not in others | names}
        words = sorted({*self.columns, *self._values}, key=len, reverse=True)
        self._mentions = re.compile("|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in words)) if words else None

    def row(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return a row, a dict from column to value, with "masked" in place of the values of masked columns."""
        return {name: MASKED if name in self.columns else value for name, value in values.items()}

    def text(self, text: str) -> str:
        """Return a text, or "masked" in its place if it mentions a masked column or one of its values.

        A text that is only the name of a masked column stays. A replacement names the columns that the text mentioned.
        """
        if self._mentions is None or text in self.columns or not self._mentions.search(text):
            return text
        named = [name for name in self.columns if name in text]
        return f"{MASKED} (about {', '.join(named)})" if named else MASKED

    def command(self, command: str | None) -> str | None:
        """Return a command line, or "masked" in its place if it mentions a masked column or one of its values.

        Mentions in the option --mask do not count.
        """
        if command is None:
            return None
        told = re.sub(r"--mask \S+", "", command)
        return command if self.text(told) == told else MASKED

    def everywhere(self, content: Any) -> Any:
        """Return nested plain values of JSON with "masked" in place of all that could reveal masked values.

        These are texts that mention masked columns or values, values under the key of a masked column, and the
        conditions of a tree's node about one.
        """
        if not self.columns:
            return content
        if isinstance(content, str):
            return self.text(content)
        if isinstance(content, list):
            return [self.everywhere(each) for each in content]
        if isinstance(content, dict):
            if content.get("parameter") in self.columns and "condition" in content:
                return {**content, **dict.fromkeys(("condition", "left", "right", "path"), MASKED)}
            return {
                name if name in self.columns else self.text(name): MASKED
                if name in self.columns
                else self.everywhere(each)
                for name, each in content.items()
            }
        return content
