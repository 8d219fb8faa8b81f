"""Workbooks: writes a result file as an .xlsx with the original's sheets and columns, and reads the
original's published workbooks and deepbench's workbooks as result files. Writing needs the extra
`xlsx`."""

from __future__ import annotations

from deepbench.workbook.errors import WorkbookError
from deepbench.workbook.reading import Imported, read_workbook
from deepbench.workbook.writing import write_workbook

__all__ = ["Imported", "WorkbookError", "read_workbook", "write_workbook"]
