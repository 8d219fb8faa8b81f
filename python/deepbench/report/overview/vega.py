"""Vega, which draws the charts: its scripts for a page, and images without a browser. vl-convert,
an extra of the package, provides both."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Iterator, Mapping
from functools import cache
from types import ModuleType
from typing import Any

from deepbench.errors import Terminated, printable_line
from deepbench.installation import install_command
from deepbench.report import FormatError

from .disk_cache import cached_text

Spec = dict[str, Any]

# The bundles of vl-convert 1.9 export only Vega-Embed under its name, not Vega.
_EXPOSED = "window.drawChart = vegaEmbed;"
_RING = "ring"  # the style of the mark around the selected row
_V8_ADDRESS_SPACE = 66 << 30  # bytes; vl-convert 1.9 reserves 64.4 GiB
_OPEN_FILES = 16  # with fewer, threads of vl-convert 1.9 panic and print lines of their own
_LONGEST_REASON = 300  # characters; errors of scripts end with a stack of calls
_CHARACTER_OF_TWO_HALVES = re.compile("[\U00010000-\U0010ffff]")
_SCALE = 2.5  # pixels of an image per pixel of the page


@cache
def vega_script() -> str:
    """Vega as a script, escaped so that it neither ends its script element nor opens a comment."""
    converter = _import_converter()
    key = f"Vega's scripts by vl-convert {converter.__version__}: {_EXPOSED}"
    script = cached_text(key, lambda: str(_convert("javascript_bundle", _EXPOSED)))
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def compile_to_vega(spec: Spec) -> Spec:
    """A Vega-Lite chart compiled to Vega. Its config holds all colors."""
    vega: Spec = _convert("vegalite_to_vega", spec)
    styles: Mapping[str, Spec] = vega.get("config", {}).get("style", {})
    for mark in _parts_in(vega, "marks"):
        _remove_colors_that_style_sets(mark, styles)
        if _RING in mark.get("style", []):
            mark["interactive"] = False  # the pointer must reach the point inside
    for legend in _parts_in(vega, "legends"):
        _remove_colors_that_theme_sets(legend)
    _move_titles_into_signals(vega)
    return vega


def compiled_theme(config: Spec) -> Spec:
    """A Vega-Lite config compiled to Vega."""
    chart = compile_to_vega({"data": {"values": []}, "mark": "point", "config": config})
    theme: Spec = chart.get("config", {})
    return theme


def _parts_in(group: Spec, kind: str) -> Iterator[Spec]:
    """The marks, axes or legends of a group and of the groups in it."""
    yield from group.get(kind, [])
    for mark in group.get("marks", []):
        yield from _parts_in(mark, kind)


def _move_titles_into_signals(vega: Spec) -> None:
    """Makes the titles of the chart and of its axes the values of signals. Vega parses a title as a
    literal of an expression, and takes a literal such as 'constructor' or 'if' for a name; the
    value of a signal is not parsed. The signal of an axis is called after its scale: x_title."""
    named = [(axis, "title", f"{axis['scale']}_title") for axis in _parts_in(vega, "axes")]
    named += [(vega.get("title", {}), part, f"chart_{part}") for part in ("text", "subtitle")]
    for holder, part, name in named:
        if holder.get(part) is not None:
            vega.setdefault("signals", []).append({"name": name, "value": holder[part]})
            holder[part] = {"signal": name}


def _remove_colors_that_style_sets(mark: Spec, styles: Mapping[str, Spec]) -> None:
    """Removes the default colors that Vega-Lite writes into marks, so that the config's styles
    apply."""
    style = mark.get("style", [])
    names = [style] if isinstance(style, str) else style
    drawn = mark.get("encode", {}).get("update", {})
    for channel in ("fill", "stroke"):
        styled = any(channel in styles.get(name, {}) for name in names)
        if styled and "value" in drawn.get(channel, {}):
            del drawn[channel]


def _remove_colors_that_theme_sets(legend: Spec) -> None:
    """Removes colors from the symbols of shape legends, so that the theme's color applies."""
    drawn = legend.get("encode", {}).get("symbols", {}).get("update", {})
    for channel in ("fill", "stroke"):
        if drawn.get(channel, {}).get("value") not in (None, "transparent"):
            del drawn[channel]


