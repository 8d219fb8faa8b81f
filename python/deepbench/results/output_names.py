"""Checks the names of output files. Result files are JSON lines; a name with the suffix of another
format is refused with the command that makes such a file."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from deepbench.errors import UsageError, in_quotes

# Suffixes of other formats, with the format or the command that makes such a file.
_PRINTED = {
    ".csv": "csv", ".json": "json", ".md": "markdown", ".markdown": "markdown", ".txt": "table",
}  # fmt: skip
_REPORTED = (".html", ".htm", ".xlsx")
_DRAWN = (".png", ".svg", ".pdf")
_COMPRESSED = {".gz": "gzip", ".xz": "xz", ".zst": "zstd", ".bz2": "bzip2"}
_UNKNOWN = (".xls", ".ods", ".tsv", ".docx", ".parquet", ".yaml", ".yml", ".xml")


def require_result_name(output: str | None, command: Sequence[str], resumes: bool = False) -> None:
    """Raises UsageError for a result file whose name has the suffix of another format. `command`
    holds the words after 'deepbench'. A run that resumes a file accepts any name."""
    if output is None or _is_special(output) or (resumes and Path(output).exists()):
        return
    rows = str(Path(output).with_suffix(".jsonl"))
    if Path(output).suffix.lower() in _COMPRESSED:
        rows = output[: -len(Path(output).suffix)]
        if conversion_command(rows, rows) is not None:  # out.csv.gz
            rows = str(Path(rows).with_suffix(".jsonl"))
    made = conversion_command(rows, output)
    if made is None:
        return
    first = shlex.join(["deepbench", *_with_output(command, output, rows)])
    raise UsageError(f"-o {in_quotes(output)}: rows are kept as JSON lines; write {first}{made}")


def conversion_command(rows: str, output: str) -> str | None:
    """The command that makes the file `output` from the result file `rows`; None if a result file
    may be called `output`."""
    suffix = Path(output).suffix.lower()
    file, quoted = shlex.quote(rows), shlex.quote(output)
    if suffix in _COMPRESSED:
        return f" && {_COMPRESSED[suffix]} {file}"
    if suffix in _UNKNOWN:
        return ""
    command = print_command(rows, output)
    if suffix in _REPORTED:
        command = f"deepbench report {file} -o {quoted}"
    if suffix in _DRAWN:
        command = f"deepbench report {file} --chart roofline -o {quoted}"
    return f" && {command}" if command else None


def print_command(rows: str, output: str) -> str | None:
    """The command that prints a result file into `output`, if 'show' has the format of its name."""
    name = _PRINTED.get(Path(output).suffix.lower())
    if name is None:
        return None
    form = "" if name == "table" else f" --format {name}"
    return f"deepbench show {shlex.quote(rows)}{form} > {shlex.quote(output)}"


def _is_special(output: str) -> bool:
    """Whether the output is a device or a pipe, which accepts any format."""
    try:
        path = Path(output)
        return path.exists() and not path.is_file()
    except (OSError, ValueError):
        return True


def _with_output(command: Sequence[str], output: str, rows: str) -> list[str]:
    """The command with the name after -o replaced."""
    written = {output: rows, f"-o{output}": f"-o{rows}", f"--output={output}": f"--output={rows}",
               f"-o={output}": f"-o={rows}"}  # fmt: skip
    return [written.get(word, word) for word in command]
