"""The sections that table and Markdown print below the rows."""

from __future__ import annotations

from collections.abc import Sequence

from deepbench.report.call_totals import call_total_sections
from deepbench.report.comparison.section import Section
from deepbench.report.fleet import fleet_section
from deepbench.report.workload import workload_sections
from deepbench.results.call_totals import CallTotals
from deepbench.results.fleet import FleetSummary
from deepbench.workload.totals import Totals


def sections_below_rows(
    fleet: FleetSummary, totals: CallTotals, workload: Sequence[Totals]
) -> list[Section]:
    """The ranks of a fleet, and the time of a model or of all counted calls."""
    section = fleet_section(fleet)
    of_calls = workload_sections(workload) or call_total_sections(totals)
    return [*([section] if section else ()), *of_calls]
