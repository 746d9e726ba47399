"""Forms of an audit's content for people and machines: a page, Markdown, JUnit XML, a model card's section.

Forms read only the content, which is one object of plain JSON values. A report can therefore be made again from
`audit.json` alone, and has nothing that is not in there. A form is one file with one function and one line in `FORMS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairprobe.blocks import entry_of

__all__ = ["FORMS", "render"]

FORMS = {
    "html": "fairprobe.report.html:html",
    "markdown": "fairprobe.report.markdown:markdown",
    "junit": "fairprobe.report.junit:junit",
    "model-card": "fairprobe.report.markdown:model_card",
}
"""Module and function that turn an audit's content into the text of a form, by name of the form."""


def render(content: Mapping[str, Any], form: str) -> str:
    """Return an audit's content as text in a form, which is named as in `FORMS`; equal contents give equal texts."""
    return str(entry_of(FORMS, "form", form)(content))
