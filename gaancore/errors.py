"""What can go wrong for a reason that a person can mend.

Every one is a single line: what is wrong, where (argument, file, row, id), and what to do. The
command line prints it and leaves with exit code 2; `--debug` adds the traceback.
"""

from collections.abc import Sequence

LONGEST = 1_500  # characters of a message


class UserError(Exception):
    """Base of the errors below; anything else that escapes is our own mistake.

    What a file or a user gave is escaped where it cannot be printed in one line, and the middle of
    a message of thousands of characters is left out.

    >>> import gaancore
    >>> try:
    ...     gaancore.train("no-such-folder")
    ... except gaancore.UserError as error:
    ...     print(type(error).__name__)
    DataError
    """

    def __init__(self, message: str = "") -> None:
        line = one_line(message)
        if len(line) > LONGEST:
            line = f"{line[: LONGEST // 2]} ... {line[-LONGEST // 2 :]}"
        super().__init__(line)


class ShapeError(UserError, ValueError):
    """An array has the wrong shape or dtype: `op: argument: expected ..., got ...`."""


class GraphError(UserError, ValueError):
    """A graph, a node id or a fan-out is not what it claims to be."""


class DataError(UserError, ValueError):
    """A file is missing, damaged, or holds something that cannot be trained on."""


class SettingsError(UserError, ValueError):
    """An option, a configuration file or a combination of settings is not valid."""


class DeviceError(UserError, RuntimeError):
    """The requested device, or its driver or library, is not there."""


class TrainingError(UserError, RuntimeError):
    """Training cannot go on honestly: a gradient, loss or output is not finite."""


def one_line(text: str) -> str:
    """`text` with escapes for ends of lines and all else that cannot be printed.

    >>> one_line("two\\nlines")
    'two\\\\nlines'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def expect_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Raises SettingsError unless `value`, of the argument `name`, is one of `choices`."""
    if value not in choices:
        raise SettingsError(f"{name}: expected one of {', '.join(choices)}, got {value!r}")
