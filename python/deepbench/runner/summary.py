"""Summarizes a run: rows by status, their mean share of the roofline, the exit status."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from deepbench.report.fields import ceiling_text, level_name, share, work_unit
from deepbench.results.fleet import FleetSummary
from deepbench.results.row import ABOVE_CEILING, Row
from deepbench.runner.progress import duration_text

_GOOD = ("ok", "unsupported")
_MAX_FINDINGS = 8
_MAX_NAMED_ROWS = 3  # named rows whose share changed


class Summary:
    """Counts rows as they finish."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._logarithms: list[float] = []  # of shares of the roofline
        self._above = 0
        self._ceilings: dict[str, str] = {}  # as texts, by precision or memory level
        self._changed: list[str] = []  # rows with another share than printed
        self._fleet = FleetSummary()

    @property
    def rows(self) -> int:
        return sum(self._counts.values())

    @property
    def exit_status(self) -> int:
        """0 if every row is ok or unsupported and at least one is ok, else 1."""
        bad = sum(count for status, count in self._counts.items() if status not in _GOOD)
        return 0 if bad == 0 and self._counts.get("ok", 0) > 0 else 1

    def begin(self, context: Mapping[str, Any]) -> None:
        self._fleet.begin(context)

    def add(self, row: Row) -> None:
        self._fleet.add(row)
        self._add_ceilings(row)
        status = row.status
        self._counts[status] = self._counts.get(status, 0) + 1
        part = row.bound.share_roofline
        if status == "ok" and part:
            self._above += part > ABOVE_CEILING
            self._logarithms += [math.log(part)] if part <= ABOVE_CEILING else []

    def _add_ceilings(self, row: Row) -> None:
        bound, precision = row.bound, row.arithmetic or "arithmetic"
        for name, figure, unit, spread in (
            (precision, bound.arithmetic_tflops, work_unit(precision), bound.arithmetic_spread),
            (bound.level or "memory", bound.memory_gbps, "GB/s", bound.memory_spread),
        ):
            if figure:
                self._ceilings[name] = f"{level_name(name)} {ceiling_text(figure, unit, spread)}"

    @property
    def ceilings(self) -> str:
        """'ceilings: float 0.9999 TFLOP/s ±0.4 %, memory 99.99 GB/s ±0.1 %'; '' without any."""
        return f"ceilings: {', '.join(self._ceilings.values())}" if self._ceilings else ""

    def compare_share(self, row: Row, printed: float | None) -> None:
        """Remembers the row if its share of the roofline differs from the one that was printed."""
        before, now = share(printed), share(row.bound.share_roofline)
        if now != before:
            self._changed.append(f"{row.problem} (from {before} % to {now} %)")

    @property
    def changed_shares(self) -> str:
        """Names the rows that the mean counts with another share than was printed; '' if there are
        none."""
        if not self._changed:
            return ""
        names = ", ".join(self._changed[:_MAX_NAMED_ROWS])
        if len(self._changed) > _MAX_NAMED_ROWS:
            names += f" and {len(self._changed) - _MAX_NAMED_ROWS} more"
        return (
            "a ceiling was raised or measured again after rows were printed, which changed their "
            f"share of the roofline: {names}"
        )

    @property
    def findings(self) -> list[str]:
        """One line for each of the first few ranks that are outliers or failed."""
        every = self._fleet.findings()
        more = [f"{len(every) - _MAX_FINDINGS} more ranks are outliers or failed"]
        return every[:_MAX_FINDINGS] + (more if len(every) > _MAX_FINDINGS else [])

    def line(self, seconds: float | None, planned: int) -> str:
        """'160 rows: 158 ok, 2 unsupported; geometric mean 83 % of the roofline; 7 min 31 s'."""
        done = "" if self.rows == planned else f"{self.rows} of "
        rows = f"{done}{planned} row{'' if planned == 1 else 's'}"
        statuses = sorted(self._counts, key=lambda status: (status not in _GOOD, status))
        counts = ", ".join(f"{self._counts[name]} {name.replace('_', ' ')}" for name in statuses)
        parts = [f"{rows}: {counts}" if counts else rows]
        if self._logarithms:
            mean = math.exp(sum(self._logarithms) / len(self._logarithms))
            parts.append(f"geometric mean {share(mean)} % of the roofline")
        if self._above:
            its = "its" if self._above == 1 else "their"
            parts.append(f"{self._above} above {its} ceiling, excluded from the mean")
        if seconds is not None:
            parts.append(duration_text(seconds))
        return "; ".join(parts)
