"""deepbench accept --against REFERENCE: decides whether this machine performs as it should."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deepbench.cli.command import Command, CommandLine, Option
from deepbench.cli.option_types import FILE
from deepbench.cli.options import BACKEND, backend_option
from deepbench.errors import UsageError, in_quotes
from deepbench.problems.ranges import whole_number
from deepbench.references.lookup import require_distinct_output
from deepbench.results import atomic_write
from deepbench.runner.launcher import launch_environment
from deepbench.runner.progress import Screen

if TYPE_CHECKING:
    from deepbench.accept.acceptance import Acceptance

_DEFAULT_MINUTES, _MOST_MINUTES = 5.0, 24 * 60.0
_SUFFIXES = (".html", ".htm", ".md")
_AGAINST = Option("--against", "result files, folders of them or references, with commas", "NAMES",
                  FILE)  # fmt: skip
_MINUTES = Option("--minutes", "minutes that it may take, 5 unless given", "N",
                  click.FloatRange(0, _MOST_MINUTES, min_open=True))  # fmt: skip
_REPORT = Option("--report", "write a page (PAGE.html) or Markdown (PAGE.md) as well", "FILE", FILE)
_KEEP = Option("--keep", "keep the result files in this new folder", "FOLDER", FILE)
_WITHOUT = Option("--without", "what a pass does not need, as in energy,errors", "WORDS")
_OVERWRITE = Option("--overwrite", "replace the file that --report names")
_DEVICES = Option("--devices", "devices of a list, as in 0,2, unless all", "LIST")
_USAGE = """\
usage: deepbench accept --against NAMES [--minutes 5] [--without WORDS]
                        [--report page.html]

Measures chosen rows of a reference again, lets the devices soak, and says
whether this machine is what it should be: PASS (exit status 0), FAIL (1), or
INCOMPLETE (3), where no alarm was raised but something is missing. --without
names what may be missing in a PASS: a family such as energy, the counts of
errors or of throttling, or the reference's spread.
"""


def main(line: CommandLine) -> int:
    from deepbench.accept.acceptance import Request, accept
    from deepbench.accept.page import summary_sections
    from deepbench.accept.reference import read_reference
    from deepbench.report.comparison.table import table_parts

    _refuse_misuse(line)
    names = _reference_names(line)
    devices, report = _device_list(line), _report_path(line, names)
    reference = read_reference(names)
    request = Request(
        minutes=line.real(_MINUTES.flag) or _DEFAULT_MINUTES,
        backend=backend_option(line),
        devices=devices,
        folder=_new_folder(line),
        without=_excused_words(line),
        command=("accept", *line.arguments),
    )
    screen = Screen()
    acceptance = accept(reference, request, screen)
    for part in table_parts(summary_sections(acceptance), screen.report_width()):
        screen.report(part)
    if report is not None:
        atomic_write.write(report, _page(acceptance, report), line.has(_OVERWRITE.flag))
        screen.say(f"deepbench: {report} explains the verdict")
    return acceptance.verdict.outcome.value


def _refuse_misuse(line: CommandLine) -> None:
    if line.words:
        raise UsageError(
            f"accept takes no word, not {in_quotes(line.words[0])}; --against names the reference"
        )
    if line.has(_OVERWRITE.flag) and not line.has(_REPORT.flag):
        raise UsageError("--overwrite needs --report FILE")
    if launch_environment() is not None:
        raise UsageError("accept starts the ranks of its devices itself: run it without a launcher")


def _reference_names(line: CommandLine) -> list[str]:
    names = [name.strip() for name in (line.get(_AGAINST.flag) or "").split(",")]
    names = [name for name in names if name]
    if not names:
        raise UsageError(
            "accept needs a reference: --against NAMES, such as a result file of a good machine"
        )
    return names


def _device_list(line: CommandLine) -> tuple[int, ...] | None:
    text = line.get(_DEVICES.flag)
    if text is None:
        return None
    numbers = [whole_number(word) for word in text.split(",")]
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers) or len(set(known)) < len(known):
        raise UsageError(f"--devices {in_quotes(text)}: must name each device once, as in 0,2")
    return tuple(known)


def _excused_words(line: CommandLine) -> frozenset[str]:
    from deepbench.accept.gaps import WORDS

    text = line.get(_WITHOUT.flag)
    words = [] if text is None else [word.strip() for word in text.split(",")]
    for word in words:
        if word not in WORDS:
            raise UsageError(f"--without {in_quotes(word)}: must be one of {', '.join(WORDS)}")
    return frozenset(words)


def _report_path(line: CommandLine, names: Sequence[str]) -> Path | None:
    """The page to write, which has been checked to be writable and not to be a file of the
    reference. Raises UserError."""
    from deepbench.accept.reference import file_names

    text = line.get(_REPORT.flag)
    if text is None:
        return None
    path = Path(text)
    if path.suffix.lower() not in _SUFFIXES:
        raise UsageError(f"--report {in_quotes(text)}: must be named PAGE.html or PAGE.md")
    read = [name for word in names for name in file_names(word)]
    require_distinct_output(text, read, _REPORT.flag)
    atomic_write.require_writable(path, line.has(_OVERWRITE.flag))
    return path


def _new_folder(line: CommandLine) -> Path | None:
    """The folder for the result files, which has been checked to be possible. It is created when
    rows begin, so that a command that is refused leaves none. Raises UsageError."""
    text = line.get(_KEEP.flag)
    if text is None:
        return None
    try:
        Path(text).mkdir()
        Path(text).rmdir()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"--keep {in_quotes(text)}: {reason}; name a new folder") from None
    return Path(text)


def _page(acceptance: Acceptance, path: Path) -> bytes:
    from deepbench.accept.page import all_sections
    from deepbench.report.comparison.html import render_html
    from deepbench.report.comparison.markdown import render_markdown

    sections = all_sections(acceptance)
    if path.suffix.lower() == ".md":
        return render_markdown(sections).encode()
    return render_html(sections, "deepbench accept").encode()


command = Command(
    "accept",
    (_AGAINST, _MINUTES, _WITHOUT, _REPORT, _KEEP, _OVERWRITE, BACKEND, _DEVICES),
    main,
    _USAGE,
)
