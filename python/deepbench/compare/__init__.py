"""Comparing result files: which rows belong together, their ratios with intervals, and which are
faster or slower beyond the noise. How that looks is the matter of deepbench.report.comparison.

sides.py reads what comparing needs of a file, matching.py finds the rows that belong together,
ratios.py puts an interval around a ratio, verdicts.py says what is noise.
"""

from __future__ import annotations

from .comparison import Against, Comparison, Rules, compare
from .groups import Group
from .headline import Headline, headline
from .matching import NothingInCommon, Unmatched
from .ratios import Ratio
from .regimes import ACROSS, differences
from .sides import Entry, Side, of_file
from .verdicts import Compared

__all__ = [
    "ACROSS",
    "Against",
    "Compared",
    "Comparison",
    "Entry",
    "Group",
    "Headline",
    "NothingInCommon",
    "Ratio",
    "Rules",
    "Side",
    "Unmatched",
    "compare",
    "differences",
    "headline",
    "of_file",
]
