"""Errors about workbooks: one line that names the file, the cell and the cure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from deepbench.errors import UserError
from deepbench.installation import install_command


class WorkbookError(UserError):
    """A workbook cannot be read or written. The message is one line."""


@contextmanager
def xlsx_package_required() -> Iterator[None]:
    """Wraps the import of the extra `xlsx`, so that its absence gives a one-line error with the
    cure."""
    try:
        yield
    except ImportError as error:
        raise WorkbookError(
            f"writing workbooks needs the Python package {error.name or 'xlsxwriter'}: "
            f"{install_command('xlsx')}"
        ) from None
