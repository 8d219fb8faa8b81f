"""The report as one self-contained HTML page: summaries as plain tables, and charts and the table
of rows by inline scripts. Content from files is escaped. A content security policy allows only
these scripts and forbids all requests."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from html import escape
from pathlib import Path

from deepbench.report.comparison.content import Section
from deepbench.report.comparison.html import section_parts

from . import vega
from .charts import chart, themes
from .content import Content
from .facts import environment
from .metric_chart_data import metric_chart_data
from .page_data import page_data, script_text
from .roofline_lines import roofline_points

_FOLDER = Path(__file__).with_name("page")
_SCRIPTS = (
    "theme", "numbers", "store", "filters", "tooltip", "charts", "sweep", "detail", "table", "main",
)  # fmt: skip
_CHOSEN_DARK, _NOTHING_CHOSEN = ':root[data-theme="dark"]', ":root:not([data-theme])"
_WIDTH = 900  # of a chart until the page knows its own
_LONGEST_OPEN = 24  # a longer table is collapsed
_TITLES = {
    "layers": "Where the time of the model goes",
    "throughput": "Latency against throughput",
    "roofline": "Roofline",
    "bandwidth": "Bandwidth of operations without FLOPs",
    "row": "Samples of a row",
    "algorithms": "Default against best",
    "caches": "Hot against cold",
    "against": "Comparison with references",
    "sweep": "Any metric against any attribute",
}


def render_page(content: Content) -> str:
    vega.require_resources()
    with ThreadPoolExecutor(1) as pool:
        # In parallel, since the first call takes as long as everything else.
        runtime = pool.submit(vega.vega_script)
        data = script_text(_page_data(content))
        scripts = {"vega": runtime.result(), "script": _page_script()}
    parts = {
        "policy": _content_security_policy(*scripts.values()),
        "version": escape(content.version),
        "title": escape(content.title),
        "about": escape(content.about),
        "headline": "".join(_headline_html(content)),
        "style": _style_sheet(),
        "licenses": escape(_read_asset("vega_licenses.txt")),
        "tiles": "".join(_tiles_html(content)),
        "links": "".join(_links_html(content)),
        "summary": _summary_html(content.summary),
        "models": "".join(_chart_html(content, name) for name in content.models.names),
        "charts": "".join(_charts_html(content)),
        "rest": "".join(_rest_html(content)),
        "data": data,
        **scripts,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _read_asset("page.html"))


def _read_asset(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _style_sheet() -> str:
    """Dark colors apply if the reader selects them or if the system prefers them, even without
    scripts."""
    dark = _read_asset("dark.css")
    preferred = dark.replace(_CHOSEN_DARK, _NOTHING_CHOSEN)
    return (
        f"{_read_asset('page.css')}@media screen {{\n{dark}}}\n"
        f"@media screen and (prefers-color-scheme: dark) {{\n{preferred}}}\n"
    )


def _page_script() -> str:
    parts = [_read_asset(f"{name}.js") for name in _SCRIPTS]
    return "\n(() => {\n'use strict';\n" + "\n".join(parts) + "})();\n"


def _content_security_policy(*scripts: str) -> str:
    """A policy that allows only these scripts. Vega interprets its expressions, since compiling
    them would need `eval`."""
    digests = [
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts
    ]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _page_data(content: Content) -> dict[str, object]:
    specs = {}
    models = {name: content.models.chart(name, _WIDTH) for name in content.models.names}
    for name in content.charts:
        made = models[name].spec if name in models else chart(
            name, content.axes, _WIDTH, content.work_title
        )  # fmt: skip
        spec = vega.compile_to_vega(made)
        spec.pop("config", None)  # all charts share the theme
        specs[name] = vega.with_fixed_legends(spec)
    room = content.axes
    return {
        **page_data(
            content.files,
            content.algorithms,
            content.hot_cold_points,
            content.reference_comparisons,
        ),
        **metric_chart_data(content.files, content.plot_choices),
        "charts": specs,
        "themes": {name: vega.compiled_theme(config) for name, config in themes().items()},
        "ceilings": roofline_points(content.ceilings, room) if room else [],
        "limits": content.limits,
        "models": {name: {"data": one.data, "colors": one.colors} for name, one in models.items()},
    }


# ---- parts of the page -------------------------------------------------------------------------


def _headline_html(content: Content) -> Iterator[str]:
    for text in content.headline:
        yield f'<p class="headline">{escape(text)}</p>\n'


def _tiles_html(content: Content) -> Iterator[str]:
    for name, text, bad in content.tiles:
        kind = ' class="bad"' if bad else ""
        yield f"<div{kind}><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>\n"


def _links_html(content: Content) -> Iterator[str]:
    links = [("summary", "Summary")]
    for name in [*content.models.names, *_shown_charts(content)]:
        anchor = "row" if name == "distribution" else name
        links.append((anchor, _TITLES[anchor]))
    links += [("rows", "All rows"), ("environment", "Environment and warnings")]
    for anchor, title in links:
        yield f'<a href="#{anchor}">{escape(title)}</a>\n'


def _shown_charts(content: Content) -> list[str]:
    """The charts of rows, which filters change. The sweep chart comes first if the files hold a
    sweep."""
    of_rows = [name for name in content.charts if name not in content.models.names]
    if content.plot_choices is None:
        return of_rows
    return ["sweep", *of_rows] if content.plot_choices.is_sweep else [*of_rows, "sweep"]


def _sweep_html(content: Content) -> str:
    """The section of the sweep chart. It is collapsed unless the files hold a sweep."""
    inner = _read_asset("sweep.html").replace("{{title}}", escape(_TITLES["sweep"]))
    if content.plot_choices is not None and not content.plot_choices.is_sweep:
        summary = "<summary>Choose a metric and an attribute</summary>"
        inner = f'<details id="sweep-fold">\n{summary}\n{inner}</details>\n'
    title = f"<h2>{_TITLES['sweep']}</h2>"
    return f'<section id="sweep" class="scripted">\n{title}\n{inner}</section>\n'


def _charts_html(content: Content) -> Iterator[str]:
    for name in _shown_charts(content):
        if name in ("distribution", "sweep"):
            yield _sweep_html(content) if name == "sweep" else _read_asset("row.html")
        else:
            yield _chart_html(content, name)
    for name in ("caches", "against"):
        if name not in content.charts and (sections := _chart_tables(content, name)):
            yield _tables_html(name, _TITLES[name], sections)


def _chart_html(content: Content, name: str) -> str:
    notes = "".join(f'<p class="note">{escape(text)}</p>\n' for text in content.notes(name))
    label = f'role="figure" aria-label="{_TITLES[name]}"'
    box = f'<div class="chart scripted" id="chart-{name}" {label}></div>\n'
    tables = "".join(map(_section_html, _chart_tables(content, name)))
    return f'<section id="{name}">\n<h2>{_TITLES[name]}</h2>\n{notes}{box}{tables}</section>\n'


def _chart_tables(content: Content, name: str) -> list[Section]:
    """The tables of a chart. No heading repeats the chart's title."""
    return [replace(section, heading="") if section.heading == _TITLES[name] else section
            for section in content.tables(name)]  # fmt: skip


