"""The report of whole files: what rows come to by family and application, plots, pairs of regimes,
what others measured, and the circumstances. runs.py, pairs.py and content.py say what; page.py,
markdown.py and image.py write it down. Charts are drawn by Vega."""

from __future__ import annotations

from .content import Content, content

__all__ = ["CHARTS", "FORMATS", "IMAGES", "Content", "content", "render"]

IMAGES = ("png", "svg", "pdf")  # of one chart
FORMATS = ("html", "markdown", *IMAGES)
CHARTS = ("roofline", "bandwidth", "distribution", "algorithms", "caches", "against")


def render(what: Content, name: str, chart: str = "roofline", row: int | None = None) -> bytes:
    """The report in the format called `name`, one of FORMATS; as an image one chart, of a
    distribution that of the row at this place. Raises FormatError."""
    if name == "html":
        from .page import render_page

        return render_page(what).encode("utf-8", errors="replace")
    if name == "markdown":
        from .markdown import render_report

        return render_report(what).encode("utf-8", errors="replace")
    from .image import render_image

    return render_image(what, name, chart, row)
