"""One pass of a model as calls with counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Item:
    """Equal calls of a layer in one pass."""

    layer: str
    kind: str
    op: str  # of the layer
    precision: str
    count: int
    flops: float  # of one call
    bytes: float
    problem: str | None  # None: no operation measures it in this run
    operand_bytes: float = 0.0  # which the call needs at least


@dataclass(frozen=True)
class Pass:
    """One pass of a model: a phase with values for its parameters."""

    values: Mapping[str, int]
    items: tuple[Item, ...]

    @property
    def batch(self) -> int:
        return self.values["batch"]

    @property
    def flops(self) -> float:
        return sum(item.count * item.flops for item in self.items)

    @property
    def bytes(self) -> float:
        return sum(item.count * item.bytes for item in self.items)
