"""The entry point: runs a command and turns whatever happens into a message and an exit code."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from typing import Any

from fairprobe.errors import FairprobeError

FAILED = 3
INTERRUPTED = 130
PIPE_CLOSED = 141
"""What a shell reports of a program whose reader went away: 128 + SIGPIPE."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; gives its exit code."""
    try:
        code = _run(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return INTERRUPTED
    except BrokenPipeError:
        _forget_output()
        return PIPE_CLOSED
    except Exception:
        import traceback

        traceback.print_exc()  # only a bug gets here: whatever the user did or the model raised has its own error
        return FAILED


def _run(arguments: list[str]) -> int:
    """Without typer's own `main`, which has other exit codes and boxes for errors."""
    import typer

    from fairprobe.cli.app import app
    from fairprobe.cli.words import in_flags, say

    command = typer.main.get_command(app)
    try:
        with command.make_context("fairprobe", arguments) as context:
            return int(command.invoke(context) or 0)
    except typer.Exit as leave:
        return leave.exit_code
    except typer.BadParameter.__base__ as error:  # type: ignore[misc]  # UsageError: typer's or click's, by version
        return _refuse(error)
    except FairprobeError as error:
        say(f"error: {in_flags(str(error))}", err=True)
        return error.exit_code


def _refuse(error: Any) -> int:
    from fairprobe.cli.words import say

    if error.ctx is not None and not error.format_message():  # no command was given
        error.show()
        return 2
    say(f"error: {error.format_message()}", err=True)
    if error.ctx is not None:
        say(f"see: {error.ctx.command_path} --help", err=True)
    return 2


def _forget_output() -> None:
    """Let the interpreter's last flush of the standard output go nowhere, instead of raising."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
