"""An audit's content in the forms that people and machines read: a page, Markdown, JUnit XML, a model card's section.

They know nothing but the content, one plain JSON object, so that a report can be drawn again from `audit.json` alone,
and nothing can stand in a report that is not in there. A form is one file with one function and one line in `FORMS`.
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
"""By name, where the function is that gives a form's text."""


def render(content: Mapping[str, Any], form: str) -> str:
    """An audit's content in a form; the same content gives the same text."""
    return str(entry_of(FORMS, "form", form)(content))
