"""A row of a result file as a typed value.

Every object of the row is a dataclass whose fields have the names of schema.json, and a value that
the row lacks is None or empty. `line` holds the row as it was read, with keys that this version
does not know.

A file may have a hundred thousand rows: their objects have slots, and share texts that repeat.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from sys import intern
from typing import Any, TypeVar

from deepbench.call_counts import (
    ApplicationCalls,
    CallCounts,
    application_names,
    calls_by_application,
)
from deepbench.results import schema, strict_json
from deepbench.results.makers import dataclass_changer, dataclass_maker
from deepbench.results.schema_check import shortened_json
from deepbench.results.schema_upgrade import upgrade_row

Value = int | float | str
Numbers = Sequence[float | None]

# A row with a larger share is disturbed. A single time slice of other work in the samples of a row
# takes less, and work that stays takes half of the time.
MAX_WAITED_SHARE = 0.05
ABOVE_CEILING = 1.05  # a higher share of the roofline shows that the ceiling is too low

ENERGY = "energy"  # the metric of the energy of a call, in joules

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Device:
    index: int | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class TriedCandidate:
    """The results of the search for one of its candidates."""

    candidate: str | None = None  # None: the library's default
    screened_ns: float | None = None
    compared_ns: Numbers = ()
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class Algorithm:
    """The measured algorithm, and the library's default."""

    mode: str | None = None
    name: str | None = None
    candidate: str | None = None
    candidates: int | None = None
    listed: int | None = None
    budget_ns: float | None = None
    searched_ns: float | None = None
    first: str | None = None
    tried: Sequence[TriedCandidate] = ()
    workspace_bytes: int | None = None
    planning_ns: float | None = None
    default_ns: float | None = None
    default_samples_ns: Sequence[float] = ()
    default_name: str | None = None
    default_candidate: str | None = None
    speedup: float | None = None
    # Whether the row has the key `candidate`; rows of the first versions do not.
    states_candidate: bool = False


@dataclass(frozen=True, slots=True)
class Published:
    """The place of a published figure, the printed text, and the reason to doubt it; or the trace
    from which a time comes."""

    trace: str | None = None
    workbook: str | None = None
    sheet: str | None = None
    row: int | None = None
    set: str | None = None
    index: int | None = None
    phase: str | None = None
    status: str | None = None
    note: str | None = None
    doubt: str | None = None
    precision: str | None = None
    algorithm: str | None = None
    tflops: float | None = None
    intended_attributes: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Regime:
    """The conditions under which the row was measured."""

    published: Published | None = None
    cache: str | None = None
    cold: str | None = None
    copies: int | None = None
    schedule_perturbed: bool | None = None
    fits_cache: bool | None = None
    launch: str | None = None
    timer: str | None = None
    power: str | None = None
    threads: int | None = None
    ranks: int | None = None


@dataclass(frozen=True, slots=True)
class VisitFacts:
    """The visits from which a row was combined, and the deviation between visits of its class."""

    count: int | None = None
    medians_ns: Numbers = ()
    class_degrees_of_freedom: float | None = None
    class_deviation: float | None = None


@dataclass(frozen=True, slots=True)
class Statistics:
    median_ns: float | None = None
    min_ns: float | None = None
    max_ns: float | None = None
    q1_ns: float | None = None
    q3_ns: float | None = None
    p99_ns: float | None = None
    mean_ns: float | None = None
    stdev_ns: float | None = None
    mad_ns: float | None = None
    relative_standard_error: float | None = None
    low_ns: float | None = None
    high_ns: float | None = None
    n: int | None = None
    batch: int | None = None
    batches_per_sample: int | None = None
    waited_share: float | None = None
    stop: str | None = None
    visits: VisitFacts | None = None  # None: one process measured the row at one time

    @property
    def is_disturbed(self) -> bool:
        """Whether other work held processors of the row for a considerable part of the time."""
        return (self.waited_share or 0) > MAX_WAITED_SHARE

    @property
    def spread(self) -> float | None:
        """Half the 95 % interval of the median, as a fraction of the median; None for one
        sample."""
        if not self.median_ns or self.low_ns is None or self.high_ns is None or self.n == 1:
            return None
        return float(self.high_ns - self.low_ns) / 2 / float(self.median_ns)


@dataclass(frozen=True, slots=True)
class Work:
    flops: float | None = None
    bytes: float | None = None
    transform_factor: float | None = None
    arithmetic: str | None = None
    steps: float | None = None


