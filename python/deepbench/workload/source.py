"""The problems of a request, for a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deepbench.byte_size import size_text
from deepbench.errors import UsageError
from deepbench.json_types import JsonObject
from deepbench.problems.chain import MAX_CALLS, Chain
from deepbench.problems.selection import (
    Parse,
    SelectedProblem,
    Selection,
    suite_errors_as_usage_errors,
)
from deepbench.problems.suite_counts import merged_by_problem
from deepbench.problems.suite_reader import Entry
from deepbench.workload.chain import calls_of, chain_of
from deepbench.workload.expansion import Target, expand
from deepbench.workload.passes import Item, Pass
from deepbench.workload.record import members
from deepbench.workload.request import Request


@dataclass(frozen=True)
class WorkloadSource:
    """The problems of all passes, each once. Those of a pass are in the order of its operations, so
    that a table has one header for each, and within an operation in the order of the layers."""

    request: Request
    has_ranks: bool
    price: float | None = None  # of a device per hour
    has_chain: bool = False  # whether each pass is also timed as one call

    def problems(self, parse: Parse, hello: JsonObject | None) -> Iterator[SelectedProblem]:
        passes = self._passes(parse, hello)
        self._require_memory(passes, hello)
        source = self.request.model.source
        items = (item for one in passes for item in _by_operation(one.items))
        calls = [
            (Entry(item.problem, item.layer, source, place, item.count), parse(item.problem, ""))
            for place, item in enumerate(items, start=1)
            if item.problem is not None
        ]
        if not calls:
            raise UsageError(
                f"{self.request.title}: none of its calls can be measured in one process; "
                "'--list' prints them"
            )
        with suite_errors_as_usage_errors():
            merged = merged_by_problem(calls)
        for one in merged:
            yield SelectedProblem(one.problem, one.application, (), one.place, one.counts)

    def facts(self, parse: Parse, hello: JsonObject | None) -> JsonObject:
        """The facts that the context keeps."""
        return {"workload": members(self.request, self._passes(parse, hello), self.price)}

    def chains(self, parse: Parse, hello: JsonObject | None) -> list[Chain]:
        """The chains of the passes. Raises UsageError for one with too many calls."""
        if not self.has_chain:
            return []
        passes = self._passes(parse, hello)
        for one in passes:
            if (calls := calls_of(one)) > MAX_CALLS:
                raise UsageError(
                    f"--chain: {self.request.model.name} {one.text} makes {calls:,} calls; a chain "
                    f"has at most {MAX_CALLS:,}"
                )
        return [chain_of(one) for one in passes]

    def _passes(self, parse: Parse, hello: JsonObject | None) -> list[Pass]:
        joint = ((hello or {}).get("backend") or {}).get("joint_phases") or {}
        target = Target(parse, self.request.precision, joint, self.has_ranks)
        request = self.request
        return [expand(request.model, request.phase, one, target) for one in request.values]

    def _require_memory(self, passes: list[Pass], hello: JsonObject | None) -> None:
        """Raises UsageError if the operands of a call are larger than the memory of the device."""
        there = ((hello or {}).get("device") or {}).get("memory_bytes")
        if not isinstance(there, (int, float)):
            return
        for one in passes:
            largest = max(
                (item for item in one.items if item.problem is not None),
                key=_operand_bytes,
                default=None,
            )
            if largest is not None and largest.operand_bytes > there:
                needed, present = size_text(largest.operand_bytes), size_text(there)
                raise UsageError(
                    f"{self.request.model.name} batch={one.batch}: layer {largest.layer!r} needs "
                    f"{needed} for one call, and the device has {present}"
                )


def workload_selection(
    request: Request, has_ranks: bool, price: float | None, has_chain: bool = False
) -> Selection:
    """The problems of a request. --quick omits none of them, because a part of a model has no
    time."""
    source = WorkloadSource(request, has_ranks, price, has_chain)
    return Selection(
        request.title, None, source, many=False, facts=source.facts, chains=source.chains
    )


def _by_operation(items: Sequence[Item]) -> list[Item]:
    """The items of each operation together, the operations in the order of their first layers."""
    operations = [(item.problem or "").partition(" ")[0] for item in items]
    places = {op: place for place, op in enumerate(dict.fromkeys(operations))}
    ordered = sorted(zip(operations, items, strict=True), key=lambda pair: places[pair[0]])
    return [item for _, item in ordered]


def _operand_bytes(item: Item) -> float:
    return item.operand_bytes
