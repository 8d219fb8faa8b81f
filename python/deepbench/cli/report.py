"""deepbench report FILE...: writes a page, Markdown, a chart, or a workbook of result files."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from deepbench.cli.command import Command, CommandLine, Option
from deepbench.cli.option_types import FILE, FileName, TextWithCandidates
from deepbench.errors import UsageError, in_quotes, suggestion
from deepbench.installation import install_command
from deepbench.paused_collector import paused_collector
from deepbench.references.lookup import open_results, require_distinct_output, source_identity
from deepbench.report.overview import CHARTS, FORMATS, IMAGES, content, render
from deepbench.results import ResultFile, atomic_write
from deepbench.results.output_names import print_command
from deepbench.results.reader import WHOLE, Detail
from deepbench.runner.progress import Screen

_OPTIONS = (
    Option("--output", "the file to write; without it, markdown is printed", "FILE",
           FileName("without --output, markdown is printed"), short="-o"),
    Option("--format", "html, markdown, png, svg, pdf or xlsx; default: by the file's suffix",
         "WORD", click.Choice((*FORMATS, "xlsx"))),
    Option("--against", "compare with references or result files, with commas", "NAMES", FILE),
    Option("--chart", f"the chart of an image: {' '.join(CHARTS)}, or METRIC/ATTRIBUTE: tflops/n",
         "WORD", TextWithCandidates(CHARTS)),
    Option("--row", "the position of the row that --chart distribution shows", "N",
         click.IntRange(0)),
    Option("--overwrite", "replace the file that -o names"),
)  # fmt: skip
_USAGE = """\
usage: deepbench report FILE... -o PAGE.html [--against NAMES]
       deepbench report FILE... --format markdown
       deepbench report FILE... -o CHART.svg [--chart WORD]
       deepbench report FILE... -o CHART.pdf --chart WORD
       deepbench report FILE -o BOOK.xlsx

Writes one page that needs no network: summaries, roofline, samples, default
against best, hot against cold, published figures, all rows, and the machine.
Charts need vl-convert:
    {charts}
A workbook has the sheets of the original benchmark and needs XlsxWriter:
    {workbooks}
"""
_ENDINGS = {".html": "html", ".htm": "html", ".md": "markdown", ".png": "png", ".svg": "svg",
            ".pdf": "pdf", ".xlsx": "xlsx"}  # fmt: skip


@paused_collector()  # all rows stay until the command ends
def main(line: CommandLine) -> int:
    if not line.words:
        raise UsageError("report needs a result file: deepbench report FILE... -o PAGE.html")
    name = _chosen_format(line)
    row = _row_option(line, name)
    output = line.get("--output")
    require_distinct_output(output, [*line.words, *_split_names(line.get("--against"))])
    if name == "xlsx":
        return _write_workbook(line, Path(output or ""))
    if output is not None:
        atomic_write.require_writable(Path(output), line.has("--overwrite"))
    screen = Screen()
    detail = Detail(lines=False)
    files = _open_all(screen, line.words, detail)
    others = _open_all(screen, _split_names(line.get("--against")), detail)
    made = render(
        content(files, others, _core_version()), name, line.get("--chart") or "roofline", row
    )
    if output is None:
        screen.report(made.decode())
    else:
        atomic_write.write(Path(output), made, line.has("--overwrite"))
        _say_written(screen, output, len(made))
    return 0


def _write_workbook(line: CommandLine, path: Path) -> int:
    from deepbench.workbook import write_workbook

    if len(line.words) != 1 or line.has("--against"):
        raise UsageError("a workbook holds one result file")
    screen = Screen()
    [file] = _open_all(screen, line.words)
    write_workbook(file, path, overwrite=line.has("--overwrite"))
    _say_written(screen, str(path), path.stat().st_size)
    return 0


def _say_written(screen: Screen, name: str, size: int) -> None:
    text = f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{max(1, round(size / 1e3))} kB"
    screen.say(f"deepbench: {name}: {text}")


def _chosen_format(line: CommandLine) -> str:
    """The format that --format names, else that of the output's suffix. Raises UsageError."""
    output = line.get("--output")
    if line.has("--overwrite") and output is None:
        raise UsageError("--overwrite needs -o FILE")
    name = line.get("--format")
    if name is None and output is not None:
        name = _ENDINGS.get(Path(output).suffix.lower())
        if name is None:
            raise UsageError(_unknown_suffix_error(line, output))
    if output is None and name != "markdown":
        suffix = ".svg" if line.has("--chart") else ".html"
        raise UsageError(
            f"report needs -o FILE, as in -o {_example_output_name(line, suffix)}; "
            "only --format markdown can be printed"
        )
    if name == "pdf" and not line.has("--chart"):
        raise UsageError(_pdf_page_error(line))
    if line.has("--chart") and name not in IMAGES:
        raise UsageError(f"--chart is for --format {' '.join(IMAGES)}; a page has all charts")
    _require_known_chart(line.get("--chart") or CHARTS[0])
    return name or "html"


