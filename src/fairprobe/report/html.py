"""The report as one page: it needs nothing else, asks nobody anything and runs no script but its own."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from fairprobe import wording
from fairprobe.report import phrases
from fairprobe.report.fields import ASKED, TAGS
from fairprobe.report.listing import as_script_data, cases_listing, flips_listing
from fairprobe.report.sections import (
    PLOTS,
    chapters,
    health_of,
    held_of,
    missing_of,
    plot_words,
    scale_of,
    section_of_plot,
)
from fairprobe.wording import answer, closed, figure, percent, said, shown, visible

MOST_HELD = 6
"""So many shares are drawn beside the verdict; all of them stand below."""


def html(content: Mapping[str, Any]) -> str:
    """An audit's content as a page.

    Args:
        content: what is in `audit.json`.
    """
    style, script = (files("fairprobe.report").joinpath("templates", name) for name in ("report.css", "report.js"))
    style_text, script_text = style.read_text(encoding="utf-8"), script.read_text(encoding="utf-8")
    data = {"cases": cases_listing(content), "flips": flips_listing(content)}
    return (
        _environment()
        .get_template("report.html")
        .render(
            content=content,
            chapters=chapters(content),
            scale=scale_of(content),
            health=health_of(content),
            missing=missing_of(content),
            held=held_of(content)[:MOST_HELD],
            style=Markup(style_text),
            script=Markup(script_text),
            policy=_policy(style_text, script_text),
            data=Markup(as_script_data(data)),
        )
    )


def _policy(style: str, script: str) -> str:
    """What the browser lets the page do: images that are in it, this style, this script, and nothing else."""
    return (
        f"default-src 'none'; img-src data:; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("fairprobe.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_final,
    )
    environment.filters |= {
        "value": lambda value: _isolated(shown(value)),
        "answer": lambda output: _isolated(answer(output)),
        "percent": percent,
        "count": phrases.count,
        "figure": figure,
        "between": phrases.between,
        "plainly": _plainly,
        "closed": closed,
        "picture": _picture,
        "groupby_first": _grouped,
    }
    environment.globals |= {"ASKED": ASKED, "TAGS": TAGS, "PLOTS": PLOTS}
    environment.globals |= {
        "words": {**vars(wording), **vars(phrases), "POPULATIONS": wording.POPULATION_TITLES},
        "plot_words": plot_words,
        "plots_in": section_of_plot,
    }
    return environment


def _final(value: Any) -> Any:
    """Everything that is written into the page, unless it is markup already."""
    return value if isinstance(value, Markup) else said(value)


def _isolated(text: str) -> Markup:
    """A value whose direction, and all that turns it, stays inside."""
    return Markup("<bdi>{}</bdi>").format(text)


def _grouped(items: list[dict[str, Any]], key: str) -> list[tuple[str, list[dict[str, Any]]]]:
    """Items by what they have under a key, in the order in which that comes first."""
    return [
        (name, [each for each in items if each[key] == name]) for name in dict.fromkeys(each[key] for each in items)
    ]


def _plainly(settings: Mapping[str, Any]) -> str:
    """A setting a line."""
    return "\n".join(f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in settings.items())


def _picture(svg: str) -> Markup:
    """A drawing as the address of an image: what is in an image can neither run nor fetch anything."""
    return escape(f"data:image/svg+xml;base64,{base64.b64encode(visible(svg).encode()).decode()}")
