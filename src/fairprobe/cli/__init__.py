"""The command line `fairprobe`. Each command has a file with its options, its steps and its output.

`main` runs a command and returns the exit code. `app` makes a command of each file. `command` has the steps that
commands share, and `options` their shared options. `data` reads the inputs that options name, `files` reads
tables and writes results, and `words` handles the wording of flags and messages.

A new command is a new file, with `run` and `OPTIONS`, and a line in `COMMANDS` of `app`. If it asks a model, `run`
starts a subclass of `Command`.

Exit codes: 0 done or passed, 1 violated, 2 wrong use or bad input, 3 the model or the run failed, 4 inconclusive, 130
interrupted.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

from fairprobe.errors import FairprobeError

FAILED = 3
INTERRUPTED = 130
PIPE_CLOSED = 141
"""Exit code if the reader of the output has closed the pipe: 128 + SIGPIPE, as shells report it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name, by default those of the process, and return its exit code."""
    from fairprobe.engine.interrupts import interrupt

    with contextlib.suppress(ValueError):  # a thread that is not the main one has no signals
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, interrupt)
    try:
        code = _run(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return INTERRUPTED
    except BrokenPipeError:
        # The interpreter's last flush of the standard output is to go nowhere, instead of raising.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except Exception:
        import traceback

        from fairprobe.wording import for_terminal

        # Only a bug gets here: whatever the user did or the model raised has its own error.
        sys.stderr.write(for_terminal(traceback.format_exc()))
        return FAILED


def _run(arguments: list[str]) -> int:
    """Run the command that the arguments name, print its errors, and return its exit code.

    typer's own `main` is not used: it has other exit codes and draws boxes around errors.
    """
    import typer

    from fairprobe.cli.app import command
    from fairprobe.cli.words import in_flags, notes, say

    if "_FAIRPROBE_COMPLETE" in os.environ:  # a shell asks what a word could go on as
        command.main(arguments, prog_name="fairprobe")
    try:
        with notes(), command.make_context("fairprobe", arguments) as context:
            return int(command.invoke(context) or 0)
    except typer.Exit as leave:
        return leave.exit_code
    except typer.BadParameter.__base__ as error:  # type: ignore[misc]  # UsageError: typer's or click's, by version
        return _refuse(error)
    except FairprobeError as error:
        say(f"error: {in_flags(error)}", err=True)
        return error.exit_code


def _refuse(error: Any) -> int:
    from fairprobe.cli.words import say

    if error.ctx is not None and not error.format_message():  # no command was given
        error.show()
        return 2
    # What a parser of ours refuses begins with its rule; typer would put "Invalid value for" before it.
    option = error.param.opts[0] if str(error.message).startswith("must ") and error.param else None
    say(f"error: {f'{option} {error.message}' if option else error.format_message()}", err=True)
    if error.ctx is not None:
        say(f"see: {error.ctx.command_path} --help", err=True)
    return 2
