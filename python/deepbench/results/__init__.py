"""Result files (docs/reference/rows.md): reading, writing, locking, and their schema."""

from deepbench.results.reader import ResultError, ResultFile, parsed, read
from deepbench.results.row import Row, parse_row
from deepbench.results.writer import ResultWriter

__all__ = [
    "ResultError", "ResultFile", "ResultWriter", "Row", "parse_row", "parsed", "read",
]  # fmt: skip
