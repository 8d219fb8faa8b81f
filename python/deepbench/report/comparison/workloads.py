"""Compares two machines for a model: the time of each pass, and its distribution over the kinds of
layers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deepbench.compare import PassPair, WorkloadComparison
from deepbench.json_types import MutableJsonObject
from deepbench.report.fields import percent, time_cell
from deepbench.report.workload import measured_text, regime_words
from deepbench.workload.passes import Pass
from deepbench.workload.totals import NEEDED_COVERAGE, PassTotals, Times

from .section import Section, TableRow
from .wording import number_text, result_set_letter

_MOST_NAMED = 6  # passes


def workload_sections(found: WorkloadComparison | None, index: int) -> list[Section]:
    """The sections of the baseline's model and that of the result set at `index`. There is none if
    one of them is not the result of a model."""
    if found is None:
        return []
    letter = result_set_letter(index)
    setups = list(dict.fromkeys(map(_setup_text, found.pairs)))
    lines = tuple(_lines(found, letter))
    if not found.is_same_model:
        return [Section(f"models, {letter} against A", lines)]
    words = [f"{found.base.title} {found.base.phase}", *(setups if len(setups) == 1 else [])]
    heading = ", ".join([*words, f"{letter} against A"])
    table = _passes_table(found.pairs, letter, with_setup=len(setups) > 1)
    sections = [Section(heading, lines, *table, optional=(5, 6))]
    if found.shown is not None:
        sections.append(_kinds_section(found.shown, letter))
    return sections


def _lines(found: WorkloadComparison, letter: str) -> Iterator[str]:
    if not found.is_same_model:
        yield (
            f"A is {found.base.summary} and {letter} is {found.other.summary}: they have no pass "
            "in common, and only rows of equal problems are compared"
        )
        return
    if any(one.is_total for one in found.pairs):
        yield (
            "total: the time of all calls; what is not measured is estimated, at most "
            f"{percent(1 - NEEDED_COVERAGE, 0)} % of it"
        )
    if any(not one.is_total for one in found.pairs):
        yield (
            f"kernels: those that both have measured, since a total needs "
            f"{percent(NEEDED_COVERAGE, 0)} % of the time of the same layers on both sides"
        )
    for name, passes in (("A", found.only_base), (letter, found.only_other)):
        if passes:
            yield f"only in {name}: {_passes_text(passes)}"
    if found.apart:
        yield (
            f"no pass is compared, since they differ in {', '.join(found.apart)} (--across "
            f"{','.join(found.apart)})"
        )
    elif found.not_measured:
        yield f"no kernel is measured in both: {_passes_text(found.not_measured)}"
    if disturbed := sum(one.disturbed for one in found.pairs):
        yield f"{disturbed} kernels were disturbed by other work on a machine"


def _passes_text(passes: Sequence[Pass]) -> str:
    names = ", ".join(one.text for one in passes[:_MOST_NAMED])
    more = len(passes) - _MOST_NAMED
    return f"{names} and {more} more" if more > 0 else names


def _passes_table(
    pairs: Sequence[PassPair], letter: str, with_setup: bool
) -> tuple[tuple[str, ...], frozenset[int], tuple[TableRow, ...]]:
    if not pairs:
        return (), frozenset(), ()
    titles = ("pass", "compared", "A", letter, f"{letter}/A", "measured in A", f"in {letter}")
    rows = tuple(
        TableRow((
            _pass_text(one) if with_setup else one.base.what.text,
            "total" if one.is_total else "kernels",
            time_cell(one.base_ns),
            time_cell(one.other_ns, one.base_ns),
            number_text(one.ratio),
            _coverage_text(one.base),
            _coverage_text(one.other),
        ))
        for one in pairs
    )  # fmt: skip
    return titles, frozenset({0, 1}), rows


def _pass_text(one: PassPair) -> str:
    return f"{one.base.what.text}, {_setup_text(one)}"


def _setup_text(one: PassPair) -> str:
    """'float, cache hot, power rested', of both sides where they differ."""
    sides = [
        ", ".join([" ".join(side.what.precisions), *regime_words(side)])
        for side in (one.base, one.other)
    ]
    return " against ".join(dict.fromkeys(sides))


def _coverage_text(one: PassTotals) -> str:
    return "-" if one.coverage is None else f"{percent(one.coverage)} %"


def _kinds_section(one: PassPair, letter: str) -> Section:
    wholes = (one.base.all.known_ns, one.other.all.known_ns)
    rows = tuple(
        TableRow((
            name,
            *(
                cell
                for times, whole_ns in zip(sides, wholes, strict=True)
                for cell in (time_cell(times.known_ns or None), percent(times.known_ns / whole_ns))
            ),
            "-" if (ratio := kind_ratio(sides)) is None else number_text(ratio),
            _both_measured_text(sides, letter),
        ))
        for name, sides in one.kinds.items()
    )  # fmt: skip
    titles = ("kind", "A", "% of A", letter, f"% of {letter}", f"{letter}/A", "measured")
    heading = f"Time by kind of layer, {_pass_text(one)}"
    return Section(heading, (), titles, frozenset({0, 6}), rows)


def kind_ratio(sides: tuple[Times, Times]) -> float | None:
    """The time of a kind on the other side over that of the baseline; None unless all of it is
    measured."""
    if not all(side.times and all(one.row for one in side.times) for side in sides):
        return None
    return sides[1].measured_ns / sides[0].measured_ns


def _both_measured_text(sides: tuple[Times, Times], letter: str) -> str:
    a, b = map(measured_text, sides)
    return a if a == b else f"{a} in A, {b} in {letter}"


# ---- for programs -------------------------------------------------------------------------------


def workload_members(found: WorkloadComparison | None) -> MutableJsonObject | None:
    if found is None:
        return None
    return {
        "base": found.base.summary,
        "other": found.other.summary,
        "passes": [_pair_members(one) for one in found.pairs],
        "only_in_base": [dict(one.values) for one in found.only_base],
        "only_in_other": [dict(one.values) for one in found.only_other],
        "apart": list(found.apart),
    }


def _pair_members(one: PassPair) -> MutableJsonObject:
    return {
        "parameters": dict(one.base.what.values),
        "total": one.is_total,
        "base": _side_members(one.base),
        "other": _side_members(one.other),
        "base_ns": one.base_ns,
        "other_ns": one.other_ns,
        "ratio": one.ratio,
        "kinds": [
            {
                "name": name,
                **_times_members("base", sides[0]),
                **_times_members("other", sides[1]),
                "ratio": kind_ratio(sides),
            }
            for name, sides in one.kinds.items()
        ],
    }


def _side_members(one: PassTotals) -> MutableJsonObject:
    cache, power = one.regime or (None, None)
    return {"cache": cache, "power": power, "coverage": one.coverage, "complete": one.is_complete}


def _times_members(side: str, times: Times) -> MutableJsonObject:
    return {
        f"{side}_measured_ns": times.measured_ns,
        f"{side}_estimated_ns": times.known_ns - times.measured_ns,
    }
