"""Problems whose calls a worker times as one call."""

from __future__ import annotations

from collections.abc import Collection, Mapping
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

    def of_problems(self, problems: Collection[str]) -> Chain | None:
        """The calls of these problems alone; None without any."""
        kept = [one for one in self.problems if one in problems]
        places = {self.problems.index(one): place for place, one in enumerate(kept)}
        order = tuple(places[place] for place in self.order if place in places)
        return Chain(self.parameters, tuple(kept), order) if order else None

    def line(self, power: str) -> str:
        """The line that asks a worker for the chain in a power regime. One process measures it."""
        calls = " ".join(map(str, self.order))
        return " ; ".join([f"chain {calls} power={power} visits=1", *self.problems])
