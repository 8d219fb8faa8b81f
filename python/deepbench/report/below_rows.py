"""The sections that table and Markdown print below the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deepbench.results.call_totals import CallTotals
from deepbench.results.fleet import FleetSummary
from deepbench.results.row import Row

if TYPE_CHECKING:
    from deepbench.report import Context
    from deepbench.report.comparison.section import Section
    from deepbench.workload.totals import Totals


class BelowRows:
    """Collects what the sections need while rows are printed."""

    def __init__(self) -> None:
        self._fleet = FleetSummary()
        self._totals = CallTotals()
        self._soaks: list[Row] = []

    def begin(self, context: Context) -> None:
        self._fleet.begin(context)
        self._totals.begin(context)

    def add(self, row: Row) -> None:
        self._fleet.add(row)
        self._totals.add(row)
        if row.soak:
            self._soaks.append(row)

    def sections(self, workload: Sequence[Totals] = ()) -> list[Section]:
        """The ranks of a fleet, the courses of soaks, and the time of a model or of all counted
        calls. The modules of these sections are imported only when they are needed, since most runs
        have none of them."""
        if not (self._fleet.rows or self._totals.regimes or self._soaks or workload):
            return []
        from deepbench.report.call_totals import call_total_sections
        from deepbench.report.fleet import fleet_section
        from deepbench.report.soak import soak_section
        from deepbench.report.workload import workload_sections

        of_calls = workload_sections(workload) or call_total_sections(self._totals)
        single = (fleet_section(self._fleet), soak_section(self._soaks))
        return [*(section for section in single if section), *of_calls]
