"""Which word starts which subcommand, and the usage text."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from deepbench.errors import UsageError, shown, suggestion

_COMMANDS = ("run", "list", "env", "show", "compare", "report", "import", "model")

# Words of other programs, and a cell for its operation, as ours are called.
_SYNONYMS = {
    "matmul": "gemm", "mm": "gemm", "sgemm": "gemm", "hgemm": "gemm", "igemm": "gemm",
    "dense": "gemm", "linear": "gemm", "conv2d": "conv", "conv3d": "conv", "convolution": "conv",
    "spmm": "sparse_gemm", "spmv": "sparse_gemm", "lstm": "rnn cell=lstm", "gru": "rnn cell=gru",
    "vanilla": "rnn cell=vanilla", "nccl": "all_reduce", "mpi": "all_reduce", "mem": "memory",
    "memcpy": "memory", "bandwidth": "memory", "stream": "memory", "diff": "compare",
    "view": "show", "print": "show", "cat": "show", "plot": "report", "chart": "report",
    "html": "report", "export": "report", "convert": "import", "info": "env", "devices": "env",
    "libraries": "env", "backends": "env", "doctor": "env", "references": "list references",
}  # fmt: skip

_COMMAND_OF_SUFFIX = {".jsonl": "show", ".txt": "run", ".xlsx": "import"}  # a file of such a name

_USAGE = """\
usage: deepbench OP [SET] [PRECISION] [KEY=VALUE ...] [options]
       deepbench run SUITE_FILE... | list [OP] [SET] | env | show FILE |
                 compare FILE FILE... | report FILE... -o PAGE.html | import BOOK -o FILE |
                 model FILE... | help [OP | COMMAND]

  OP         gemm conv rnn sparse_gemm all_reduce memory all
  SET        training (default), inference-server (or inference), inference-device (or device)
  PRECISION  float tf32 half bfloat16 fp8_e4m3 fp8_e5m2 int8, or another usual spelling such as
             fp32 fp16 bf16 fp8 (which is fp8_e4m3)

  deepbench gemm                                the original's training set, on this machine
  deepbench gemm inference int8 --quick         a tenth of the inference set
  deepbench gemm m=1760 n=16,32 k=1760          these two problems
  deepbench run my_problems.txt -o mine.jsonl   a suite of one's own, kept in a file

'deepbench OP --help' has an operation's keys and all options, 'deepbench COMMAND --help' the rest.
"""


def run(words: Sequence[str]) -> int:
    """Runs the subcommand that the first word names. Raises UserError."""
    if not words:
        sys.stderr.write(_USAGE)
        return 2
    first, rest = words[0], words[1:]
    if first == "help" and rest:
        if len(rest) > 1:
            raise UsageError(f"help takes one word: deepbench help {rest[0]}")
        first, rest = rest[0], ["--help"]
    if first in ("-h", "--help", "help"):
        sys.stdout.write(_USAGE)
        return 0
    if first in ("-V", "--version", "version"):
        from deepbench import _core

        print(f"deepbench {_core.version}")
        return 0
    return _subcommand(first, rest)


def _subcommand(first: str, rest: Sequence[str]) -> int:
    if first == "run":
        from deepbench.cli import run as run_command

        return run_command.main(rest)
    if first == "list":
        from deepbench.cli import list_command

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
    from deepbench.cli import ops
    from deepbench.problems import problem_arguments

    op = problem_arguments.operation_name(first)
    if op is not None:
        return ops.main(op, rest)
    if first.startswith("-"):
        right = _did_you_mean(first, rest) or "; see --help"
        raise UsageError(f"an operation or a command comes first, not {shown(first)}{right}")
    names = problem_arguments.operation_names()
    meant = _did_you_mean(first, rest) or suggestion(first, [*names, *_COMMANDS])
    raise UsageError(
        f"there is no operation or command {shown(first)}{meant}; "
        f"there are {' '.join(names)} and {' '.join(_COMMANDS)}"
    )


def _did_you_mean(first: str, rest: Sequence[str]) -> str:
    """What a first word means that is another program's, or not the first of ours."""
    whole = _whole_command(first, rest)
    if whole is not None:
        return f" (did you mean {shlex.join(['deepbench', *whole])!r}?)"
    meant = _SYNONYMS.get(first.lower())
    return f" (did you mean {meant!r}?)" if meant else ""


def _whole_command(first: str, rest: Sequence[str]) -> list[str] | None:
    """The command with its operation in the first place, or the command that takes a file."""
    from deepbench import suites
    from deepbench.problems import problem_arguments

    op = next((word for word in rest if problem_arguments.operation_name(word) is not None), None)
    if op is not None:
        others = [word for word in rest if word != op]
        known = suites.set_name(first) or problem_arguments.precision_name(
            problem_arguments.ALL, first
        )
        return [op, *([first] if known or first.startswith("-") else []), *others]
    keys = {word.partition("=")[0] for word in (first, *rest) if "=" in word}
    if "=" in first and not first.startswith("-"):
        of = [
            one.name
            for one in problem_arguments.operations()
            if keys <= {key.name for key in one.parameters}
        ]
        return [of[0], first, *rest] if of else None
    command = _COMMAND_OF_SUFFIX.get(Path(first).suffix.lower())
    return [command, first, *rest] if command else None
