"""Turns blocks into lines of plain text, wrapped to a width if there is one, with control characters escaped."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from fairprobe.blocks import Block, Code, Figure, Items, Remark, Section, Sentence, Table
from fairprobe.wording import for_terminal, unmarked

INDENT = "  "


def written(blocks: Sequence[Block], width: int | None = None) -> str:
    """Return blocks as plain text, with sentences wrapped to `width` characters; tables and code are not wrapped.

    Sentences follow each other without a gap. An empty line separates all other blocks, except remarks.
    """
    parts, was_apart = list[str](), False
    for block in blocks:
        is_apart = not isinstance(block, Sentence | Remark)
        parts += [""] if parts and (is_apart or was_apart) else []
        parts += _lines(block, width)
        was_apart = is_apart
    return "\n".join(parts)


def _lines(block: Block, width: int | None) -> Iterator[str]:
    match block:
        case Sentence():
            yield _wrapped(f"{block.title}: {block.text}" if block.title else block.text, width, 2)
        case Items():
            yield from (_wrapped(f"{INDENT}- {each}", width, 4) for each in block.texts)
        case Code():
            yield from [f"{block.title}:"] if block.title else []
            yield f"{INDENT}{shown(block.text)}"
        case Table():
            yield from [_wrapped(block.title, width, 2)] if block.title else []
            yield from aligned(block)
        case Figure():
            yield _wrapped(block.words, width, 2)
        case Remark():
            yield _wrapped(f"note: {block.check}: {block.message}", width, 2)
        case Section():
            yield _wrapped(f"{block.title}:", width, 2)
            yield written(block.blocks, width)


def shown(text: object) -> str:
    """Return a text for a terminal: characters that control it or change the text direction are escaped."""
    return for_terminal(unmarked(text))


def _wrapped(text: str, width: int | None, indent: int) -> str:
    if width is None:
        return shown(text)
    wrap = textwrap.TextWrapper(width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(map(wrap.fill, shown(text).split("\n")))


def aligned(table: Table) -> list[str]:
    """Return the lines of a table as text: columns of numbers aligned on the right, others on the left.

    >>> aligned(Table.of(["", "#share"], [["domain", "5%"]]))
    ['          share', '  domain     5%']
    """
    rows = [[shown(cell) for cell in row] for row in ([table.columns] if table.columns else []) + [*table.rows]]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    signs = [">" if name in table.numbers else "<" for name in table.columns] or ["<"] * len(widths)
    forms = [f"{sign}{width}" for sign, width in zip(signs, widths, strict=True)]
    return [f"{INDENT}{'  '.join(map(format, row, forms))}".rstrip() for row in rows]
