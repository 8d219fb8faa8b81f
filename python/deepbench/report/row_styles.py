"""Determines which rows are highlighted, and in which color."""

from __future__ import annotations

from deepbench.report.remarks import REMARKS
from deepbench.results.row import Row

_ORDINARY = ("ok", "unsupported")
# Remarks on rows whose time is not as precise as it should be.
_DOUBTFUL = ("noisy", "throttled", "disturbed")
_FAILED_STYLE = "red"
_DOUBTFUL_STYLE = "yellow"
TONE_STYLES = {"slower": "red", "faster": "green"}  # styles of rows of a comparison, by their tone


def style_of(row: Row) -> str:
    """Red for a row that failed, yellow for one whose time is doubtful; '' for the others."""
    if row.status == "mistrusted":
        return _DOUBTFUL_STYLE
    if row.status not in _ORDINARY:
        return _FAILED_STYLE
    doubtful = (remark for remark in REMARKS if remark.form in _DOUBTFUL)
    return _DOUBTFUL_STYLE if any(remark.of(row) for remark in doubtful) else ""
