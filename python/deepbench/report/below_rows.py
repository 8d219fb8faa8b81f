"""The sections that table and Markdown print below the rows."""

from __future__ import annotations

from deepbench.report.call_totals import call_total_sections
from deepbench.report.comparison.section import Section
from deepbench.report.fleet import fleet_section
from deepbench.results.call_totals import CallTotals
from deepbench.results.fleet import FleetSummary


def sections_below_rows(fleet: FleetSummary, totals: CallTotals) -> list[Section]:
    """The ranks of a fleet, and the time of all counted calls."""
    section = fleet_section(fleet)
    return [*([section] if section else ()), *call_total_sections(totals)]
