"""What is made while the site is built: the help of the commands, as the commands print it."""

from __future__ import annotations

import re
from typing import Any

MARK = re.compile(r"^<!-- help: ?(?P<command>\w*) -->$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the help of a command where a page asks for it: `<!-- help: search -->`."""
    return MARK.sub(lambda match: f"```text\n{help_of(match['command'])}\n```", markdown)


def help_of(name: str) -> str:
    """What `fairprobe NAME --help` prints, 84 columns wide."""
    from fairprobe.cli.app import command

    context: Any = command.make_context("fairprobe", [], resilient_parsing=True)
    wanted: Any = command.get_command(context, name) if name else command
    if wanted is None:
        raise KeyError(f"there is no command {name}")
    own = type(context)(
        wanted, info_name=name or "fairprobe", parent=context if name else None, max_content_width=84, terminal_width=84
    )
    return str(wanted.get_help(own)).rstrip()
