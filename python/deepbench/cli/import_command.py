"""deepbench import FILE -o OUTPUT: makes a suite of a trace or log, or a result file of a
workbook."""

from __future__ import annotations

import shlex
from pathlib import Path

from deepbench.cli.command import Command, CommandLine, Option
from deepbench.cli.option_types import FILE
from deepbench.errors import UsageError, in_quotes, printable_line
from deepbench.references.lookup import file_begins_with, require_distinct_output
from deepbench.results.output_names import require_result_name
from deepbench.runner.progress import Screen

_MOST_LINES = 20
_WORKBOOK_SUFFIXES = (".xlsx", ".xlsm", ".xls")
# First bytes of a ZIP archive, and of an old workbook.
_WORKBOOK_BEGINNINGS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
_OPTIONS = (
    Option("--output", "the file to write: a suite, or of a workbook a result file", "FILE", FILE,
           short="-o"),
    Option("--times", "also write the times of a trace, as a result file", "FILE", FILE),
    Option("--overwrite", "replace the files that -o and --times name"),
    Option("--all", f"print all remarks on what was left out, not only {_MOST_LINES}"),
)  # fmt: skip
_USAGE = """\
usage: deepbench import TRACE -o SUITE.txt [--times FILE] [--overwrite] [--all]
       deepbench import BOOK.xlsx -o FILE [--overwrite] [--all]

Makes a suite of the products and convolutions that a program called, with
their counts. TRACE is a Chrome trace of torch.profiler with record_shapes=True
(.json or .json.gz), or a log of cuBLASLt (CUBLASLT_LOG_LEVEL=2) or oneDNN
(ONEDNN_VERBOSE=1).

Makes a result file of a workbook that the original benchmark published, in
any of its layouts, or that 'report --format xlsx' wrote.
"""


def main(line: CommandLine) -> int:
    output, times = line.get("--output"), line.get("--times")
    require_distinct_output(output, line.words)
    require_distinct_output(times, line.words, "--times")
    if len(line.words) == 1:
        _refuse_result_file(line.words[0])
    is_workbook = len(line.words) == 1 and _is_workbook(line.words[0])
    if is_workbook:
        require_result_name(output, ["import", *line.arguments])
    if len(line.words) != 1 or output is None:
        raise UsageError(
            "import needs a workbook, trace or log, and an output: deepbench import FILE -o OUTPUT"
        )
    source = Path(line.words[0])
    if is_workbook:
        if times is not None:
            raise UsageError("--times is for a trace; a workbook becomes a result file by -o alone")
        from deepbench.cli.import_workbook import import_workbook

        remarks, summary = import_workbook(source, Path(output), line.has("--overwrite"))
    else:
        from deepbench.cli.import_trace import import_trace

        remarks, summary = import_trace(source, output, times, line.has("--overwrite"))
    screen = Screen()
    shown = remarks if line.has("--all") else remarks[:_MOST_LINES]
    for remark in shown:
        screen.say(printable_line(f"deepbench: warning: {remark}"))
    if left := len(remarks) - len(shown):
        screen.say(f"deepbench: warning: {left} more remarks; --all prints them")
    screen.say(printable_line(f"deepbench: {summary}"))
    return 0


def _is_workbook(name: str) -> bool:
    return name.lower().endswith(_WORKBOOK_SUFFIXES) or any(
        file_begins_with(name, beginning) for beginning in _WORKBOOK_BEGINNINGS
    )


def _refuse_result_file(name: str) -> None:
    """Raises UsageError for a result file, which needs no import."""
    if file_begins_with(name, b'{"type":'):
        quoted = shlex.quote(name)
        page = shlex.quote(str(Path(name).with_suffix(".html").name))
        raise UsageError(
            f"{in_quotes(name)} is a result file already: deepbench show {quoted}, deepbench "
            f"report {quoted} -o {page}, or deepbench compare {quoted} OTHER"
        )


command = Command("import", _OPTIONS, main, _USAGE)
