"""The report as one page: it needs no other file, asks nobody anything and runs no script but its own."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from fairprobe import wording
from fairprobe.blocks import Cell, Code, Figure, Interval, Section, Table
from fairprobe.report.content import held_of, population_title, scale_of
from fairprobe.report.fields import ASKED, TAGS
from fairprobe.report.listing import as_script_data, cases_listing, flips_listing
from fairprobe.report.notebook import Fragment, text
from fairprobe.report.sections import chapters, head, verdict_words

MOST_HELD = 6
"""Shares drawn beside the verdict; chosen, so that it fits a screen. The table below has all of them."""

WIDTH = 200
"""Length of the axis of an interval, in units of its drawing."""

_OUTCOMES = {title: outcome for outcome, title in wording.OUTCOMES.items()}


def html(content: Mapping[str, Any]) -> str:
    """An audit's content as a page.

    Args:
        content: what is in `audit.json`.
    """
    style, script = (_template(f"report.{kind}") for kind in ("css", "js"))
    data = {"cases": cases_listing(content), "flips": flips_listing(content)}
    every = chapters(content)
    return (
        _environment()
        .get_template("report.html")
        .render(
            content=content,
            chapters=every,
            body=[Markup(Page().written(chapter.blocks, 3)) for chapter in every],
            verdict_tags=Markup(_tags("verdict")),
            verdict_words=verdict_words(content["verdict"]),
            is_interrupted=head(content)[0] if content["about"]["interrupted"] else None,
            held=[_held(each, scale_of(content)) for each in held_of(content)[:MOST_HELD]],
            population=population_title(content["verdict"]),
            scale=wording.percent(scale_of(content)),
            style=Markup(style),
            script=Markup(script),
            policy=_policy(style, script),
            data=Markup(as_script_data(data)),
        )
    )


def _held(of: Mapping[str, Any], end: float) -> dict[str, Any]:
    """A share or a side that is drawn beside the verdict."""
    shown = wording.percent(of["value"], of["limit"])
    words = wording.between(of["low"], of["high"], of["limit"])
    interval = Interval(f"{shown}, {words}", of["low"], of["value"], of["high"], end, of["limit"])
    return {"who": of["who"], "twins": of["twins"], "value": shown, "drawn": Markup(_drawn(interval))}


class Page(Fragment):
    """Writes blocks as the page shows them: labelled sections, tables that scroll, drawings as images."""

    def section(self, section: Section, depth: int) -> str:
        """A section with the labels of those who ask for it, or a part of one."""
        if not section.name:
            return super().section(section, depth)
        title = f'<h3 id="{section.name}-title">{text(section.title)}</h3>'
        inner = f'<div class="head">{title}{_tags(section.name)}</div>{self.written(section.blocks, depth + 1)}'
        return f'<section id="{section.name}" aria-labelledby="{section.name}-title">{inner}</section>'

    def code(self, code: Code, depth: int) -> str:
        """A text that a click selects."""
        label = text(code.title or "To be copied")
        pre = f'<pre tabindex="0" role="group" aria-label="{label}">{text(code.text)}</pre>'
        return self.heading(code.title, depth) + pre

    def figure(self, figure: Figure) -> str:
        """A drawing as an image, in which nothing can run or fetch anything."""
        source = f"data:image/svg+xml;base64,{base64.b64encode(wording.visible(figure.svg).encode()).decode()}"
        image = f'<img src="{source}" alt="{_attribute(figure.words)}">'
        caption = f"<figcaption>{text(figure.title)}</figcaption>"
        return f'<figure class="plot">{caption}{_scroller(f"Plot: {figure.title}", image)}</figure>'

    def facts(self, table: Table) -> str:
        """Named figures as a list of pairs."""
        pairs = (
            f'<div><dt>{text(name)}</dt><dd dir="auto">{"".join(map(self.inner, cells))}</dd></div>'
            for name, *cells in table.rows
        )
        return f'<dl class="pairs">{"".join(pairs)}</dl>'

    def table(self, table: Table) -> str:
        """A table, or the list that the script draws in its place."""
        if table.name:
            what = "rows" if table.name == "flips" else table.name
            hint = "<p>This page's script draws the list. Without it, read <code>audit.json</code>.</p>"
            attributes = f'id="{table.name}-list" data-list="{table.name}" data-what="{what}"'
            return f'<div class="listing" {attributes}><noscript>{hint}</noscript></div>'
        return _scroller(f"Table: {', '.join(filter(None, table.columns))}", super().table(table))

    def cell(self, cell: Cell, attributes: str = "") -> str:
        """A cell of a table; an interval is drawn above its text."""
        attributes = ' class="chart"' if isinstance(cell, Interval) else attributes
        return f"<td{attributes}>{self.inner(cell)}</td>"

    def inner(self, cell: Cell) -> str:
        """The inside of a cell."""
        if isinstance(cell, Interval):
            return f"{_drawn(cell)}<small>{text(cell)}</small>"
        return f'<span class="word {_OUTCOMES[cell]}">{text(cell)}</span>' if cell in _OUTCOMES else text(cell)


def _tags(name: str) -> str:
    """The labels of those who ask for a section."""
    tags = " ".join(f'<span class="tag">{TAGS[tag][0]}</span>' for tag in ASKED.get(name, ()))
    return f'<span class="tags"><span class="unseen">Asked for by </span>{tags}</span>' if tags else ""


def _scroller(label: str, inner: str) -> str:
    """A part that scrolls by itself where it is wider than the screen."""
    return f'<div class="scroller" role="group" aria-label="{_attribute(label)}" tabindex="0">{inner}</div>'


def _attribute(of: str) -> str:
    """A text as the value of an attribute, which holds no elements."""
    return "".join(text(part) for part, _ in wording.parted(of))


def _drawn(interval: Interval) -> str:
    """An interval with its value on an axis from 0 to its end."""
    shapes = [f'<line class="axis" x1="0" x2="{WIDTH}" y1="9" y2="9"/>']

    def place(of: float) -> float:
        return WIDTH * of / interval.end

    if interval.limit is not None and interval.limit <= interval.end:
        x = f"{place(interval.limit):.2f}"
        shapes.append(f'<line class="limit" x1="{x}" x2="{x}" y1="0" y2="18"/>')
    if interval.low is not None and interval.high is not None:
        width = max(place(interval.high - interval.low), 1)
        shapes.append(f'<rect class="band" x="{place(interval.low):.2f}" y="5" width="{width:.2f}" height="8"/>')
    if interval.value is not None:
        shapes.append(f'<rect class="mark" x="{max(place(interval.value) - 1, 0):.2f}" y="2" width="2" height="14"/>')
    label = _attribute(f"{interval.text}, on an axis to {wording.percent(interval.end)}")
    attributes = f'viewBox="0 0 {WIDTH} 18" preserveAspectRatio="none" role="img" aria-label="{label}"'
    return f'<svg class="interval" {attributes}>{"".join(shapes)}</svg>'


def _policy(style: str, script: str) -> str:
    """What the browser lets the page do: images that are in it, this style, this script, and nothing else."""
    return (
        f"default-src 'none'; img-src data:; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(of: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(of.encode()).digest()).decode()}"


def _template(name: str) -> str:
    return files("fairprobe.report").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    """Templates in which everything that is no markup yet is written as text."""
    environment = Environment(
        loader=PackageLoader("fairprobe.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda of: of if isinstance(of, Markup) else Markup(text(of)),
    )
    environment.filters |= {"value": wording.value, "percent": wording.percent, "count": wording.magnitude}
    environment.globals |= {"TAGS": TAGS, "OUTCOMES": wording.OUTCOMES}
    return environment
