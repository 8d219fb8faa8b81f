"""Cells of workbooks: which texts are numbers."""

from __future__ import annotations

import pytest

from deepbench.workbook.cells import Cell, CellError, number


def cell_of(text: str) -> Cell:
    return Cell("Results", 1, 1, text)


@pytest.mark.parametrize(
    ("text", "value"), [("1.5", 1.5), (" -2e3 ", -2e3), (".5", 0.5), ("1" + " " * 399, 1.0)]
)
def test_a_number_entered_as_text_counts(text: str, value: float) -> None:
    assert cell_of(text).numeric
    assert number(cell_of(text)) == value


@pytest.mark.parametrize(
    "text",
    ["apples", "", "1.5 ms", "nan", "\N{ARABIC-INDIC DIGIT ONE}", "1" + " " * 299 + "apples",
     "1" + " " * 400 + "apples", "1" + " " * 400],
)  # fmt: skip
def test_a_text_is_a_number_as_a_whole_or_not_at_all(text: str) -> None:
    assert not cell_of(text).numeric
    with pytest.raises(CellError, match="is not a number"):
        number(cell_of(text))


def test_a_number_beyond_a_float_is_out_of_range() -> None:
    assert cell_of("9" * 400).numeric
    with pytest.raises(CellError, match="is out of range"):
        number(cell_of("9" * 400))
