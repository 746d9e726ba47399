"""The command line. A file a command: its options, what it does, what it says.

`entry` runs a command and gives the exit code, `app` makes commands of the files, `command` has the steps that they
share, `options` the options that they share; `data` and `values` read what options name, `files` reads tables and
writes results, `words` shows.

A new command is a new file, with `run` and `OPTIONS`, and a line in `COMMANDS` of `app`. Where it asks a model, `run`
starts a subclass of `Command`.

Exit codes: 0 done or passed, 1 violated, 2 wrong use or bad input, 3 the model or the run failed, 4 inconclusive,
130 interrupted.
"""

from fairprobe.cli.entry import main

__all__ = ["main"]
