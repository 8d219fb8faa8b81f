"""The original benchmark's output, column for column and including its misprints, for scripts that
parse it.

There is one section per operation, since the original had one program for each. Times are truncated
to whole microseconds. A time is the median here, while the original printed the mean. `Not
Supported` replaces a missing time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from deepbench.report import Context, FormatError
from deepbench.report.legacy.conv import Conv
from deepbench.report.legacy.gemm import Gemm
from deepbench.report.legacy.rnn import Rnn
from deepbench.report.legacy.sparse_gemm import SparseGemm
from deepbench.report.outline import Outline
from deepbench.results.row import Row

if TYPE_CHECKING:
    from deepbench.workload.totals import Totals


class Section(Protocol):
    """The output of one of the original's programs. Each call returns the text to be printed."""

    def head(self) -> str:
        """Everything above the first row."""

    def row(self, row: Row) -> str:
        """The lines that this row completes; a line may need the rows of several phases."""

    def end(self) -> str:
        """The remaining lines and the footer."""


# Section factories by operation. Their arguments: whether the set is for inference, and the
# precision of the first row.
_SECTIONS: dict[str, Callable[[bool, str], Section]] = {
    "gemm": Gemm,
    "conv": Conv,
    "rnn": Rnn,
    "sparse_gemm": SparseGemm,
}


class Legacy:
    """The sections, one after the other."""

    def __init__(self) -> None:
        self._inference = False
        self._op: str | None = None
        self._section: Section | None = None

    def begin(self, context: Context, outline: Outline) -> str:
        others = [op for op in outline if op not in _SECTIONS]
        if others:
            raise FormatError(
                f"--format legacy prints {' '.join(_SECTIONS)}, not {' '.join(others)}; "
                "use --format table"
            )
        self._inference = str(context.get("set") or "").startswith("inference")
        return ""

    def row(self, row: Row) -> str:
        text = ""
        if self._section is None or row.op != self._op:
            text = self.end()
            precision = str(row.attributes.get("precision", ""))
            self._op = str(row.op)
            self._section = _SECTIONS[self._op](self._inference, precision)
            text += self._section.head()
        return text + self._section.row(row)

    def end(self, workload: Sequence[Totals] = ()) -> str:
        return "" if self._section is None else self._section.end()
