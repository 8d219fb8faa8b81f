"""One pass of a model as calls with counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Item:
    """Equal calls of a layer in one pass."""

    layer: str
    kind: str
    op: str  # operator of the layer
    precision: str
    count: int
    flops: float  # FLOPs of one call
    bytes: float
    problem: str | None  # None: no operation measures it in this run
    operand_bytes: float = 0.0  # bytes that the call needs at least


@dataclass(frozen=True)
class Pass:
    """One pass of a model: a phase with values for its parameters."""

    values: Mapping[str, int]
    items: tuple[Item, ...]

    @property
    def batch(self) -> int:
        return self.values["batch"]

    @property
    def text(self) -> str:
        """'batch=1 image=224'."""
        return " ".join(f"{name}={value}" for name, value in self.values.items())

    @property
    def precisions(self) -> list[str]:
        """The precisions of its problems."""
        return list(dict.fromkeys(item.precision for item in self.items if item.problem))

    @property
    def measured(self) -> list[Item]:
        """The items that an operation measures."""
        return [item for item in self.items if item.problem is not None]

    @property
    def flops(self) -> float:
        return sum(item.count * item.flops for item in self.items)

    @property
    def measured_flops(self) -> float:
        return sum(item.count * item.flops for item in self.measured)

    @property
    def bytes(self) -> float:
        return sum(item.count * item.bytes for item in self.items)

    @property
    def measured_bytes(self) -> float:
        return sum(item.count * item.bytes for item in self.measured)
