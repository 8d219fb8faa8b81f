"""Comparing result files: which rows belong together, their ratios with intervals, and which are
faster or slower beyond the noise. How that looks is the matter of deepbench.report.comparison.

result_set.py reads what comparing needs of a file, matching.py finds the rows that belong together,
ratios.py puts an interval around a ratio, verdicts.py says what is noise.
"""

from __future__ import annotations

from .comparison import Comparison, PairwiseComparison, Rules, compare
from .groups import Group
from .headline import Headline, headline
from .matching import NothingInCommon, Unmatched
from .ratios import Ratio
from .regimes import ACROSS, differences
from .result_set import Entry, ResultSet, to_result_set
from .verdicts import ComparedRow

__all__ = [
    "ACROSS",
    "ComparedRow",
    "Comparison",
    "Entry",
    "Group",
    "Headline",
    "NothingInCommon",
    "PairwiseComparison",
    "Ratio",
    "ResultSet",
    "Rules",
    "Unmatched",
    "compare",
    "differences",
    "headline",
    "to_result_set",
]
