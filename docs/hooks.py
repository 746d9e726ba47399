"""What is made while the site is built: the help of all commands, as they print it."""

from __future__ import annotations

from typing import Any

MARK = "<!-- commands -->"
WIDTH = 84


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the help of all commands where a page asks for it."""
    return markdown.replace(MARK, commands()) if MARK in markdown else markdown


def commands() -> str:
    """The program's own help, then a section for each command."""
    from fairprobe.cli.app import command

    # The command line tells its types no more than typer does.
    program: Any = command
    context = program.make_context("fairprobe", [], resilient_parsing=True)

    def shown(what: Any, name: str, parent: Any = None) -> str:
        own = type(context)(what, info_name=name, parent=parent, max_content_width=WIDTH, terminal_width=WIDTH)
        return f"```text\n{what.get_help(own).rstrip()}\n```\n"

    names = program.list_commands(context)
    sections = [f"### {name}\n\n{shown(program.get_command(context, name), name, context)}" for name in names]
    return "\n".join([shown(program, "fairprobe"), *sections])