@dataclass(frozen=True, slots=True)
class Rates:
    tflops: float | None = None
    gbps: float | None = None


@dataclass(frozen=True, slots=True)
class Bound:
    """The keys of the row's ceilings. The figures and the shares are those that the row holds
    itself, or that results/ceilings.py makes of the ceilings of its file."""

    # Whether the row names its ceilings, from which its shares are computed. A row of a file of
    # version 1 has the figures and shares itself.
    names_ceilings: bool = False
    arithmetic: str | None = None
    bandwidth: str | None = None
    latency: str | None = None
    serial: str | None = None
    by: str | None = None
    arithmetic_tflops: float | None = None
    memory_gbps: float | None = None
    level: str | None = None
    latency_ns: float | None = None
    step_ns: float | None = None
    # Half the 95 % intervals of the ceilings, as in Statistics.spread.
    arithmetic_spread: float | None = None
    memory_spread: float | None = None
    latency_spread: float | None = None
    step_spread: float | None = None
    share_arithmetic: float | None = None
    share_roofline: float | None = None


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure that the operation defines."""

    name: str = ""
    value: float | None = None
    unit: str | None = None
    better: str | None = None
    samples_ns: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class SoakPart:
    """Consecutive batches of a soak; `throttled` and `power_capped` are numbers of batches."""

    calls: int = 0
    elapsed_ns: float = 0
    clock_mhz: float | None = None
    batches: int = 0
    throttled: int = 0
    power_capped: int = 0


@dataclass(frozen=True, slots=True)
class Padding:
    rule: str | None = None
    dimensions: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Conversion:
    operand: str | None = None
    ns: float | None = None
    constant: bool | None = None
    samples_ns: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class Verification:
    status: str | None = None
    scope: str | None = None
    checked: int | None = None
    outputs: int | None = None
    max_error_ratio: float | None = None
    max_error_check: str | None = None
    reason: str | None = None
    seed: int | None = None
    conditions: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outlier:
    """A rank whose time deviates from that of most."""

    rank: int | None = None
    host: str | None = None
    device: int | None = None
    name: str | None = None  # of the device
    uuid: str | None = None
    deviation: float | None = None
    throttled: int | None = None


@dataclass(frozen=True, slots=True)
class RankFailure:
    """A rank that is not ok."""

    rank: int | None = None
    host: str | None = None
    device: int | None = None
    name: str | None = None  # of the device
    uuid: str | None = None
    status: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Ranks:
    """The ranks of a fleet; lists have a value for each rank."""

    count: int | None = None
    representative: int | None = None
    middle_ns: float | None = None
    spread: float | None = None
    outlier_threshold: float | None = None
    quickest: int | None = None
    slowest: int | None = None
    median_ns: Numbers = ()
    relative_standard_error: Numbers = ()
    clock_mhz: Numbers = ()
    temperature_c: Numbers = ()
    power_w: Numbers = ()
    status: Sequence[str] = ()
    mismatched: Sequence[int | None] = ()
    outliers: Sequence[Outlier] = ()
    failures: Sequence[RankFailure] = ()


@dataclass(frozen=True, slots=True)
class DeviceFigures:
    """What one device measured, in a row of a reference that several devices share."""

    identity: str = ""  # its serial number, or the identity of its machine
    median_ns: float | None = None
    energy_j: float | None = None  # of a call


@dataclass(frozen=True, slots=True)
class Row:
    """One row."""

    position: int
    status: str
    problem: str | None
    op: str | None
    reason: str | None
    # All keys of the row, known or unknown: its JSON, or its members if it belongs to no file.
    # None: the reader of the row needs neither.
    source: str | Mapping[str, Any] | None = field(repr=False, compare=False)
    attributes: Mapping[str, Value] = field(default_factory=dict)
    application: str | None = None
    count: int | None = None  # how often its applications make this call; None: not stated
    applications: Sequence[ApplicationCalls] = ()
    backend: str | None = None
    device: Device = Device()
    library: str | None = None
    started: str | None = None  # the time of day in UTC
    algorithm: Algorithm = Algorithm()
    regime: Regime = Regime()
    statistics: Statistics = Statistics()
    samples_ns: Sequence[float] = ()
    samples_kept: str | None = None
    clocks_mhz: Sequence[float] = ()
    rests_ns: Sequence[float] = ()
    soak: Sequence[SoakPart] = ()  # its course; empty: the row is no soak
    first_call_ns: float | None = None
    host_ns: float | None = None
    work: Work = Work()
    rates: Rates = Rates()
    bound: Bound = Bound()
    metrics: Sequence[Metric] = ()
    padding: Padding = Padding()
    conversion: Conversion = Conversion()
    verification: Verification = Verification()
    observed: Mapping[str, Any] = field(default_factory=dict)
    ranks: Ranks | None = None  # None: the row belongs to a single device
    devices: Sequence[DeviceFigures] = ()  # of a reference: enough to judge another device by
    notes: Sequence[str] = ()
    stages_ns: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """The row as JSON of the current schema version, as a file holds it."""
        if isinstance(self.source, str):
            return self.source
        assert self.source is not None
        from deepbench import _core

        return _core.line_of_members(self.source)

    @property
    def members(self) -> Mapping[str, Any]:
        """All its keys. They are parsed anew, since they take several times the memory of a
        line."""
        if not isinstance(self.source, str):
            assert self.source is not None
            return self.source
        parsed: dict[str, Any] = json.loads(self.source)
        return parsed

    @property
    def arithmetic(self) -> str | None:
        """The precision of its arithmetic ceiling; None: the operation has none."""
        precision = self.work.arithmetic or self.attributes.get("precision")
        return None if precision is None else str(precision)

    @property
    def application_names(self) -> str | None:
        """The applications that make the call, as one text."""
        return application_names(self.application, self.applications)

    @property
    def calls_by_application(self) -> list[tuple[str | None, int]]:
        """The number of calls of each application; None stands for unnamed applications."""
        return calls_by_application(self.application, self.count, self.applications)

    @property
    def time_ns(self) -> float | None:
        """The time, even of a mistrusted row: the median; of a published figure, the mean."""
        statistics = self.statistics
        return statistics.mean_ns if self.regime.published else statistics.median_ns

    @property
    def energy_j(self) -> float | None:
        """The energy of a call; None: it was not measured."""
        found = (one.value for one in self.metrics if one.name == ENERGY)
        return next((value for value in found if value is not None and value > 0), None)

    @property
    def flops_per_joule(self) -> float | None:
        energy_j = self.energy_j
        return self.work.flops / energy_j if self.work.flops and energy_j else None


def parse_row(line: bytes) -> Row:
    """The row in a line of the current version. Raises JsonError or SchemaError."""
    return row_of_json_value(strict_json.parsed(line), line, schema.VERSION)


def row_of_json_value(
    value: Any,
    line: bytes,
    version: object,
    *,
    file_has_rests: bool = False,
    keeps_line: bool = True,
    validates: bool = True,
) -> Row:
    """The row in a line, whose JSON is `value`, of a file of schema `version`. `file_has_rests` as
    in upgrade_row(). Raises SchemaError, unless the line is known to be valid and `validates` is
    false."""
    is_current = version == schema.VERSION
    if not is_current and isinstance(value, dict):
        value = upgrade_row(value, version, file_has_rests)
    if validates:
        schema.check_row(value)
    source: str | None = None
    if keeps_line and is_current:
        source = text_of_line(value, line.decode("utf-8").strip())
    elif keeps_line:
        from deepbench import _core

        source = _core.line_of_members(value)
    row = _make_row(value, source=source)
    if validates:
        check_consistency(row)
    return row


def build_row(members: Any, line: str | None = None) -> Row:
    """The row with these members. `line` is its line, if there is one of the current version.
    Raises SchemaError."""
    schema.check_row(members)
    return _make_row(members, source=members if line is None else text_of_line(members, line))


def text_of_line(value: Mapping[str, Any], line: str) -> str:
    """The line, whose JSON is `value`, in the form in which the core finds its members: the core
    seeks keys in the text as they are spelled without escapes. `value` is valid by the schema."""
    if not strict_json.has_escaped_key(line):
        return line
    from deepbench import _core

    return _core.line_of_members(value)


def check_consistency(row: Row) -> None:
    """Raises SchemaError if a row contradicts itself, so that a report would show a time that was
    not measured."""
    for name, value in row.attributes.items():
        if isinstance(value, (int, float)) and value < 0:
            raise schema.SchemaError(f"attributes.{name} is {shortened_json(value)}, less than 0")
    statistics = row.statistics
    is_measured = row.status == "ok" and not row.regime.published
    if is_measured and not (statistics.median_ns or 0) > 0:
        raise schema.SchemaError(
            "status is ok, and statistics.median_ns is missing or not positive"
        )
    named = sum(one.count for one in row.applications) if row.applications else 0
    if named > (row.count or 0):
        raise schema.SchemaError(f"applications make {named} calls, more than count")
    low, high = statistics.low_ns, statistics.high_ns
    if low is not None and high is not None and low > high:
        raise schema.SchemaError("statistics.low_ns is above high_ns")


def with_counts(row: Row, counts: CallCounts) -> Row:
    """The row with the members `count` and `applications`, which follow `application`."""
    from deepbench import _core

    counted: dict[str, Any] = {"count": counts.count}
    if counts.applications:
        counted["applications"] = [asdict(one) for one in counts.applications]
    members: dict[str, Any] = {}
    for name, value in row.members.items():
        members[name] = value
        if name == "application":
            members |= counted
    members |= counted
    return build_row(members, _core.line_of_members(members))


def with_bound_figures(row: Row, figures: Mapping[str, Any]) -> Row:
    """The row whose bound has these figures too."""
    return _row_with(row, bound=_bound_with(row.bound, **figures))


def _make_each(make: Callable[[Any], _T]) -> Callable[[Sequence[Any]], tuple[_T, ...]]:
    return lambda values: tuple(map(make, values))


def _make_attributes(value: Mapping[str, Any]) -> dict[str, Any]:
    return {
        intern(name): intern(item) if type(item) is str else item for name, item in value.items()
    }


def _make_numbers(values: Sequence[float]) -> Sequence[float]:
    """A row may have a thousand samples, which take a quarter of the memory in an array."""
    return array("d", values) if values else ()


def _make_algorithm(value: Mapping[str, Any]) -> Algorithm:
    return _algorithm_of(value, states_candidate="candidate" in value)


def _make_bound(value: Mapping[str, Any]) -> Bound:
    return _bound_of(value, names_ceilings=not schema.CEILING_FIGURES.keys().isdisjoint(value))


def _make_padding(value: Mapping[str, Any]) -> Padding:
    return _padding_of(value) if value.get("rule") or value.get("dimensions") else _NO_PADDING


def _make_published(value: Mapping[str, Any]) -> Published | None:
    return _published_of(value) if value else None


def _make_visit_facts(value: Mapping[str, Any]) -> VisitFacts | None:
    return _visit_facts_of(value) if value else None


def _make_applications(values: Sequence[Mapping[str, Any]]) -> tuple[ApplicationCalls, ...]:
    return tuple(ApplicationCalls(value["name"], value["count"]) for value in values)


_row_with, _bound_with = dataclass_changer(Row), dataclass_changer(Bound)
_published_of, _visit_facts_of = dataclass_maker(Published), dataclass_maker(VisitFacts)
_padding_of, _NO_PADDING = dataclass_maker(Padding), Padding()
_bound_of = dataclass_maker(Bound)
_algorithm_of = dataclass_maker(
    Algorithm, parts={"tried": _make_each(dataclass_maker(TriedCandidate))}
)
# The statistics of a JSON object.
statistics_of_members = dataclass_maker(Statistics, parts={"visits": _make_visit_facts})

_PARTS: Mapping[str, Callable[[Any], Any]] = {
    "attributes": _make_attributes,
    "applications": _make_applications,
    "device": dataclass_maker(Device),
    "algorithm": _make_algorithm,
    "regime": dataclass_maker(Regime, parts={"published": _make_published}),
    "statistics": statistics_of_members,
    "samples_ns": _make_numbers,
    "clocks_mhz": _make_numbers,
    "rests_ns": _make_numbers,
    "work": dataclass_maker(Work),
    "rates": dataclass_maker(Rates),
    "bound": _make_bound,
    "metrics": _make_each(dataclass_maker(Metric)),
    "soak": _make_each(dataclass_maker(SoakPart)),
    "padding": _make_padding,
    "conversion": dataclass_maker(Conversion),
    "verification": dataclass_maker(Verification),
    "observed": _make_attributes,
    "stages_ns": _make_attributes,
    "devices": _make_each(dataclass_maker(DeviceFigures)),
    "ranks": dataclass_maker(
        Ranks,
        parts={
            "outliers": _make_each(dataclass_maker(Outlier)),
            "failures": _make_each(dataclass_maker(RankFailure)),
        },
    ),
}
_make_row = dataclass_maker(Row, (0, "", None, None, None, None), _PARTS)
