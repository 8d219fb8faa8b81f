"""deepbench check-result FILE: decides whether a result file may join the measured references."""

from __future__ import annotations

from pathlib import Path

from deepbench.cli.command import Command, CommandLine
from deepbench.errors import UsageError
from deepbench.references.admission import reasons_against
from deepbench.results import read
from deepbench.runner.progress import Screen

_USAGE = """\
usage: deepbench check-result FILE

Says whether a result file may join the references of the package: a complete
run of a released state of deepbench, every row verified, in the default
regime, with three visits and a narrow interval. The exit status is 1 if it
may not; each reason is a line.
"""


def main(line: CommandLine) -> int:
    if len(line.words) != 1:
        raise UsageError("check-result needs one result file: deepbench check-result FILE")
    result, screen = read(Path(line.words[0])), Screen()
    reasons = reasons_against(result)
    for reason in reasons:
        screen.report(f"{reason}\n")
    verdict = "may not join" if reasons else f"may join, with {len(result.rows)} rows,"
    screen.report(f"{result.path} {verdict} the references\n")
    return 1 if reasons else 0


command = Command("check-result", (), main, _USAGE)
