"""Compares result files: pairs the rows of the same problem, computes their ratios with intervals,
and decides which rows are faster or slower beyond the noise. deepbench.report.comparison presents
the result.

result_set.py extracts the fields that a comparison needs, matching.py pairs the rows, ratios.py
computes the interval of a ratio, and verdicts.py separates changes from noise.
"""

from __future__ import annotations

from .comparison import Comparison, PairwiseComparison, Rules, compare
from .groups import AllCalls, Group
from .headline import Headline, headline
from .matching import NothingInCommon, Unmatched
from .ratios import Ratio
from .regimes import ACROSS, differences
from .result_set import Entry, ResultSet, to_result_set
from .verdicts import ComparedRow
from .workloads import PassPair, WorkloadComparison, compare_workloads

__all__ = [
    "ACROSS",
    "AllCalls",
    "ComparedRow",
    "Comparison",
    "Entry",
    "Group",
    "Headline",
    "NothingInCommon",
    "PairwiseComparison",
    "PassPair",
    "Ratio",
    "ResultSet",
    "Rules",
    "Unmatched",
    "WorkloadComparison",
    "compare",
    "compare_workloads",
    "differences",
    "headline",
    "to_result_set",
]
