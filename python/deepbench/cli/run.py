"""deepbench run SUITE_FILE...: times the problems of the user's files, in their order."""

from __future__ import annotations

from deepbench.cli.command import Command, CommandLine
from deepbench.cli.options import OPTIONS, run_options
from deepbench.errors import UsageError
from deepbench.problems.selection import select_files
from deepbench.references.lookup import require_distinct_output
from deepbench.results.output_names import require_result_name
from deepbench.runner.run import Run

_USAGE = """\
usage: deepbench run SUITE_FILE... [PRECISION] [options]

A suite file has one problem per line, such as

  gemm m=1760 n=16 k=1760 precision=float

Several files, and several operations in a file, run one after the other.
PRECISION applies to lines that name none.
"""


def main(line: CommandLine) -> int:
    if not line.words:
        raise UsageError("run needs a suite file: deepbench run SUITE_FILE...")
    require_result_name(line.get("--output"), ["run", *line.arguments], line.has("--resume"))
    require_distinct_output(line.get("--output"), line.words)
    options = run_options(line)
    return Run(select_files(line.words), options, ["run", *line.arguments]).run()


_OPTIONS = [option for option in OPTIONS if option.flag != "--corrected"]
command = Command("run", _OPTIONS, main, _USAGE)
