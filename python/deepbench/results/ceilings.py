"""The ceilings of a result file, and the bounds of its rows that follow from them.

A row names its ceilings by their keys. Its bound and its shares follow from the lines of each key,
so that they are computed whenever the row is shown; `deepbench._core.assess` computes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from deepbench.json_types import JsonObject
from deepbench.results import schema, strict_json
from deepbench.results.member_line import MemberLine
from deepbench.results.row import Row, statistics_of_members, text_of_line, with_bound_figures
from deepbench.results.schema_upgrade import upgrade_ceiling

# The figure of each kind in the unit of the row protocol: FLOP/s, bytes per second, nanoseconds.
_PROTOCOL_UNITS = {"arithmetic": 1e12, "bandwidth": 1e9, "latency": 1.0, "serial": 1.0}

_NO_SHARES: Mapping[str, None] = {"share_arithmetic": None, "share_roofline": None}
_UNKNOWN: Mapping[str, None] = {
    "by": None,
    "arithmetic_tflops": None,
    "memory_gbps": None,
    "latency_ns": None,
    "step_ns": None,
    **_NO_SHARES,
}
# Members of a bound that with_assessment() adds, beside those of _UNKNOWN.
_SPREADS = {
    "arithmetic_spread": "arithmetic",
    "memory_spread": "bandwidth",
    "latency_spread": "latency",
    "step_spread": "serial",
}


class CeilingLine(MemberLine):
    """A ceiling as it stands in a file."""


def parse_ceiling(line: bytes) -> CeilingLine:
    """The ceiling in a line of the current version. Raises JsonError or SchemaError."""
    return ceiling_of_json_value(strict_json.parsed(line), line, schema.VERSION)


def ceiling_of_json_value(
    value: Any, line: bytes, version: object, file_has_rests: bool = False
) -> CeilingLine:
    """The ceiling in a line, whose JSON is `value`, of a file of schema `version`. `file_has_rests`
    as in upgrade_ceiling(). Raises SchemaError."""
    is_current = version == schema.VERSION
    if isinstance(value, dict) and not is_current:
        value = upgrade_ceiling(value, version, file_has_rests)
    schema.check_ceiling(value)
    schema.check_ceiling_consistency(value)
    text = text_of_line(value, line.decode("utf-8").strip()) if is_current else None
    return CeilingLine(value, text)


def ceiling_figure(line: JsonObject) -> float | None:
    """The figure of a ceiling, in TFLOP/s, GB/s or nanoseconds (of one step, if its problem has
    several); None if it cannot be measured."""
    part, member = schema.CEILING_FIGURES[line["kind"]]
    value: float | None = (line.get(part) or {}).get(member)
    if line["status"] != "ok" or value is None:
        return None
    return value / ((line.get("work") or {}).get("steps") or 1)


def ceiling_spread(line: JsonObject) -> float | None:
    """Half the 95 % interval of a ceiling, as a fraction of it; None if it is unknown."""
    return (
        statistics_of_members(line.get("statistics") or {}).spread
        if line["status"] == "ok"
        else None
    )


def assessed_line(row: Row) -> str:
    """The line of a row that Ceilings.with_assessment() returned, with the figures of its bound."""
    if not row.bound.names_ceilings:
        return row.line
    from deepbench import _core

    figures = {name: getattr(row.bound, name) for name in (*_UNKNOWN, *_SPREADS)}
    return _core.with_bound_figures(row.line, figures)


@dataclass
class _Ceiling:
    """The lines of one key in a file: its last measurement, and the highest row above it."""

    measured: JsonObject | None = None
    raised: JsonObject | None = None

    def add(self, line: JsonObject) -> None:
        if line.get("raised_by") is None:
            self.measured = line
        elif not _is_of_transform(line) and _order(line) > _order(self.raised):
            self.raised = line

    @property
    def line(self) -> JsonObject | None:
        """The line that counts, whatever the order of the lines of a run."""
        return self.raised if _order(self.raised) > _order(self.measured) else self.measured

    def protocol_figures(self) -> list[str]:
        """The figures of the ceiling in the row protocol."""
        lines = {"figure": self.measured, "raised": self.raised}
        return [
            f"{name}={(ceiling_figure(line) or 0.0) * _PROTOCOL_UNITS[line['kind']]!r}"
            for name, line in lines.items()
            if line is not None
        ]


class _Facts(NamedTuple):
    """The figures of a ceiling that a row needs."""

    figure: float | None = None
    spread: float | None = None


def _order(line: JsonObject | None) -> float:
    return -1.0 if line is None else ceiling_figure(line) or 0.0


def _is_of_transform(line: JsonObject) -> bool:
    """Whether the row that raised a ceiling computes fewer operations than its rate counts. Only
    earlier versions wrote such lines."""
    return ((line.get("work") or {}).get("transform_factor") or 1.0) > 1.0


class Ceilings:
    """The ceilings of a file, by their keys."""

    def __init__(self, lines: Iterable[JsonObject] = ()) -> None:
        self._by_key: dict[str, _Ceiling] = {}
        # Facts of the ceilings that rows have named so far.
        self._facts: dict[tuple[str, str | None], _Facts] = {}
        for line in lines:
            self.add(line)

    def add(self, line: JsonObject) -> None:
        """Adds a ceiling that the schema has checked."""
        self._by_key.setdefault(line["ceiling"], _Ceiling()).add(line)
        self._facts.clear()

    def with_assessment(self, row: Row) -> Row:
        """The row with a bound that has the figures of its ceilings and its shares; its members and
        its line stay those of the file."""
        if not row.bound.names_ceilings:
            return row
        return with_bound_figures(row, self._assessment(row))

    def names(self) -> set[str]:
        """The names of the known ceilings, such as 'arithmetic half' and 'bandwidth l2'."""
        return {
            f"{line['kind']} {line.get('precision') or line.get('level')}"
            for line in (ceiling.line for ceiling in self._by_key.values())
            if line is not None
        }

    def protocol_lines(self) -> list[str]:
        """The lines that give these ceilings to a worker, which then measures none of them."""
        return [
            f"ceiling {key} ; {' '.join(ceiling.protocol_figures())}"
            for key, ceiling in self._by_key.items()
            if ceiling.line is not None
        ]

    def _assessment(self, row: Row) -> Mapping[str, Any]:
        bound, median_ns = row.bound, row.statistics.median_ns
        if not median_ns:
            return _UNKNOWN
        from deepbench import _core

        named = {kind: self._facts_of(kind, getattr(bound, kind)) for kind in _PROTOCOL_UNITS}
        found = _core.assess(
            row.work.flops or 0.0,
            row.work.bytes or 0.0,
            median_ns,
            bound.level or "",
            named["arithmetic"].figure,
            named["bandwidth"].figure,
            named["latency"].figure,
            max(1.0, row.work.transform_factor or 1.0),
            row.work.steps or 0.0,
            named["serial"].figure,
        )
        for name, kind in _SPREADS.items():
            found[name] = named[kind].spread
        # A time that does not count has no share.
        return found if row.status == "ok" else {**found, **_NO_SHARES}

    def _facts_of(self, kind: str, key: str | None) -> _Facts:
        """The facts of the ceiling that a row names; empty if the file has none of that kind."""
        facts = self._facts.get((kind, key))
        if facts is None:
            ceiling = self._by_key.get(key) if key is not None else None
            line = ceiling.line if ceiling is not None else None
            facts = _Facts()
            if line is not None and line["kind"] == kind:
                facts = _Facts(ceiling_figure(line), ceiling_spread(line))
            self._facts[kind, key] = facts
        return facts
