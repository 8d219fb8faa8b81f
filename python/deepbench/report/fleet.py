"""The section of a report that compares the ranks of a fleet with one another."""

from __future__ import annotations

from deepbench.report.comparison.content import Section, TableRow
from deepbench.results.fleet import FleetSummary, RankSummary, slowest_first

_MOST = 16  # ranks that are named one by one, but for those that are out of line


def fleet_section(fleet: FleetSummary) -> Section | None:
    """None where no row was made by several ranks, each on its own device."""
    ranks = fleet.ranks()
    if not ranks:
        return None
    flagged = sum(one.flagged for one in ranks)
    ordered = sorted(ranks, key=slowest_first)
    shown, others = ordered[: max(_MOST, flagged)], ordered[max(_MOST, flagged) :]
    lines = [
        f"{len(ranks)} ranks, {fleet.rows} rows; a rank's time over the ranks' median, geometric "
        "mean of all rows",
        *_others(others),
    ]
    columns = ("rank", "host", "device", "name", "rows", "mean", "slow in", "quick in", "failed",
               "worst", "of")  # fmt: skip
    rows = [TableRow(_cells(one), "slower" if one.flagged else "") for one in shown]
    return Section("Fleet", tuple(lines), columns, frozenset({1, 3, 10}), tuple(rows))


def _others(others: list[RankSummary]) -> list[str]:
    means = [one.mean for one in others if one.mean is not None]
    if not means:
        return []
    return [f"{len(others)} more between {_off(min(means))} and {_off(max(means))}"]


def _cells(one: RankSummary) -> tuple[str, ...]:
    ratio, problem = one.worst or (None, "-")
    return (
        str(one.rank), one.host or "-", "-" if one.device is None else str(one.device),
        one.name or "-", str(one.rows), _off(one.mean), str(one.slow), str(one.quick),
        str(one.failed), _off(ratio), problem,
    )  # fmt: skip


def _off(ratio: float | None) -> str:
    return "-" if ratio is None else f"{100 * (ratio - 1):+.1f} %"
