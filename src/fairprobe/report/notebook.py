"""Blocks as a fragment of HTML, as notebooks show results. The page of a report extends it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from fairprobe.blocks import Block, Cell, Code, Figure, Items, Remark, Section, Sentence, Table
from fairprobe.wording import closed, parted


def written(blocks: Sequence[Block]) -> str:
    """Blocks as HTML without a head."""
    return f"<div>{Fragment().written(blocks)}</div>"


def text(of: object) -> str:
    """A text as HTML. A marked value cannot change the direction of the text around it."""
    parts = ((escape(part), is_value) for part, is_value in parted(of))
    return "".join(f"<bdi>{part}</bdi>" if is_value else part for part, is_value in parts)


class Fragment:
    """Writes blocks as plain elements."""

    def written(self, blocks: Iterable[Block], depth: int = 4) -> str:
        """Blocks as HTML; headings of sections start at a depth."""
        return "".join(self._block(block, depth) for block in blocks)

    def _block(self, block: Block, depth: int) -> str:
        match block:
            case Sentence():
                title = f"<strong>{text(closed(block.title))}</strong> " if block.title else ""
                return f'<p dir="auto">{title}{text(block.text)}</p>'
            case Items():
                items = "".join(f'<li dir="auto">{text(each)}</li>' for each in block.texts)
                return f"<ul>{items}</ul>"
            case Code():
                return self.code(block, depth)
            case Table():
                return self.table(block) if block.columns else self.facts(block)
            case Figure():
                return self.figure(block)
            case Remark():
                return f"<p>⚠ <strong>{text(block.check)}</strong>: {text(block.message)}</p>"
            case Section():
                return self.section(block, depth)

    def code(self, code: Code, depth: int) -> str:
        """A text to be copied."""
        return f"{self.heading(code.title, depth)}<pre>{text(code.text)}</pre>"

    def section(self, section: Section, depth: int) -> str:
        """A heading and the blocks below it."""
        return self.heading(section.title, depth) + self.written(section.blocks, depth + 1)

    def heading(self, title: str, depth: int) -> str:
        """A title as a heading; nothing without one."""
        return f"<h{depth}>{text(title)}</h{depth}>" if title else ""

    def figure(self, figure: Figure) -> str:
        """A drawing; its SVG is this package's own."""
        return f"<figure>{figure.svg}<figcaption>{text(figure.title)}</figcaption></figure>"

    def facts(self, table: Table) -> str:
        """Named figures."""
        rows = (f"<tr><th>{text(name)}</th>{''.join(map(self.cell, cells))}</tr>" for name, *cells in table.rows)
        return f"{self.heading(table.title, 4)}<table>{''.join(rows)}</table>"

    def table(self, table: Table) -> str:
        """Rows under the names of columns."""
        numbers = [' class="number"' if name in table.numbers else "" for name in table.columns]
        head = "".join(
            f'<th scope="col"{number}>{text(name)}</th>' for name, number in zip(table.columns, numbers, strict=True)
        )
        rows = (
            f"<tr>{''.join(self.cell(cell, number) for cell, number in zip(row, numbers, strict=True))}</tr>"
            for row in table.rows
        )
        caption = f"<caption>{text(table.title)}</caption>" if table.title else ""
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"

    def cell(self, cell: Cell, attributes: str = "") -> str:
        """A cell of a table."""
        return f"<td{attributes}>{text(cell)}</td>"
