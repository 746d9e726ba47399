"""Turns blocks into HTML: a fragment for notebooks, or the page of a report.

The page needs no other file, makes no request and runs no script but its own. All markup is in `templates/`.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from itertools import product
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from fairprobe import wording
from fairprobe.blocks import Block, Interval
from fairprobe.checks import is_number
from fairprobe.report.content import Content, changes_of
from fairprobe.report.first_screen import first_screen
from fairprobe.report.sections import ASKED_BY, TAGS, chapters
from fairprobe.report.value_names import named
from fairprobe.wording import TWINS, answer, counted, shown

LARGEST = 2**53
"""Bound below which JavaScript holds whole numbers exactly: 2 to the 53, the precision of its numbers."""


def html(content: Content) -> str:
    """Return an audit's content as a page: the text of one HTML file that needs no other.

    Args:
        content: the object in `audit.json`.
    """
    texts = {"style": _template("tokens.css") + _template("report.css"), "script": _template("report.js")}
    content = named(content)
    first = first_screen(content)
    rates = [] if first.rates is None else [row[1] for row in first.rates.rows if isinstance(row[1], Interval)]
    return _rendered(
        "report.html",
        content=content,
        chapters=[*chapters(content)],
        first=first,
        rates_ends=[pick(rates, key=lambda rate: rate.value or 0.0) for pick in (min, max) if rates],
        policy=_policy(**texts),
        data=_lists(content),
        **texts,
    )


def written(blocks: Sequence[Block]) -> str:
    """Return blocks as a fragment of HTML for a notebook."""
    return _rendered("notebook.html", blocks=blocks)


def text(of: object) -> Markup:
    """Return a text as escaped HTML, in which values that `wording.value` marked stand in elements of their own.

    Such a value cannot change the direction of the text around it.
    """
    parts = ((escape(part), is_value) for part, is_value in wording.parted(of))
    return Markup("".join(f"<bdi>{part}</bdi>" if is_value else part for part, is_value in parts))


def _attribute(of: str) -> Markup:
    """Return a text, escaped, as the value of an HTML attribute, which cannot hold elements."""
    return Markup(escape(wording.said(wording.unmarked(of))))


def _policy(style: str, script: str) -> str:
    """Return the content security policy of the page, which allows only embedded images, its own style and script."""
    style, script = (base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in (style, script))
    return (
        f"default-src 'none'; img-src data:; style-src 'sha256-{style}'; script-src 'sha256-{script}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _data_url(svg: str) -> str:
    """Return a drawing, a text of SVG, as the `data:` address of an image, in which no code can run or fetch."""
    return f"data:image/svg+xml;base64,{base64.b64encode(wording.visible(svg).encode()).decode()}"


def _template(name: str) -> str:
    return files("fairprobe.report").joinpath("templates", name).read_text(encoding="utf-8")


def _rendered(template: str, **values: Any) -> str:
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    """Return the jinja2 environment of the templates, which escapes every text that is not marked as markup."""
    environment = Environment(
        loader=PackageLoader("fairprobe.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda of: of if isinstance(of, Markup) else text(of),
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "ensure_ascii": False, "allow_nan": False}
    environment.filters |= {"value": wording.value, "percent": wording.percent, "count": wording.magnitude}
    environment.filters |= {"attribute": _attribute, "closed": wording.closed, "data_url": _data_url}
    environment.filters["kind"] = lambda of: type(of).__name__
    outcomes = {title: outcome for outcome, title in wording.OUTCOMES.items()}
    environment.globals |= {"TAGS": TAGS, "ASKED_BY": ASKED_BY, "OUTCOMES": wording.OUTCOMES, "OUTCOME_OF": outcomes}
    return environment


# Lists for the page's script: the figures and texts that it needs, entry by entry


def _lists(content: Content) -> dict[str, Any]:
    """Return the page's lists of cases ("cases") and of rows with another answer ("flips") as dicts of columns.

    A list can be sorted by its `measures`, and filtered by its `groups`, which have a list of texts for each entry.
    """
    cases, flips = content["cases"], content["rows"]["flips"]
    measures = {name: [each[name.lower()] for each in cases] for name in ("Severity", "Gap", "Plausibility")}
    regions = [[f"Region {number}" for number in each["regions"]] for each in cases]
    parts = [[shown(each["parameters"])] for each in cases]
    return {
        "cases": {
            **_entries([(each["id"], each["case"], changes_of(each)) for each in cases]),
            "answers": [[["", answer(output)] for output in each["outputs"]] for each in cases],
            "notes": [_origin(**each["origin"]) if each["origin"] else "" for each in cases],
            "measures": measures,
            "groups": {"Parted by": parts, "In": regions},
        },
        "flips": {
            **_entries([(each["row"], each.get("values", {}), each["changes"]) for each in flips]),
            **_selves(content),
            "notes": [],
            "measures": {},
            "groups": {"Compared with": [[TWINS[each["population"]]] for each in flips]},
        },
    }


def _selves(content: Content) -> dict[str, Any]:
    """Return, for each row with another answer, what every combination of sensitive values would get.

    "names" and "values" are of the sensitive parameters, and combinations are in the order of their product. "texts"
    are the distinct answers. By entry: "selves" has the place of the answer of each combination in "texts" (-1 if it
    is not compared), "others" has a 1 where this answer is another than the person's, and "own" is the combination of
    the person (-1 if it is not compared).
    """
    sensitive, threshold = content["question"]["sensitive"], content["question"]["threshold"]
    pairs = ([f"{name}={each}" for each in values] for name, values in sensitive.items())
    places = {", ".join(words): place for place, words in enumerate(product(*pairs))}
    known = dict.fromkeys(who for flip in content["rows"]["flips"] for who in flip["answers"])
    if not places.keys() >= known.keys():  # values whose text in JSON is another: each combination by its words
        sensitive, places = {"": [*known]}, {who: place for place, who in enumerate(known)}
    texts: dict[str, int] = {}
    told: dict[str, Any] = {"selves": [], "others": [], "own": []}
    for flip in content["rows"]["flips"]:
        answers, own = flip["answers"], places.get(flip["own"], -1)
        mine = answers.get(flip["own"], next(iter(answers.values())))
        each, other = [-1] * len(places), [0] * len(places)
        for who, output in answers.items():
            each[places[who]] = texts.setdefault(answer(output), len(texts))
            other[places[who]] = int(_is_other(output, mine, threshold))
        for name, values in zip(told, (each, other, own), strict=True):
            told[name].append(values)
    values = [[shown(each) for each in values] for values in sensitive.values()]
    return {"names": [*map(shown, sensitive)], "values": values, "texts": [*texts], **told}


def _is_other(output: Any, mine: Any, threshold: float) -> bool:
    """Return True if an output differs from the person's own: by more than the threshold, if it is a number."""
    if isinstance(output, list | tuple):
        return any(_is_other(*both, threshold) for both in zip(output, mine, strict=True))
    if is_number(output) and is_number(mine) and threshold:
        return abs(output - mine) > threshold
    return bool(output != mine)


def _entries(told: Sequence[tuple[Any, Mapping[str, Any], Iterable[Iterable[Any]]]]) -> dict[str, Any]:
    """Return a dict of lists with the label, the values and the changes of each entry, and the names of the columns.

    `told` are the entries: label, values by column, and changes. A value that an entry does not have is None.
    """
    names = dict.fromkeys(name for _, row, _ in told for name in row)
    return {
        "labels": [shown(label) for label, _, _ in told],
        "columns": list(map(shown, names)),
        "rows": [[_cell(row[name]) if name in row else None for name in names] for _, row, _ in told],
        "changes": [[[*map(shown, change)] for change in changes] for _, _, changes in told],
    }


def _cell(of: Any) -> Any:
    """Return a number that JavaScript holds exactly unchanged, so that it can be sorted; any other value as text."""
    return of if is_number(of) and abs(of) < LARGEST else shown(of)


def _origin(row: Any, n_changes: int, **_: Any) -> str:
    """Return words on the real row nearest to a case, and on the number of values in which they differ."""
    return f"{counted(n_changes, 'change')} from row {shown(row)}" if n_changes else f"row {shown(row)} as it is"
