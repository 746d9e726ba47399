"""Forms of an audit's content for people and machines: a page, Markdown, JUnit XML, a model card's section.

Forms read only the content, one plain JSON object, so that a report can be drawn again from `audit.json` alone, and
contains no information that is not in there. A form is one file with one function and one line in `FORMS`.
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
"""Location of the function that returns a form's text, by name of the form."""


def render(content: Mapping[str, Any], form: str) -> str:
    """Return an audit's content in a form; equal contents give equal texts."""
    return str(entry_of(FORMS, "form", form)(content))
