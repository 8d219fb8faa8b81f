"""Opens the rows that a word of the command line names: a result file or a reference."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable
from pathlib import Path

from deepbench import history, references
from deepbench.errors import UsageError, in_quotes, suggestion
from deepbench.results import ResultFile, read
from deepbench.results.reader import WHOLE, Detail

LAST = "last"  # the last run of the history
_ZIP = b"PK\x03\x04"  # the first bytes of a workbook


def open_results(word: str, ops: Collection[str] = (), detail: Detail = WHOLE) -> ResultFile:
    """The rows of a result file, of the last run of the history, or of a reference; of the latter
    only those of `ops` if there are any. A file takes precedence over another meaning of its name.
    `detail` states what the rows need at least. Raises UserError."""
    if is_last_run(word):
        return history.read_run(history.last_run())
    reference = named_reference(word)
    if reference is not None:
        return references.load(reference, ops, detail)
    if _is_file(word) or _is_path(word):
        _refuse_workbook(word)
        return read(Path(word), detail)
    if _is_folder(word):
        raise UsageError(f"{in_quotes(word)}: is a folder; name a result file in it")
    near = suggestion(word, [one.name for one in references.available()])
    raise UsageError(
        f"{in_quotes(word)}: there is no such file and no such reference{near}; 'deepbench list "
        "references' has the names"
    )


def is_last_run(word: str) -> bool:
    """Whether the word means the last run of the history; a file may have this name."""
    return word == LAST and not _is_file(word)


def named_reference(word: str) -> references.Reference | None:
    """The reference that a word names, unless a file has this name. Raises UserError."""
    return None if _is_file(word) else references.find(word)


def _refuse_workbook(word: str) -> None:
    """Raises UsageError for a workbook, with the command that makes a result file of it."""
    if file_begins_with(word, _ZIP):
        made = f"deepbench import {shlex.quote(word)} -o {shlex.quote(Path(word).stem + '.jsonl')}"
        raise UsageError(f"{in_quotes(word)} is a workbook; {made} makes a result file of it")


def require_distinct_output(output: str | None, read: Iterable[str], flag: str = "-o") -> None:
    """Raises UsageError if the output, which `flag` gives, is the name of a folder, or one of the
    input files, which would be lost."""
    if output is not None and output.endswith("/"):
        raise UsageError(f"{flag} {in_quotes(output)}: names a folder; name a file")
    for word in read:
        if (
            output is not None
            and _is_file(output)
            and source_identity(word) == source_identity(output)
        ):
            raise UsageError(f"{flag} {in_quotes(output)}: is also an input; choose another output")


def source_identity(word: str) -> object:
    """A value that is equal for two words with the same rows, or None for an unknown source."""
    if is_last_run(word):
        word = str(history.last_run().path)
    if not _is_file(word):
        reference = references.find(word)
        return reference.name if reference else None
    facts = Path(word).stat()
    return facts.st_dev, facts.st_ino


def file_begins_with(word: str, beginning: bytes) -> bool:
    """Whether a word names a regular file with these first bytes."""
    try:
        path = Path(word)
        if not path.is_file():  # opening a pipe would wait for its writer
            return False
        with path.open("rb") as file:
            return file.read(len(beginning)) == beginning
    except (OSError, ValueError):
        return False  # reading the file reports the error


def _is_file(word: str) -> bool:
    try:
        return Path(word).exists() and not Path(word).is_dir()
    except (OSError, ValueError):
        return False


def _is_folder(word: str) -> bool:
    try:
        return Path(word).is_dir()
    except (OSError, ValueError):
        return False


def _is_path(word: str) -> bool:
    """Whether a word looks like the path of a file, so that it cannot name a reference."""
    return "/" in word or "\0" in word or word.endswith((".jsonl", ".json"))