def _unknown_suffix_error(line: CommandLine, output: str) -> str:
    """The error for an output whose suffix belongs to no format of a report."""
    printed = print_command(line.words[0], output)
    if printed is not None:
        return f"-o {in_quotes(output)}: no report has this format; write {printed}"
    formats = " ".join((*FORMATS, "xlsx"))
    return (
        f"-o {in_quotes(output)}: give --format, one of {formats}, or a name such as "
        + _example_output_name(line, ".html")
    )


def _pdf_page_error(line: CommandLine) -> str:
    files = shlex.join(line.words)
    chart, page = (shlex.quote(_example_output_name(line, suffix)) for suffix in (".pdf", ".html"))
    return (
        f"a PDF has one chart: deepbench report {files} --chart roofline -o {chart}; "
        f"the whole page is printed to PDF by a browser: deepbench report {files} -o {page}"
    )


def _example_output_name(line: CommandLine, suffix: str) -> str:
    """An example of an output's name, derived from -o or from the first file."""
    named = Path(line.get("--output") or Path(line.words[0]).name)
    return str(named.with_suffix(suffix) if named.name else f"page{suffix}")


def _require_known_chart(word: str) -> None:
    """Raises UsageError for an unknown chart. The files, which are read later, determine the valid
    metrics and attributes."""
    if word not in CHARTS and "/" not in word:
        near = suggestion(word, CHARTS)
        raise UsageError(
            f"--chart {in_quotes(word)}: must be one of {' '.join(CHARTS)}, or METRIC/ATTRIBUTE "
            f"such as tflops/n{near}"
        )


def _row_option(line: CommandLine, name: str) -> int | None:
    position = line.integer("--row")
    if position is not None and (name not in IMAGES or line.get("--chart") != "distribution"):
        raise UsageError("--row is for an image of --chart distribution")
    return position


def _split_names(text: str | None) -> list[str]:
    names = [name.strip() for name in (text or "").split(",")]
    return [name for name in names if name]


def _open_all(screen: Screen, words: Sequence[str], detail: Detail = WHOLE) -> list[ResultFile]:
    seen: dict[object, str] = {}
    files = []
    for word in words:
        file = open_results(word, detail=detail)
        one = source_identity(word)
        if one in seen:
            raise UsageError(f"{in_quotes(word)} and {in_quotes(seen[one])} are the same")
        seen[one] = word
        if file.warning:
            screen.say(f"deepbench: warning: {file.warning}")
        files.append(file)
    return files


def _core_version() -> str:
    from deepbench import _core

    return _core.version


def _usage_text() -> str:
    return _USAGE.format(charts=install_command("report"), workbooks=install_command("xlsx"))


command = Command("report", _OPTIONS, main, _usage_text)
