"""The record of a workload in a result file: the model, and the calls of each pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deepbench.errors import printable_line
from deepbench.json_types import JsonObject
from deepbench.workload.passes import Item, Pass

if TYPE_CHECKING:
    from deepbench.workload.request import Request

_TEXTS = ("layer", "kind", "op", "precision")
_MAX_TEXT = 400  # characters, as in a model file
_VALUES = ("count", "flops", "bytes", "problem")


@dataclass(frozen=True)
class Workload:
    """The passes of a model that a run measures."""

    name: str
    title: str
    phase: str
    unit: str  # what batch counts, in the plural
    price: float | None  # price of a device per hour
    passes: tuple[Pass, ...]

    @property
    def one_unit(self) -> str:
        return self.unit.removesuffix("s")

    @property
    def summary(self) -> str:
        """'ResNet-50 v1.5 fwd batch=1,4 image=224'."""
        others = {name: value for name, value in self.passes[0].values.items() if name != "batch"}
        batches = ",".join(str(one.batch) for one in self.passes)
        words = [f"batch={batches}", *(f"{name}={value}" for name, value in others.items())]
        return " ".join([self.title, self.phase, *words])

    def text_of(self, one: Pass) -> str:
        """'ResNet-50 v1.5 fwd, batch=1 image=224, float'."""
        precisions = " ".join(one.precisions)
        return ", ".join(filter(None, (f"{self.title} {self.phase}", one.text, precisions)))


def members(request: Request, passes: Sequence[Pass], price: float | None) -> JsonObject:
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
                "items": [
                    {key: getattr(item, key) for key in (*_TEXTS, *_VALUES)} for item in one.items
                ],
            }
            for one in passes
        ],
    }


def workload_of(context: JsonObject) -> Workload | None:
    """The workload of a context that the schema has checked; None if it has none. Its texts, which
    may come from an untrusted file, can be printed; a problem is only compared with those of
    rows."""
    found = context.get("workload")
    if not found or not found["passes"]:
        return None
    return Workload(
        name=_printable(found["name"]),
        title=_printable(found["title"]),
        phase=_printable(found["phase"]),
        unit=_printable(found["unit"]),
        price=found.get("price"),
        passes=tuple(map(_pass_of, found["passes"])),
    )


def _pass_of(members: JsonObject) -> Pass:
    values = {_printable(name): value for name, value in members["parameters"].items()}
    return Pass(values, tuple(map(_item_of, members["items"])))


def _item_of(members: JsonObject) -> Item:
    known: dict[str, Any] = {key: _printable(members[key]) for key in _TEXTS}
    known |= {key: members.get(key) for key in _VALUES}
    return Item(**known)


def _printable(text: str) -> str:
    return printable_line(text[:_MAX_TEXT])
