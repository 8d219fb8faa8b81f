"""Models as lists of kernels: reads a model file, expands its layers to calls, and sums the rows of
a run to the model's time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deepbench.results.chains import ChainLine
    from deepbench.results.row import Row
    from deepbench.workload.totals import Totals


def totals_of(
    context: Mapping[str, Any], rows: Iterable[Row], chains: Sequence[ChainLine] = ()
) -> Sequence[Totals]:
    """Calls totals.totals_of, whose module is imported only for a run of a workload."""
    if not context.get("workload"):
        return []
    from deepbench.workload import totals

    return totals.totals_of(context, rows, chains)
