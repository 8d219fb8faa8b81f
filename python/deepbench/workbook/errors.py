"""How a workbook is refused: one line that says which file, which cell, and what is right."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from deepbench.errors import UserError
from deepbench.installation import install_command


class WorkbookError(UserError):
    """A workbook that cannot be read or written. One line."""


@contextmanager
def xlsx_package_required() -> Iterator[None]:
    """Around the import of the extra `xlsx`: its absence is a line with the cure."""
    try:
        yield
    except ImportError as error:
        raise WorkbookError(
            f"writing workbooks takes the Python package {error.name or 'xlsxwriter'}, which is "
            f"not there: {install_command('xlsx')}"
        ) from None
