"""Result files (docs/reference/rows.md): reading, writing, locking, and their schema."""

from deepbench.results.reader import Json, ResultError, ResultFile, parsed, read, thinned
from deepbench.results.writer import ResultWriter

__all__ = ["Json", "ResultError", "ResultFile", "ResultWriter", "parsed", "read", "thinned"]
