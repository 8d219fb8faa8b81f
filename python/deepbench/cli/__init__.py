"""The command line: runs a subcommand and turns every error into one line and an exit status.

Exit statuses: 0 success; 1 rows failed; 2 bad usage or input; 130 Ctrl-C; 143 SIGTERM or SIGHUP. If
1 is a verdict of the command, no error ends with it.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

from deepbench.errors import Terminated, UserError, printable_line

__all__ = ["main"]

_LONGEST = 2000  # characters of an error message
_WITH_VERDICT = ("accept", "ab")  # commands whose exit status 1 is a verdict
# The number of new objects after which the garbage collector searches. Rows of result files are
# many objects without cycles: with Python's default of 700, comparing files of 10,000 rows takes a
# tenth longer.
_OBJECTS_PER_COLLECTION = 50_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status."""
    gc.set_threshold(_OBJECTS_PER_COLLECTION)
    words = list(sys.argv[1:] if arguments is None else arguments)
    failed = 2 if words[:1] and words[0] in _WITH_VERDICT else 1
    try:
        if not _open_streams():
            return _print_error("standard output is closed; redirect it with '> /dev/null'", 2)
    except OSError as error:
        return _print_error(f"a standard stream is closed, and {_os_text(error)}", 2)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _raise_terminated)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        _require_encodable(words)
        status = _run_command(words)
        sys.stdout.flush()
        return status
    except UserError as error:
        return _print_error(str(error), max(error.exit_status, failed))
    except KeyboardInterrupt:
        return 130
    except Terminated:
        return 143
    except BrokenPipeError:  # the reader has closed standard output
        _drop_output()
        return failed
    except MemoryError:
        return _print_error("there is not enough memory for this command", failed)
    except OSError as error:
        _drop_output()
        return _print_error(_os_text(error), failed)


def _os_text(error: OSError) -> str:
    where = f" ({error.filename})" if error.filename else ", writing to standard output"
    return f"{error.strerror or error}{where}"


def _open_streams() -> bool:
    """Opens /dev/null for each standard stream that is closed. Otherwise a file that is opened
    later would get the descriptor, and with it the output of libraries. Returns False if standard
    output is closed."""
    given = sys.stdout is not None
    while not all(_is_open(descriptor) for descriptor in range(3)):
        # Gets the lowest number that is closed.
        os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    return given


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _require_encodable(words: Sequence[str]) -> None:
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise UserError(f"{word!a} is not UTF-8 text", 2) from None


def _run_command(words: list[str]) -> int:
    from deepbench.cli import commands

    try:
        return commands.run(words)
    except ImportError as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # Ctrl-C in the native module's import
            raise KeyboardInterrupt from None
        if "_core" not in str(error):
            # Errors of numpy have many lines.
            last = (str(error).strip() or "no reason is given").splitlines()[-1]
            raise UserError(f"a module of Python cannot be loaded: {last}") from None
        why = f"the native module cannot be loaded: {error}; 'pip install .' builds it"
        raise UserError(why) from None


def _print_error(message: str, status: int) -> int:
    if sys.stderr is None:  # closed, and there is no /dev/null
        return status
    line = printable_line(message)  # the message may quote an untrusted file
    line = line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."
    try:
        print(f"deepbench: error: {line}", file=sys.stderr, flush=True)
    except OSError:
        _drop_output(2)
    return status


def _drop_output(descriptor: int = 1) -> None:
    """Redirects a standard stream to /dev/null, so that the interpreter's final flush succeeds."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


def _raise_terminated(number: int, frame: FrameType | None) -> None:
    raise Terminated
