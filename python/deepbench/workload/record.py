"""What a result file keeps of a workload: the model, and the calls of each pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deepbench.workload.passes import Item, Pass

if TYPE_CHECKING:
    from deepbench.workload.request import Request

Json = Mapping[str, Any]
_ITEM_KEYS = ("layer", "kind", "op", "precision", "count", "flops", "bytes", "problem")


@dataclass(frozen=True)
class Workload:
    """The passes of a model that a run measures."""

    name: str
    title: str
    phase: str
    unit: str  # what batch counts, in the plural
    price: float | None  # of a device per hour
    passes: tuple[Pass, ...]

    @property
    def one_unit(self) -> str:
        return self.unit.removesuffix("s")

    def text_of(self, one: Pass) -> str:
        """'ResNet-50 v1.5 fwd, batch=1 image=224, float'."""
        values = " ".join(f"{name}={value}" for name, value in one.values.items())
        precisions = dict.fromkeys(item.precision for item in one.items if item.problem)
        return ", ".join(filter(None, (f"{self.title} {self.phase}", values, " ".join(precisions))))


def members(request: Request, passes: Sequence[Pass], price: float | None) -> Json:
    """The member `workload` of a context."""
    model = request.model
    return {
        "name": model.name,
        "title": model.title,
        "phase": request.phase,
        "unit": model.unit(request.phase),
        "unverified": model.unverified,
        "price": price,
        "passes": [
            {
                "parameters": one.values,
                "items": [{key: getattr(item, key) for key in _ITEM_KEYS} for item in one.items],
            }
            for one in passes
        ],
    }


def workload_of(context: Json) -> Workload | None:
    """The workload of a context that the schema has checked; None if it has none."""
    found = context.get("workload")
    if found is None:
        return None
    return Workload(
        found["name"],
        found["title"],
        found["phase"],
        found["unit"],
        found.get("price"),
        tuple(
            Pass(
                one["parameters"],
                tuple(Item(**{key: item.get(key) for key in _ITEM_KEYS}) for item in one["items"]),
            )
            for one in found["passes"]
        ),
    )
