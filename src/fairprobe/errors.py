"""Everything that fairprobe raises on purpose.

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
    """Argument at fault, if it is one; the message begins with its name."""


class InputError(FairprobeError, ValueError):
    """Wrong use or bad input."""

    exit_code = 2

    @classmethod
    def about(cls, argument: str, rule: str) -> Self:
        """Return an error on an argument that breaks a rule; `calling` can rename the argument.

        >>> SettingError.about("width", "must lie between 0 and 1, got 2")
        SettingError('width must lie between 0 and 1, got 2')
        """
        error = cls(f"{argument} {rule}")
        error.argument = argument
        return error

    def calling(self, argument: str, name: str) -> Self:
        """Return the error with another name of an argument, such as the flag that sets it.

        >>> SettingError.about("n_jobs", "must be a whole number, got 2.5").calling("n_jobs", "--jobs")
        SettingError('--jobs must be a whole number, got 2.5')
        """
        if self.argument != argument:
            return self
        error = type(self)(name + str(self).removeprefix(argument))
        error.argument = name
        return error


class DomainError(InputError):
    """A parameter, a domain or a domain file breaks a rule."""


class DataError(InputError):
    """The given data break a rule."""


class SettingError(InputError):
    """An argument breaks a rule."""


class RunError(FairprobeError, RuntimeError):
    """The run failed; `found` holds the results from before the failure, or None."""

    def __init__(self, message: str, found: Any = None) -> None:
        super().__init__(message)
        self.found = found

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.found)


class ModelError(RunError):
    """The model raised, or gave an answer that no model may give."""


class HealthWarning(UserWarning):
    """A named health check; its name leads the message, so that a warnings filter can silence it."""
