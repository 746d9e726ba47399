"""How results look in a notebook: a sentence, the figures, and what is to be known of them. Every value is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

Health = Sequence[tuple[str, str]]
"""The name and the text of each health check that has something to say."""


def as_html(kind: str, sentence: str, figures: Mapping[str, object], health: Health = (), table: str = "") -> str:
    """One result. `table` is HTML already; all else is text."""
    cells = (f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>" for name, value in figures.items())
    return "".join(
        [
            f"<div><p><strong>{escape(kind)}</strong> {escape(sentence)}</p>",
            f"<table>{''.join(cells)}</table>",
            table,
            *(f"<p>⚠ <strong>{escape(name)}</strong>: {escape(text)}</p>" for name, text in health),
            "</div>",
        ]
    )
