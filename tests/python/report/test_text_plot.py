"""Plots in plain characters."""

from __future__ import annotations

from deepbench.report.text_plot import PlotPoint, plot_lines

POINTS = [
    PlotPoint(1.0, 25.0, "1"),
    PlotPoint(10.0, 100.0, "8", True),
    PlotPoint(100.0, 100.0, "64"),
]


def plot(points: list[PlotPoint]) -> list[str]:
    return list(plot_lines(points, ("1 ms", "100 ms"), ("0", "100"), "time"))


def test_points_lie_where_their_values_are() -> None:
    lines = plot(POINTS)
    top, bottom = lines[0], next(line for line in lines if "o 1" in line)
    begin = top.index("|") + 1
    assert top.startswith("100 |")
    assert bottom.index("o") == begin
    # In the middle of a logarithmic axis; the last label stands before its point.
    area = len(lines[-2]) - begin
    assert abs(top.index("* 8") - begin - area / 2) <= 1
    assert top.endswith("64 o")
    assert len(top) == len(lines[-2])
    # A quarter of the height.
    height = len(lines) - 3
    assert round(0.75 * height) == lines.index(bottom)
    assert lines[-2].startswith("  0 +--")
    assert lines[-1].split() == ["1", "ms", "time", "100", "ms"]


def test_labels_never_cover_one_another() -> None:
    [line, *_] = plot([PlotPoint(10.0, 100.0, f"label {place}") for place in range(3)])
    assert line.split("|")[1].split() == ["label", "1", "o", "label", "0"]


def test_equal_values_have_a_place() -> None:
    assert any("o same" in line for line in plot([PlotPoint(5.0, 5.0, "same")] * 2))
