"""The time of a model, its distribution over layers and its measured part, below the rows of a
run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from deepbench.errors import counted, printable_line
from deepbench.json_types import JsonObject
from deepbench.report.comparison.section import Section, TableRow
from deepbench.report.fields import (
    level_name,
    percent,
    rate,
    share,
    time_cell,
    time_text,
    work_unit,
)
from deepbench.report.text_plot import PlotPoint, plot_lines
from deepbench.results.chains import ChainLine
from deepbench.workload.totals import (
    KNEE_SHARE,
    NEEDED_COVERAGE,
    ItemTime,
    PassTotals,
    Times,
    Totals,
)

_MOST_LAYERS = 10
_MOST_NAMED = 6  # items that are not measured
_TIME_OF_KERNELS = "time of the measured kernels"


def workload_sections(workload: Sequence[Totals]) -> list[Section]:
    """The totals of a workload in each of its regimes. Several passes have a table of latency and
    throughput, and the details of the knee alone."""
    made = []
    for totals in workload:
        if len(totals.passes) > 1:
            made.append(_sweep_section(totals))
        shown = totals.knee or totals.passes[0]
        made.append(Section(_heading(shown), tuple(_total_lines(shown))))
        if shown.all.measured_ns:
            made += [_kinds_section(shown), _layers_section(shown)]
    return made


def workload_members(workload: Sequence[Totals]) -> list[JsonObject]:
    """The same facts for programs: unrounded, with all passes and layers."""
    return [_pass_members(one, totals) for totals in workload for one in totals.passes]


# ---- one pass -----------------------------------------------------------------------------------


def _heading(one: PassTotals) -> str:
    return ", ".join([one.workload.text_of(one.what), *regime_words(one)])


def regime_words(one: PassTotals) -> list[str]:
    """'cache hot' and 'power rested'."""
    names = zip(("cache", "power"), one.regime or (), strict=False)
    return [f"{name} {value}" for name, value in names if value]


def _total_lines(one: PassTotals) -> Iterator[str]:
    if not one.all.measured_ns:
        yield "no kernel was measured"
        yield from _failure_lines(one)
        return
    unit = one.workload.one_unit
    name = "time" if one.is_complete else _TIME_OF_KERNELS
    parts = [f"{name}: {time_text(one.time_ns)}"]
    if one.what.batch > 1:
        parts.append(f"{time_text(one.unit_ns)} per {unit}")
    if one.units_per_s is not None:
        parts.append(f"{number_text(one.units_per_s)} {one.workload.unit}/s")
    yield ", ".join(parts)
    yield from _chain_lines(one)
    yield from _rate_lines(one.all)
    if one.cost_per_million is not None:
        price = f"{one.workload.price:g} per device and hour"
        cost = number_text(one.cost_per_million)
        yield f"cost: {cost} per million {one.workload.unit}, at {price}"
    yield from _coverage_lines(one)


def _chain_lines(one: PassTotals) -> Iterator[str]:
    """The time of all measured kernels as one call, beside the sum of their times."""
    chain = one.chain
    if chain is None:
        return
    calls, kernels = chain.members["calls"], chain.members["kernels"]
    if chain.median_ns is None:
        reason = printable_line(chain.members.get("reason") or "no reason given")
        yield f"chain: {chain.status.replace('_', ' ')}: {reason}"
        return
    parts = [
        f"{time_text(chain.median_ns)} for {counted(calls, 'call')} of {counted(kernels, 'kernel')}"
    ]
    if chain.members.get("launch") == "graph":
        parts[0] += " as one graph"
    if one.chain_share is not None:
        parts.append(f"{percent(one.chain_share)} % of the sum of their times")
    if (chain.members.get("verification") or {}).get("status") != "passed":
        parts.append("not verified")
    yield f"chain: {', '.join(parts)}"


def _rate_lines(times: Times) -> Iterator[str]:
    if times.tflops is None:
        return
    parts = [_rate_text(times), f"{_bytes_text(times.measured_bytes)} moved at "
             f"{rate(times.gbps)} GB/s"]  # fmt: skip
    if times.share_roofline is not None:
        parts.append(f"{share(times.share_roofline)} % of what the ceilings allow")
    if times.above_ceiling:
        parts.append(f"{times.above_ceiling} above their ceiling, excluded from the share")
    yield f"measured kernels: {', '.join(parts)}"
    if times.energy_j is not None:
        yield f"energy of the measured kernels: {number_text(times.energy_j)} J"


def _coverage_lines(one: PassTotals) -> Iterator[str]:
    missing = one.unmeasured
    if not missing:
        yield "coverage: every kernel is measured"
        return
    names = ", ".join(_item_text(item) for item in missing[:_MOST_NAMED])
    if len(missing) > _MOST_NAMED:
        rest = missing[_MOST_NAMED:]
        names += f", and {len(rest)} more"
        if all(item.estimate_ns is not None for item in rest):
            names += f" with {time_text(sum(item.known_ns for item in rest))}"
    if one.coverage is None:
        yield "coverage: unknown, since no ceiling estimates what is not measured"
    else:
        needs = f"; a total needs {percent(NEEDED_COVERAGE, 0)} %" * (not one.is_complete)
        yield f"coverage: {percent(one.coverage)} % of the time is measured{needs}"
    if memory := one.ceilings.memory:
        level, gbps = memory
        yield (
            f"not measured, but estimated from bytes at {rate(gbps)} GB/s ({level_name(level)}) "
            f"and FLOPs: {names}"
        )
    else:
        yield f"not measured: {names}"
    yield from _failure_lines(one)


def _item_text(item: ItemTime) -> str:
    return item.item.layer + ("" if item.estimate_ns is None else f" {time_text(item.estimate_ns)}")


def _failure_lines(one: PassTotals) -> Iterator[str]:
    """One line for each reason why kernels that have an operation were not measured."""
    layers: dict[str, dict[str, None]] = {}
    for item in one.unmeasured:
        if item.item.problem is not None:
            layers.setdefault(item.reason, {})[item.item.layer] = None
    for reason, names in layers.items():
        shown = list(names)[:_MOST_NAMED]
        more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
        yield f"{', '.join(shown)}{more}: {reason}"


def _kinds_section(one: PassTotals) -> Section:
    return _share_section("kind of layer", one, one.all.grouped(lambda item: item.kind))


def _layers_section(one: PassTotals) -> Section:
    layers = one.all.grouped(lambda item: item.layer)
    shown = dict(list(layers.items())[:_MOST_LAYERS])
    rest = [times for name, times in layers.items() if name not in shown]
    if len(rest) > 1:
        together = tuple(time for times in rest for time in times.times)
        shown[f"{len(rest)} other layers"] = Times(together)
    elif rest:
        shown = layers
    return _share_section("layer", one, shown)


def _share_section(what: str, one: PassTotals, groups: Mapping[str, Times]) -> Section:
    unit = work_unit(next((time.item.precision for time in one.all.times if time.row), None))
    columns = (what.partition(" ")[0], "calls", "time", "%time", unit, "%roofline", "measured")
    whole = one.all.known_ns
    rows = tuple(
        TableRow((
            name,
            str(times.calls),
            time_cell(times.known_ns) if times.known_ns else "-",
            percent(times.known_ns / whole) if whole else "-",
            rate(times.tflops) if times.measured_flops else "-",
            share(times.share_roofline),
            measured_text(times),
        ))
        for name, times in groups.items()
    )  # fmt: skip
    heading = f"Time by {what}"
    return Section(heading, (), columns, frozenset({0, 6}), rows, optional=(1, 5, 4))


def measured_text(times: Times) -> str:
    """How much of the time is measured: yes, no, estimated, or a share."""
    if times.times and all(one.row for one in times.times):
        return "yes"
    if not times.measured_ns:
        return "estimated" if times.known_ns else "no"
    return f"{percent(times.measured_ns / times.known_ns, 0)} %"


# ---- several passes -----------------------------------------------------------------------------


def _sweep_section(totals: Totals) -> Section:
    first, knee = totals.passes[0], totals.knee
    unit = first.workload.one_unit
    time = "time" if totals.is_complete else _TIME_OF_KERNELS
    rates = (f"{first.workload.unit}/s",) if totals.is_complete else ()
    chains = ("chain",) if any(one.chain for one in totals.passes) else ()
    columns = ("batch", time, f"time per {unit}", *rates, *chains, "% of best", "%roofline",
               "measured")  # fmt: skip
    rows = [
        TableRow((
            str(one.what.batch),
            time_cell(totals.time_ns(one)),
            time_cell(totals.time_ns(one) / one.what.batch),
            *(("-" if one.units_per_s is None else number_text(one.units_per_s),) if rates else ()),
            *((_chain_cell(one.chain),) if chains else ()),
            percent(totals.share_of_best(one)),
            share(one.all.share_roofline),
            "-" if one.coverage is None else f"{percent(one.coverage)} %",
        ))
        for one in totals.passes
    ]  # fmt: skip
    lines = [_knee_line(knee)]
    heading = f"{first.workload.title} {first.workload.phase}, latency against throughput"
    title = ", ".join([heading, *regime_words(first)])
    plot = tuple(_sweep_plot(totals))
    return Section(title, tuple(lines), columns, frozenset(), tuple(rows), plot=plot)


def _chain_cell(chain: ChainLine | None) -> str:
    """The time, or the status of a chain without one."""
    if chain is None:
        return "-"
    time_ns = chain.median_ns
    return chain.status.replace("_", " ") if time_ns is None else time_cell(time_ns)


def _sweep_plot(totals: Totals) -> Iterator[str]:
    """Throughput over latency. Without totals it is the share of the best, of the measured
    kernels."""
    shares = [(one, share) for one in totals.passes if (share := totals.share_of_best(one))]
    if len(shares) < 2:
        return
    knee = totals.knee
    points = [
        PlotPoint(totals.time_ns(one), share, str(one.what.batch), one is knee)
        for one, share in shares
    ]
    best = max(one.units_per_s or 0.0 for one, _ in shares)
    if totals.is_complete:
        top, y_title = number_text(best), f"{shares[0][0].workload.unit}/s"
    else:
        top, y_title = "100", "% of the best throughput of the measured kernels"
    marked = ", * is the knee" if knee else ""
    yield f"{y_title} by batch{marked}"
    times = [point.x for point in points]
    ends = time_text(min(times)), time_text(max(times))
    yield from plot_lines(points, ends, ("0", top), "time of a pass")


def _knee_line(knee: PassTotals | None) -> str:
    if knee is None:
        return f"no knee: it needs {percent(NEEDED_COVERAGE, 0)} % of the time of every batch"
    return (
        f"knee: batch={knee.what.batch}, the smallest with {percent(KNEE_SHARE, 0)} % of the best "
        "throughput"
    )


# ---- for programs -------------------------------------------------------------------------------


def _pass_members(one: PassTotals, totals: Totals) -> JsonObject:
    cache, power = one.regime or (None, None)
    return {
        "parameters": one.what.values,
        "cache": cache,
        "power": power,
        "complete": one.is_complete,
        "coverage": one.coverage,
        "time_ns": one.time_ns,
        "measured_ns": one.all.measured_ns,
        "estimated_ns": one.all.known_ns - one.all.measured_ns,
        "unit": one.workload.unit,
        "units_per_s": one.units_per_s,
        "cost_per_million": one.cost_per_million,
        "energy_j": one.all.energy_j,
        **_chain_members(one),
        "knee": one is totals.knee,
        **_times_members(one.all),
        "kinds": _group_members(one.all.grouped(lambda item: item.kind)),
        "layers": _group_members(one.all.grouped(lambda item: item.layer)),
        "not_measured": [
            {
                "layer": item.item.layer,
                "count": item.item.count,
                "problem": item.item.problem,
                "reason": item.reason,
                "estimated_ns": item.estimate_ns,
            }
            for item in one.unmeasured
        ],
    }


def _chain_members(one: PassTotals) -> JsonObject:
    if one.chain is None:
        return {}
    keys = ("status", "reason", "calls", "kernels", "launch", "statistics", "verification")
    found = {key: one.chain.members.get(key) for key in keys}
    return {"chain": {**found, "share_of_sum": one.chain_share}}


def _group_members(groups: Mapping[str, Times]) -> list[JsonObject]:
    return [
        {
            "name": name,
            "calls": times.calls,
            "measured_ns": times.measured_ns,
            "estimated_ns": times.known_ns - times.measured_ns,
            **_times_members(times),
        }
        for name, times in groups.items()
    ]


def _times_members(times: Times) -> JsonObject:
    return {
        "measured_flops": times.measured_flops,
        "measured_bytes": times.measured_bytes,
        "tflops": times.tflops,
        "gbps": times.gbps,
        "share_roofline": times.share_roofline,
    }


# ---- numbers ------------------------------------------------------------------------------------


def number_text(value: float) -> str:
    """Four significant digits without an exponent: 0.1234, 76.52, 12350."""
    return f"{value:.0f}" if value >= 1000 else f"{value:.4g}"


def _rate_text(times: Times) -> str:
    precision = next(one.item.precision for one in times.times if one.row)
    return f"{rate(times.tflops)} {work_unit(precision)}"


def _bytes_text(size: float) -> str:
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if size >= scale:
            return f"{number_text(size / scale)} {unit}"
    return f"{number_text(size / 1e3)} kB"
