"""One result set of a comparison: the fields of each row that a comparison needs, checked and
cleaned.

Files are untrusted. The schema checks their shape; this module checks the values that the schema
leaves open, and removes characters from texts that could control a terminal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from deepbench.call_counts import ApplicationCalls, application_names, calls_by_application
from deepbench.json_types import JsonObject
from deepbench.results import ResultFile
from deepbench.results.algorithm_choice import AlgorithmChoice, algorithm_choice_of
from deepbench.results.build import version_text
from deepbench.results.makers import quickly_made
from deepbench.results.row import Regime, Row, Statistics
from deepbench.workload.record import Workload
from deepbench.workload.totals import Totals, totals_of

Value = int | float | str

_LONGEST_TEXT = 300
_SMALLEST = 1e-9  # smallest time and work that count, so that quotients stay finite
TOTAL = "total"  # the phase of a published sum over phases
# Attributes that name the types of a problem. Only int8 problems have any besides `precision`.
OPERAND_TYPES = ("b_type", "x_type")
TYPE_ATTRIBUTES = ("precision", *OPERAND_TYPES, "y_type")


@quickly_made
@dataclass(frozen=True, slots=True)
class Spread:
    """The uncertainty of a row's median, from the row's statistics."""

    n: int
    error: float | None  # relative standard error; None if it is unknown
    low_ns: float
    high_ns: float
    q1_ns: float
    q3_ns: float
    stdev_ns: float
    # Degrees of freedom of the error if it comes from several visits; None: the row has one visit.
    degrees_of_freedom: float | None = None


@quickly_made
@dataclass(frozen=True, slots=True)
class Entry:
    """A row of a result set."""

    position: int
    op: str
    problem: str
    attributes: Mapping[str, Value]
    application: str | None
    status: str
    reason: str | None
    time_ns: float | None  # None: the row has no valid time
    spread: Spread | None
    flops: float | None
    bytes: float | None
    backend: str | None
    device: str | None
    library: str | None
    choice: AlgorithmChoice
    cache: str | None
    power: str | None
    launch: str | None
    threads: int | None
    inputs: str
    clock_mhz: float | None
    conversion_ns: float | None
    count: int | None = None  # how often its applications make this call; None: not stated
    applications: tuple[ApplicationCalls, ...] = ()
    published: bool = False  # a published figure, which was measured by other rules
    ranks: int | None = None  # number of ranks of a collective operation
    is_disturbed: bool = False  # whether other work on the machine disturbed the row
    doubt: str | None = None  # the reason why a published figure is excluded from means
    # The intended values of misprinted attributes; None: there are none.
    meant: Mapping[str, Value] | None = None

    @property
    def application_names(self) -> str | None:
        """The applications that make the call, as one text."""
        return application_names(self.application, self.applications)

    @property
    def calls_by_application(self) -> list[tuple[str | None, int]]:
        """The number of calls of each application; None stands for unnamed applications."""
        return calls_by_application(self.application, self.count, self.applications)

    @property
    def algorithm(self) -> str | None:
        """The mode by which the algorithm was chosen."""
        return self.choice.mode

    @property
    def tflops(self) -> float | None:
        """Useful work per time. The work comes from deepbench's formulas, also for published
        figures."""
        return self.flops / self.time_ns / 1e3 if self.flops and self.time_ns else None

    @property
    def gbps(self) -> float | None:
        """The bytes that the problem needs per time."""
        return self.bytes / self.time_ns if self.bytes and self.time_ns else None

    @property
    def phase(self) -> str | None:
        value = self.attributes.get("phase")
        return None if value is None else str(value)


@dataclass(frozen=True)
class ResultSet:
    """The rows of a result file or of a reference."""

    name: str  # the name that the user gave: a path, or a processor's name
    about: str  # device, libraries, date
    entries: tuple[Entry, ...]
    published: bool = False
    is_reference: bool = False  # a measured reference of the package
    footnotes: tuple[str, ...] = field(default=())
    device: str | None = None
    totals: tuple[Totals, ...] = ()  # of a model in each regime; empty: the rows are of none

    @property
    def workload(self) -> Workload | None:
        return self.totals[0].passes[0].workload if self.totals else None

    @cached_property
    def by_position(self) -> Mapping[int, Entry]:
        return {entry.position: entry for entry in self.entries}


def to_result_set(result: ResultFile) -> ResultSet:
    """Converts a result file to a result set."""
    rows = sorted(result.rows, key=lambda row: row.position)
    given = inputs(result.context)
    entries = tuple(to_entry(row, given) for row in rows)
    published = bool(entries) and all(one.published for one in entries)
    is_reference = bool(_object_member(result.context, "reference"))
    has_notes = is_reference or any(one.published for one in entries)
    notes = footnotes(result.context) if has_notes else ()
    device = _printable_or_none(_object_member(result.context, "device").get("name"))
    about = _source_description(result.context, entries)
    name = printable(str(result.path))
    totals = tuple(totals_of(result.context, rows, result.chains))
    return ResultSet(name, about, entries, published, is_reference, notes, device, totals)


def inputs(context: JsonObject) -> str:
    """The contents of the operands, which the context states for all rows."""
    return _printable_or_none(_object_member(context, "options").get("inputs")) or "uniform"


def footnotes(context: JsonObject) -> tuple[str, ...]:
    """The footnotes of a reference, from its context."""
    notes = context.get("footnotes")
    if isinstance(notes, list) and notes:
        return tuple(printable(text) for text in notes)
    return ("published figures were measured by other rules and get no verdict",)


def to_entry(row: Row, inputs: str = "uniform") -> Entry:
    """Converts a row, which the schema has checked, to an entry."""
    regime, published = row.regime, row.regime.published
    time_ns = _positive_or_none(row.time_ns)
    return Entry(
        position=row.position,
        op=printable(row.op or "unknown"),
        problem=printable(row.problem or _problem_text_of_attributes(row)),
        attributes=_printable_attributes(row.attributes),
        application=_printable_or_none(row.application),
        status=row.status,
        reason=_printable_or_none(row.reason),
        time_ns=time_ns if row.status == "ok" else None,
        spread=_spread(row.statistics) if time_ns and not published else None,
        flops=_positive_or_none(row.work.flops),
        bytes=_positive_or_none(row.work.bytes),
        backend=_printable_or_none(row.backend),
        device=_printable_or_none(row.device.name),
        library=_printable_or_none(row.library),
        choice=algorithm_choice_of(row, printable),
        cache=_cache_text(regime),
        power=regime.power,
        launch=regime.launch,
        threads=regime.threads,
        ranks=regime.ranks or None,
        inputs=inputs,
        clock_mhz=_positive_or_none(row.observed.get("sm_clock_mhz")),
        conversion_ns=_positive_or_none(row.conversion.ns),
        count=row.count,
        applications=tuple(
            ApplicationCalls(printable(one.name), one.count) for one in row.applications
        ),
        published=published is not None,
        is_disturbed=row.statistics.is_disturbed,
        doubt=_printable_or_none(published.doubt) if published else None,
        meant=_printable_attributes(published.intended_attributes) if published else None,
    )


def _printable_attributes(attributes: Mapping[str, Value]) -> Mapping[str, Value]:
    """Removes control characters. Returns the same object if there are none, which is the usual
    case."""
    texts = [value for value in attributes.values() if isinstance(value, str)]
    whole = "".join([*attributes, *texts])
    if len(whole) <= _LONGEST_TEXT and whole.isprintable():
        return attributes
    return {printable(name): _attribute_value(value) for name, value in attributes.items()}


def _problem_text_of_attributes(row: Row) -> str:
    """A problem text for a row that lacks the canonical one."""
    words = [f"{name}={value}" for name, value in row.attributes.items()]
    return " ".join([row.op or "unknown", *words])


def printable(text: object) -> str:
    """The text without control characters, cut to a length that fits a line."""
    whole = text if isinstance(text, str) else str(text)
    if len(whole) <= _LONGEST_TEXT and whole.isprintable():
        return whole
    clean = whole[:_LONGEST_TEXT]
    if not clean.isprintable():
        clean = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}"
                        for letter in clean)  # fmt: skip
    return clean if len(whole) <= _LONGEST_TEXT else clean[:-3] + "..."


def _printable_or_none(value: object) -> str | None:
    return None if value is None else printable(value)


def _attribute_value(value: object) -> Value:
    return value if isinstance(value, (int, float)) else printable(value)


def _object_member(context: JsonObject, name: str) -> JsonObject:
    value = context.get(name)
    return value if isinstance(value, Mapping) else {}


def _positive_or_none(value: Any) -> float | None:
    """A finite number above zero, safe to divide by; None for any other value."""
    if type(value) not in (float, int):
        return None
    return float(value) if _SMALLEST < value < math.inf else None


def _cache_text(regime: Regime) -> str | None:
    """'hot', or how the operands were kept cold."""
    cache, cold = regime.cache, regime.cold
    return f"cold by {cold}" if cache == "cold" and cold else cache


def _spread(statistics: Statistics) -> Spread | None:
    low, high = _positive_or_none(statistics.low_ns), _positive_or_none(statistics.high_ns)
    q1, q3 = _positive_or_none(statistics.q1_ns), _positive_or_none(statistics.q3_ns)
    n = statistics.n
    if not n or low is None or high is None or q1 is None or q3 is None:
        return None
    error, stdev = statistics.relative_standard_error, statistics.stdev_ns or 0.0
    error = None if error is None else float(error)
    return Spread(n, error, low, high, q1, q3, float(stdev), _degrees_of_freedom(statistics))


def _degrees_of_freedom(statistics: Statistics) -> float | None:
    """The degrees of freedom of the variance between visits, to which those of the row's class are
    added."""
    visits = statistics.visits
    if visits is None or not visits.count or visits.count < 2:
        return None
    if visits.class_deviation is None:
        return float(visits.count - 1)
    of_class = visits.class_degrees_of_freedom
    return math.inf if of_class is None else visits.count - 1 + float(of_class)


def _source_description(context: JsonObject, entries: Sequence[Entry]) -> str:
    """'NVIDIA H200, cuda, power rested, deepbench 0.1.0, 2026-01-31T12:00:00Z'."""
    powers = dict.fromkeys(entry.power for entry in entries if entry.power)
    facts = [
        _object_member(context, "device").get("name") or "unknown device",
        _object_member(context, "backend").get("name"),
        f"power {' and '.join(powers)}" if powers else "",
        version_text(context),
        context.get("started"),
    ]
    return ", ".join(printable(fact) for fact in facts if fact)
