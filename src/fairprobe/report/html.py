"""Blocks as HTML: as a fragment, as notebooks show results, and as the page of a report.

The page needs no other file, asks nobody anything and runs no script but its own. All markup is in `templates/`.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from fairprobe import wording
from fairprobe.blocks import Block, Interval, Table
from fairprobe.report.content import held_of, population_title, scale_of
from fairprobe.report.listing import as_script_data, cases_listing, flips_listing
from fairprobe.report.sections import ASKED_BY, TAGS, chapters, head

MOST_HELD = 6
"""Shares drawn beside the verdict; chosen, so that it fits a screen. The table below has all of them."""


def html(content: Mapping[str, Any]) -> str:
    """An audit's content as a page.

    Args:
        content: what is in `audit.json`.
    """
    style, script = (files("fairprobe.report").joinpath("templates", f"report.{kind}") for kind in ("css", "js"))
    texts = {"style": style.read_text(encoding="utf-8"), "script": script.read_text(encoding="utf-8")}
    scale = scale_of(content)
    return _rendered(
        "report.html",
        content=content,
        chapters=[*chapters(content)],
        head=[*head(content)],
        held=[_held(each, scale) for each in held_of(content)[:MOST_HELD]],
        population=population_title(content["verdict"]),
        scale=scale,
        policy=_policy(**texts),
        data=as_script_data({"cases": cases_listing(content), "flips": flips_listing(content)}),
        **texts,
    )


def written(blocks: Sequence[Block]) -> str:
    """Blocks as HTML without a head."""
    return _rendered("notebook.html", blocks=blocks)


def text(of: object) -> Markup:
    """A text as HTML. A marked value cannot change the direction of the text around it."""
    parts = ((escape(part), is_value) for part, is_value in wording.parted(of))
    return Markup("".join(f"<bdi>{part}</bdi>" if is_value else part for part, is_value in parts))


def _attribute(of: str) -> Markup:
    """A text as the value of an attribute, which holds no elements."""
    return Markup(escape(wording.said(wording.unmarked(of))))


def _held(of: Mapping[str, Any], end: float) -> dict[str, Any]:
    """A share or a side that is drawn beside the verdict."""
    words = wording.between(of["low"], of["high"], of["limit"])
    words = f"{wording.percent(of['value'], of['limit'])}, {words}"
    return {**of, "interval": Interval(words, of["low"], of["value"], of["high"], end, of["limit"])}


def _policy(style: str, script: str) -> str:
    """What the browser lets the page do: images that are in it, this style, this script, and nothing else."""
    style, script = (base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in (style, script))
    return (
        f"default-src 'none'; img-src data:; style-src 'sha256-{style}'; script-src 'sha256-{script}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _data_url(svg: str) -> str:
    """A drawing as the address of an image, in which nothing can run or fetch anything."""
    return f"data:image/svg+xml;base64,{base64.b64encode(wording.visible(svg).encode()).decode()}"


def _label(table: Table) -> str:
    """The name of a table for those who do not see it."""
    return f"Table: {', '.join(filter(None, table.columns))}"


def _rendered(template: str, **values: Any) -> str:
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    """Templates in which everything that is no markup yet is written as text."""
    environment = Environment(
        loader=PackageLoader("fairprobe.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda of: of if isinstance(of, Markup) else text(of),
    )
    environment.filters |= {"value": wording.value, "percent": wording.percent, "count": wording.magnitude}
    environment.filters |= {"attribute": _attribute, "closed": wording.closed, "data_url": _data_url}
    environment.filters |= {"kind": lambda of: type(of).__name__, "label": _label}
    outcomes = {title: outcome for outcome, title in wording.OUTCOMES.items()}
    environment.globals |= {"TAGS": TAGS, "ASKED_BY": ASKED_BY, "OUTCOMES": wording.OUTCOMES, "OUTCOME_OF": outcomes}
    return environment
