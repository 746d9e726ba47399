"""Blocks as a fragment of HTML, as notebooks show results."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from fairprobe.blocks import Block, Figure, Items, Remark, Section, Sentence, Table
from fairprobe.wording import parted


def written(blocks: Sequence[Block]) -> str:
    """Blocks as HTML without a head."""
    return f"<div>{''.join(map(_block, blocks))}</div>"


def text(of: object) -> str:
    """A text as HTML; marked values are kept apart from the direction of the text around them."""
    parts = ((escape(part), is_value) for part, is_value in parted(of))
    return "".join(f"<bdi>{part}</bdi>" if is_value else part for part, is_value in parts)


def _block(block: Block) -> str:
    match block:
        case Sentence():
            title = f"<strong>{text(block.title)}</strong> " if block.title else ""
            return f"<p>{title}{text(block.text)}</p>"
        case Items():
            return f"<ul>{''.join(f'<li>{text(each)}</li>' for each in block.texts)}</ul>"
        case Table():
            return _table(block)
        case Figure():
            return f"<figure>{block.svg}<figcaption>{text(block.title)}</figcaption></figure>"
        case Remark():
            return f"<p>⚠ <strong>{text(block.check)}</strong>: {text(block.message)}</p>"
        case Section():
            return f"<h4>{text(block.title)}</h4>{''.join(map(_block, block.blocks))}"


def _table(table: Table) -> str:
    title = f"<caption>{text(table.title)}</caption>" if table.title else ""
    head = "".join(f"<th>{text(name)}</th>" for name in table.columns)
    first = "td" if table.columns else "th"
    rows = []
    for name, *cells in table.rows:
        others = "".join(f"<td>{text(cell)}</td>" for cell in cells)
        rows.append(f"<tr><{first}>{text(name)}</{first}>{others}</tr>")
    return f"<table>{title}{f'<tr>{head}</tr>' if head else ''}{''.join(rows)}</table>"
