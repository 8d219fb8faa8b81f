"""Which word starts which subcommand, and the usage text."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from deepbench.cli.errors import UsageError, shown, suggestion

_COMMANDS = ("run", "list", "env", "show", "compare", "report", "import", "model")

_USAGE = """\
usage: deepbench OP [SET] [PRECISION] [KEY=VALUE ...] [options]
       deepbench run SUITE_FILE... | list [OP] [SET] | env | show FILE |
                 compare FILE FILE... | report FILE... -o PAGE.html | import BOOK -o FILE |
                 model FILE...

  OP         gemm conv rnn sparse_gemm all_reduce memory all
  SET        training (default), inference-server (or inference), inference-device (or device)
  PRECISION  float tf32 half bfloat16 fp8_e4m3 fp8_e5m2 int8

  deepbench gemm                                the original's training set, on this machine
  deepbench gemm inference int8 --quick         a tenth of the inference set
  deepbench gemm m=1760 n=16,32 k=1760          these two problems
  deepbench run my_problems.txt -o mine.jsonl   a suite of one's own, kept in a file

'deepbench OP --help' has an operation's keys and all options, 'deepbench COMMAND --help' the rest.
"""


def run(words: Sequence[str]) -> int:
    """Runs the subcommand that the first word names. Raises Refusal."""
    if not words:
        sys.stderr.write(_USAGE)
        return 2
    first, rest = words[0], words[1:]
    if first in ("-h", "--help", "help"):
        sys.stdout.write(_USAGE)
        return 0
    if first in ("-V", "--version"):
        from deepbench import _core

        print(f"deepbench {_core.version}")
        return 0
    return _subcommand(first, rest)


def _subcommand(first: str, rest: Sequence[str]) -> int:
    if first == "run":
        from deepbench.cli import run as run_command

        return run_command.main(rest)
    if first == "list":
        from deepbench.cli import list as list_command

        return list_command.main(rest)
    if first == "env":
        from deepbench.cli import env

        return env.main(rest)
    if first == "show":
        from deepbench.cli import show

        return show.main(rest)
    if first == "compare":
        from deepbench.cli import compare

        return compare.main(rest)
    if first == "report":
        from deepbench.cli import report

        return report.main(rest)
    if first == "import":
        from deepbench.cli import import_workbook

        return import_workbook.main(rest)
    if first == "model":
        from deepbench.cli import model

        return model.main(rest)
    return _operation(first, rest)


def _operation(first: str, rest: Sequence[str]) -> int:
    from deepbench.cli import ops, words

    op = words.operation_name(first)
    if op is not None:
        return ops.main(op, rest)
    if first.startswith("-"):
        raise UsageError(f"an operation or a command comes first, not {shown(first)}; see --help")
    names = words.operation_names()
    near = suggestion(first, [*names, *_COMMANDS])
    raise UsageError(
        f"there is no operation or command {shown(first)}{near}; "
        f"there are {' '.join(names)} and {' '.join(_COMMANDS)}"
    )
