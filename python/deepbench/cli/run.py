"""deepbench run SUITE_FILE...: times the problems of the user's own files, in their order."""

from __future__ import annotations

from collections.abc import Sequence

from deepbench.cli.flags import help_lines, parse
from deepbench.cli.options import FLAGS, run_options
from deepbench.errors import UsageError
from deepbench.problems.selection import select_files
from deepbench.references.lookup import require_distinct_output
from deepbench.results.output_names import require_result_name
from deepbench.runner.sweep import Sweep

_HELP = """\
usage: deepbench run SUITE_FILE... [PRECISION] [options]

A suite file has one problem a line, as 'gemm m=1760 n=16 k=1760 precision=float'; several files,
and several operations in one, run one after the other. PRECISION is that of lines that have none.
"""


def main(arguments: Sequence[str]) -> int:
    flags = [flag for flag in FLAGS if flag.name != "--corrected"]
    line = parse(arguments, flags)
    if line.has("--help"):
        print("\n".join([_HELP, "options:", *help_lines(flags)]))
        return 0
    if not line.words:
        raise UsageError("run needs a suite file: deepbench run SUITE_FILE...")
    require_result_name(line.get("--output"), ["run", *arguments], line.has("--resume"))
    require_distinct_output(line.get("--output"), line.words)
    options = run_options(line)
    return Sweep(select_files(line.words), options, ["run", *arguments]).run()
