"""deepbench completion SHELL: prints the script that completes deepbench's words in a shell."""

from __future__ import annotations

import sys

from deepbench.cli.command import Command, CommandLine
from deepbench.errors import UsageError, in_quotes, suggestion

_SHELLS = ("bash", "zsh", "fish")
_USAGE = """\
usage: deepbench completion bash|zsh|fish

Prints a completion script for operations, sets, precisions, commands, options
and names of files. To install it, add the line of your shell to its file:

  bash, ~/.bashrc:                    eval "$(deepbench completion bash)"
  zsh, ~/.zshrc:                      eval "$(deepbench completion zsh)"
  fish, ~/.config/fish/config.fish:   deepbench completion fish | source
"""


def main(line: CommandLine) -> int:
    if len(line.words) != 1:
        raise UsageError(f"completion needs one shell: deepbench completion {'|'.join(_SHELLS)}")
    shell = line.words[0]
    if shell not in _SHELLS:
        raise UsageError(
            f"{in_quotes(shell)}: must be one of {' '.join(_SHELLS)}{suggestion(shell, _SHELLS)}"
        )
    from click.shell_completion import get_completion_class

    from deepbench.cli.commands import COMPLETION_VARIABLE, group

    script = get_completion_class(shell)
    assert script is not None
    sys.stdout.write(script(group(), {}, "deepbench", COMPLETION_VARIABLE).source())
    return 0


command = Command("completion", (), main, _USAGE, complete=lambda: _SHELLS)
