"""The report on whole result files: means by family and application, charts, hot and cold rows, a
comparison with reference results, and the environment of the run. report_rows.py, pairs.py and
content.py compute it; page.py, markdown.py and image.py write it. Vega draws the charts."""

from __future__ import annotations

from .content import Content, content

__all__ = ["CHARTS", "FORMATS", "IMAGES", "Content", "content", "render"]

IMAGES = ("png", "svg", "pdf")  # formats that hold a single chart
FORMATS = ("html", "markdown", *IMAGES)
CHARTS = (
    "roofline", "bandwidth", "distribution", "algorithms", "caches", "against", "layers",
    "throughput",
)  # fmt: skip


def render(what: Content, name: str, chart: str = "roofline", row: int | None = None) -> bytes:
    """The report in the format called `name`, one of FORMATS. An image holds one chart; a chart of
    a distribution shows the row at position `row`. Raises FormatError."""
    if name == "html":
        from .page import render_page

        return render_page(what).encode("utf-8", errors="replace")
    if name == "markdown":
        from .markdown import render_report

        return render_report(what).encode("utf-8", errors="replace")
    from .image import render_image

    return render_image(what, name, chart, row)
