"""Makes the chains of a workload: all kernels of a pass, timed as one call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from deepbench.errors import counted, printable_line
from deepbench.problems.chain import Chain
from deepbench.results.chains import ChainLine, chain_of_answer, failed_chain
from deepbench.runner.plan import chain_limit_s
from deepbench.runner.run_options import RunOptions
from deepbench.runner.session import RowSource
from deepbench.runner.worker_exit import WorkerFailure
from deepbench.runner.worker_process import INVALID_ANSWER

Key = tuple[tuple[tuple[str, int], ...], str]  # the parameters of a pass, and the power regime


class ChainMaker:
    """Makes the chains of one source. A chain that fails costs only itself."""

    def __init__(
        self, source: RowSource, options: RunOptions, say: Callable[[str], object]
    ) -> None:
        self._source, self._options, self._say = source, options, say

    def make(
        self,
        chains: Iterable[Chain],
        kept: Mapping[Key, ChainLine],
        keep: Callable[[ChainLine], object],
    ) -> list[ChainLine]:
        """The chains in every power regime of the run. Those that are not `kept` are measured, and
        passed to `keep` at once."""
        made = []
        for chain in chains:
            for power in self._options.powers:
                line = kept.get((_sorted(chain.parameters), power))
                if line is None:
                    line = self._measured(chain, power)
                    keep(line)
                    self._say_failure(chain, line)
                made.append(line)
        return made

    def _say_failure(self, chain: Chain, line: ChainLine) -> None:
        if line.status != "ok":
            status = line.status.replace("_", " ")
            reason = printable_line(line.members.get("reason") or "no reason given")
            self._say(f"deepbench: chain of {chain.text}: {status}: {reason}")

    def _measured(self, chain: Chain, power: str) -> ChainLine:
        """The chain, from a worker that holds no operands of rows."""
        self._say(
            f"deepbench: chain of {chain.text}: {counted(len(chain.order), 'call')} of "
            f"{counted(len(chain.problems), 'kernel')} as one call"
        )
        self._source.renew()
        answer = self._source.run_chain(
            chain.line(power), chain_limit_s(self._options, len(chain.problems))
        )
        if isinstance(answer, WorkerFailure):
            return self._failed(chain, power, answer.status, answer.reason)
        try:
            return chain_of_answer(answer, chain.parameters)
        except ValueError as error:
            return self._failed(chain, power, "failed", f"{INVALID_ANSWER}: {error}")

    def _failed(self, chain: Chain, power: str, status: str, reason: str) -> ChainLine:
        return failed_chain(
            chain.parameters, power, len(chain.order), len(chain.problems), status, reason
        )


def by_key(chains: Iterable[ChainLine]) -> dict[Key, ChainLine]:
    """The last chain of each pass and power regime."""
    return {
        (_sorted(one.members["parameters"]), one.members["power"]): one for one in chains
    }  # fmt: skip


def _sorted(parameters: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(parameters.items()))
