"""All errors that fairprobe raises on purpose, and its warning.

FairprobeError
├── InputError          the caller's mistake; also a ValueError       exit code 2
│   ├── DomainError     a parameter, a domain or a domain file
│   ├── DataError       a frame, a file of data, rows given
│   └── SettingError    an argument or an option
└── RunError            what was asked for failed under way           exit code 3
    └── ModelError      the model raised, or answered what it may not

HealthWarning           the run works, but may not tell what you think it tells

A message gives the rule, then the value got, then what to do.
"""

from __future__ import annotations

from typing import Any, Self


class FairprobeError(Exception):
    """Base class of all errors raised by fairprobe."""

    exit_code = 3
    argument: str | None = None
    """Name of the argument that is at fault, with which the message begins; None if no argument is at fault."""


class InputError(FairprobeError, ValueError):
    """Raised for wrong arguments, data or domains: mistakes that the caller can correct."""

    exit_code = 2

    @classmethod
    def about(cls, argument: str, rule: str) -> Self:
        """Return an error of this class about an argument; `rule` says what it must be, and what was given.

        >>> SettingError.about("width", "must lie between 0 and 1, got 2")
        SettingError('width must lie between 0 and 1, got 2')
        """
        error = cls(f"{argument} {rule}")
        error.argument = argument
        return error

    def calling(self, argument: str, name: str) -> Self:
        """Return the error with `name`, such as a command-line flag, in place of the name of an argument.

        An error about another argument is returned unchanged.

        >>> SettingError.about("n_jobs", "must be a whole number, got 2.5").calling("n_jobs", "--jobs")
        SettingError('--jobs must be a whole number, got 2.5')
        """
        if self.argument != argument:
            return self
        error = type(self)(name + str(self).removeprefix(argument))
        error.argument = name
        return error


class DomainError(InputError):
    """Raised if the definition of a parameter, a domain or a domain file is invalid."""


class DataError(InputError):
    """Raised if a frame, a file of data or given rows break a rule."""


class SettingError(InputError):
    """Raised if an argument or a command-line option breaks a rule."""


class RunError(FairprobeError, RuntimeError):
    """Raised if the work itself fails; `found` holds the results from before the failure, or None."""

    def __init__(self, message: str, found: Any = None) -> None:
        super().__init__(message)
        self.found = found

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.found)


class ModelError(RunError):
    """Raised if the model raises an error, or returns an output that is not allowed."""


class HealthWarning(UserWarning):
    """Warning of a named health check; its message begins with the name, so that a warnings filter can silence it."""