def with_fixed_legends(spec: Spec) -> Spec:
    """Binds the domains of colors and shapes to signals, so that filters do not change them. The
    signals whose names end in `_here` hold the entries that a legend shows."""
    signals = {"color": "colors", "shape": "regimes"}
    for scale in spec.get("scales", []):
        if scale["name"] in signals:
            scale["domain"] = {"signal": signals[scale["name"]]}
    for legend in spec.get("legends", []):
        used = next(name for key, name in signals.items() if key in legend.values())
        legend["values"] = {"signal": f"{used}_here"}
    made = [name + end for name in signals.values() for end in ("", "_here")]
    spec.setdefault("signals", []).extend({"name": name, "value": []} for name in made)
    return spec


def png(spec: Spec) -> bytes:
    """A Vega-Lite chart with its data, as an image with print resolution."""
    image: bytes = _convert("vega_to_png", _drawable(spec), scale=_SCALE)
    return image


def svg(spec: Spec) -> bytes:
    image: str = _convert("vega_to_svg", _drawable(spec))
    return image.encode()


def pdf(spec: Spec) -> bytes:
    """One page of the chart's size with selectable text."""
    document: bytes = _convert("vega_to_pdf", _drawable(spec))
    return document


def _drawable(spec: Spec) -> str:
    """The compiled chart as JSON. Vega may cut a long label between the two halves by which
    JavaScript represents a character such as an emoji, and vl-convert fails at half a character:
    their numbers stand for such characters."""
    text = json.dumps(compile_to_vega(spec), ensure_ascii=False)
    return _CHARACTER_OF_TWO_HALVES.sub(lambda found: f"<U+{ord(found[0]):X}>", text)


def _convert(function: str, *arguments: object, **options: object) -> Any:
    """Calls a function of vl-convert. Raises FormatError where it fails, as under limits of open
    files and of processes: a panic of its Rust code is a BaseException of a class of its own."""
    converter = _import_converter()
    try:
        return getattr(converter, function)(*arguments, **options)
    except (KeyboardInterrupt, Terminated, MemoryError):
        raise
    except BaseException as error:
        why = printable_line(str(error))[:_LONGEST_REASON] or type(error).__name__
        raise FormatError(
            f"vl-convert cannot draw the charts ({why}); if 'ulimit -n' or 'ulimit -u' is low, "
            "raise it, or give '--format markdown'"
        ) from None


def _import_converter() -> ModuleType:
    require_resources()
    try:
        import vl_convert
    except ImportError as error:
        raise FormatError(
            f"charts need vl-convert ({error}): {install_command('report')}, or '--format markdown'"
        ) from None
    return vl_convert


@cache
def require_resources() -> None:
    """Raises FormatError where V8, which vl-convert contains, would abort the process."""
    _require_address_space()
    _require_threads()
    _require_open_files()


def _require_address_space() -> None:
    """V8 reserves this much address space, without memory behind it."""
    import mmap

    reserved_only = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, "prot": 0}
    try:
        mmap.mmap(-1, _V8_ADDRESS_SPACE, **reserved_only).close()
    except (OSError, OverflowError, ValueError):
        raise FormatError(
            f"charts need {_V8_ADDRESS_SPACE >> 30} GiB of address space, more than this process "
            "may have: 'ulimit -v unlimited', or '--format markdown'"
        ) from None


def _require_open_files() -> None:
    """Opens as many files as vl-convert, whose threads print a panic where they cannot."""
    opened: list[int] = []
    try:
        while len(opened) < _OPEN_FILES:
            opened += os.pipe()
    except OSError:
        raise FormatError(
            f"charts need {_OPEN_FILES} open files, more than this process may have: raise "
            "'ulimit -n', or give '--format markdown'"
        ) from None
    finally:
        for file in opened:
            os.close(file)


def _require_threads() -> None:
    """Starts and ends as many threads as vl-convert 1.9 has: one of its own, and up to one of Tokio
    and one of V8 for each processor. One more belongs to the page."""
    affinity = getattr(os, "sched_getaffinity", None)
    processors = len(affinity(0)) if affinity else os.cpu_count() or 1
    count = 2 * processors + 2
    end = threading.Event()
    threads = [threading.Thread(target=end.wait) for _ in range(count)]
    started = []
    try:
        for thread in threads:
            thread.start()
            started.append(thread)
    except RuntimeError:
        raise FormatError(
            f"charts need {count} threads, more than this process may start: raise 'ulimit -u', or "
            "give '--format markdown'"
        ) from None
    finally:
        end.set()
        for thread in started:
            thread.join()
