"""Blocks as lines of text: wrapped to a width where there is one, with characters that command a terminal spelt out."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from fairprobe.blocks import Block, Code, Figure, Items, Remark, Section, Sentence, Table
from fairprobe.progress import visible
from fairprobe.wording import unmarked

INDENT = "  "


def written(blocks: Sequence[Block], width: int | None = None) -> str:
    """Blocks as text, with an empty line between sections; lines of sentences are cut at a width, tables are not."""
    parts = ["\n".join(_lines(block, width)) for block in blocks]
    return "\n".join(part for part in parts if part)


def _lines(block: Block, width: int | None) -> Iterator[str]:
    match block:
        case Sentence():
            title = f"{block.title}: " if block.title else ""
            yield _wrapped(f"{title}{block.text}", width, 2)
        case Items():
            yield from (_wrapped(f"{INDENT}- {each}", width, 4) for each in block.texts)
        case Code():
            yield f"{block.title}:" if block.title else ""
            yield f"{INDENT}{shown(block.text)}"
        case Table():
            if block.title:
                yield _wrapped(block.title, width, 2)
            yield from aligned(block)
        case Figure():
            yield _wrapped(block.words, width, 2)
        case Remark():
            yield _wrapped(f"note: {block.check}: {block.message}", width, 2)
        case Section():
            yield ""
            yield _wrapped(block.title, width, 0)
            for each in block.blocks:
                yield from _lines(each, width)


def shown(text: object) -> str:
    """A text for a terminal: characters that would command it, or turn its lines around, are spelt out."""
    return visible(unmarked(text))


def _wrapped(text: str, width: int | None, indent: int) -> str:
    text = shown(text)
    if width is None:
        return text
    return "\n".join(
        textwrap.fill(line, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)
        for line in text.split("\n")
    )


def aligned(table: Table) -> list[str]:
    """The lines of a table: columns of numbers on the right, the others on the left.

    >>> aligned(Table.of(["", "#share"], [["domain", "5%"]]))
    ['          share', '  domain     5%']
    """
    rows = [[shown(cell) for cell in row] for row in ([table.columns] if table.columns else []) + [*table.rows]]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    signs = [">" if name in table.numbers else "<" for name in table.columns] or ["<"] * len(widths)
    lines = []
    for row in rows:
        cells = (f"{cell:{sign}{width}}" for cell, sign, width in zip(row, signs, widths, strict=True))
        lines.append(f"{INDENT}{'  '.join(cells)}".rstrip())
    return lines
