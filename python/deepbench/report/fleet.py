"""The section of a report that compares the ranks of a fleet."""

from __future__ import annotations

from deepbench.errors import counted
from deepbench.report.comparison.content import Section, TableRow
from deepbench.results.fleet import FleetSummary, RankSummary, slowest_first

_LISTED = 16  # ranks in the table; flagged ranks are always listed


def fleet_section(fleet: FleetSummary) -> Section | None:
    """Returns None if no row was measured by several ranks, each on its own device."""
    ranks = fleet.ranks()
    if not ranks:
        return None
    flagged = sum(one.is_flagged for one in ranks)
    ordered = sorted(ranks, key=slowest_first)
    shown, others = ordered[: max(_LISTED, flagged)], ordered[max(_LISTED, flagged) :]
    lines = [
        f"{len(ranks)} ranks, {counted(fleet.rows, 'row')}; each rank's "
        "deviation from the ranks' median time, geometric mean over all rows",
        *_other_rank_lines(others),
    ]
    columns = ("rank", "host", "device", "name", "rows", "mean", "slow in", "quick in", "failed",
               "worst", "of")  # fmt: skip
    rows = [TableRow(_rank_cells(one), "slower" if one.is_flagged else "") for one in shown]
    return Section("Fleet", tuple(lines), columns, frozenset({1, 3, 10}), tuple(rows))


def _other_rank_lines(others: list[RankSummary]) -> list[str]:
    means = [one.mean for one in others if one.mean is not None]
    if not means:
        return []
    low, high = _deviation_text(min(means)), _deviation_text(max(means))
    return [f"{len(others)} more ranks between {low} and {high}"]


def _rank_cells(one: RankSummary) -> tuple[str, ...]:
    ratio, problem = one.worst or (None, "-")
    return (
        str(one.rank), one.host or "-", "-" if one.device is None else str(one.device),
        one.name or "-", str(one.rows), _deviation_text(one.mean), str(one.slow), str(one.quick),
        str(one.failed), _deviation_text(ratio), problem,
    )  # fmt: skip


def _deviation_text(ratio: float | None) -> str:
    return "-" if ratio is None else f"{100 * (ratio - 1):+.1f} %"