def _rest_html(content: Content) -> Iterator[str]:
    if content.not_ok:
        section = content.not_ok
        yield _tables_html("not-ok", section.heading, [replace(section, heading="")])
    warnings = "".join(f"<li>{escape(text)}</li>\n" for text in content.warnings)
    yield '<section id="environment">\n<h2>Environment and warnings</h2>\n'
    yield f'<h3>Warnings</h3>\n<ul class="lines">\n{warnings or "<li>none</li>"}</ul>\n'
    for file in content.files:
        yield f"<details>\n<summary>{escape(file.letter)}: {escape(file.name)}</summary>\n"
        yield "".join(_section_html(section, "facts") for section in environment(file))
        yield "</details>\n"
    yield "</section>\n"


def _summary_html(sections: Sequence[Section]) -> str:
    """The summary tables. The table of families is never collapsed, since it is the main result."""
    open_ones = {"By family"}
    inner = "".join(
        "".join(section_parts(section, "h3"))
        if section.heading in open_ones
        else _section_html(section)
        for section in sections
    )
    return f'<section id="summary">\n<h2>Summary</h2>\n{inner}</section>\n'


def _tables_html(anchor: str, title: str, sections: Sequence[Section]) -> str:
    heading = f"<h2>{escape(title)}</h2>\n" if title else ""
    return f'<section id="{anchor}">\n{heading}{"".join(map(_section_html, sections))}</section>\n'


def _section_html(section: Section, kind: str = "") -> str:
    """A section; its table is collapsed if it is long."""
    if len(section.rows) <= _LONGEST_OPEN:
        return "".join(section_parts(section, "h3", kind))
    body = "".join(section_parts(replace(section, heading="")))
    return f"<details>\n<summary>{escape(section.heading)}</summary>\n{body}</details>\n"
