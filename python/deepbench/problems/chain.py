"""Problems whose calls a worker times as one call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

MAX_CALLS = 100_000  # as in the core's run/chain/chain_request.cpp


@dataclass(frozen=True)
class Chain:
    """The calls of a pass of a model in their order."""

    parameters: Mapping[str, int]  # of the pass
    problems: tuple[str, ...]  # each once
    order: tuple[int, ...]  # the index of the problem of each call

    @property
    def text(self) -> str:
        """'batch=1 image=224'."""
        return " ".join(f"{name}={value}" for name, value in self.parameters.items())

    def line(self, power: str) -> str:
        """The line that asks a worker for the chain in a power regime. One process measures it."""
        calls = " ".join(map(str, self.order))
        return " ; ".join([f"chain {calls} power={power} visits=1", *self.problems])
