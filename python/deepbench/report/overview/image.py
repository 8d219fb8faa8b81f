"""One chart as an image, for a paper: the specification of the page, with its rows in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from deepbench.compare.sides import plain
from deepbench.report import FormatError
from deepbench.report.fields import get

from . import vega
from .ceilings import point
from .charts import Spec, chart
from .content import Content
from .pairs import Pair
from .roof import lines
from .runs import Shown, all_rows, regimes

_WIDTH = 860
_COLOURS: tuple[Callable[[Shown], str | None], ...] = (
    lambda shown: shown.entry.op,
    lambda shown: None if (name := shown.entry.attributes.get("precision")) is None else str(name),
    lambda shown: shown.entry.library,
    lambda shown: shown.regime,
)
_NONE = "none"

Value = dict[str, Any]


def render_image(content: Content, kind: str, name: str, row: int | None) -> bytes:
    """The chart as one of IMAGES. Raises FormatError where the files have nothing for it."""
    if name not in content.charts:
        there = " ".join(content.charts)
        raise FormatError(
            f"there is nothing for a chart {name} here; there is for {there}"
            if there not in ("", "distribution")
            else "no row is ok: there is nothing for a chart"
        )
    spec = chart(name, content.axes, _WIDTH)
    spec["background"] = "#ffffff"
    spec["padding"] = 14
    if name == "distribution":
        _distribution(spec, _chosen(content, row))
    else:
        spec["title"] = {"text": content.title, "subtitle": content.about}
        spec["datasets"] = _datasets(content, name)
        _order_shapes(spec, regimes(all_rows(content.files)))
    return {"png": vega.png, "svg": vega.svg, "pdf": vega.pdf}[kind](spec)


def _order_shapes(spec: Spec, names: Sequence[str]) -> None:
    """A regime has the shape that it has in the page."""
    plotted = {value["regime"] for value in spec["datasets"]["rows"]}
    for layer in spec["layer"]:
        shape = layer["encoding"].get("shape") if "encoding" in layer else None
        if shape:
            shape["scale"] = {"domain": list(names)}
            shape["legend"]["values"] = [name for name in names if name in plotted]


def _datasets(content: Content, name: str) -> dict[str, list[Value]]:
    room = content.axes
    return {
        "rows": _rows(content, name),
        "chosen": [],
        "ceilings": list(lines(content.ceilings, room)) if room and name == "roofline" else [],
        "limits": list(content.limits) if name == "caches" else [],
    }


def _rows(content: Content, name: str) -> list[Value]:
    if name in ("roofline", "bandwidth"):
        places = [
            (shown, place)
            for shown in all_rows(content.files)
            if (place := point(shown) if name == "roofline" else _moved(shown))
        ]
        colour = _telling(shown for shown, _ in places)
        return [{"x": x, "y": y, **_marking(shown, colour)} for shown, (x, y) in places]
    pairs = list(_pairs(content, name))
    colour = _telling(pair.shown for pair, _ in pairs)
    several = len({side for _, side in pairs}) > 1  # others, told apart before anything else
    return [
        {
            "x": pair.shown.entry.bytes if name == "caches" else pair.time_ns / 1e3,
            "y": pair.ratio.value,
            "low": pair.ratio.low,
            "high": pair.ratio.high,
            "doubt": bool(pair.doubt),
            **_marking(pair.shown, colour),
            **({"colour": side} if several else {}),
        }
        for pair, side in pairs
    ]


def _pairs(content: Content, name: str) -> Iterator[tuple[Pair, str]]:
    """Those of a chart, each with whose rows it is held against, where these are others'."""
    if name == "against":
        yield from ((pair, plain(one.side.name)) for one in content.against for pair in one.pairs)
        return
    for pair in content.algorithms if name == "algorithms" else content.caches:
        if name == "algorithms" or pair.shown.entry.bytes:
            yield pair, ""


def _moved(shown: Shown) -> tuple[float, float] | None:
    """Bytes and GB/s of a row without FLOPs."""
    size, gbps = shown.entry.bytes, shown.gbps
    return (size, gbps) if size and gbps and not shown.entry.flops else None


def _telling(rows: Iterable[Shown]) -> Callable[[Shown], str | None]:
    """The first property in which the rows differ."""
    every = list(rows)
    return next((of for of in _COLOURS if len({of(shown) for shown in every}) > 1), _COLOURS[0])


def _marking(shown: Shown, colour: Callable[[Shown], str | None]) -> Value:
    return {"colour": colour(shown) or _NONE, "regime": shown.regime}


# ---- the samples of a row ----------------------------------------------------------------------


def _chosen(content: Content, position: int | None) -> Shown:
    """The row at a position of the first file; without one the first that has samples."""
    rows = content.files[0].rows
    found = next(
        (
            shown
            for shown in rows
            if shown.row.get("samples_ns") and position in (None, shown.entry.position)
        ),
        None,
    )
    if found is None:
        where = "has no samples"
        if position is not None:
            where = f"has no row {position} with samples (the first is 0)"
        raise FormatError(f"{content.files[0].name}: {where}")
    return found


def _distribution(spec: Spec, shown: Shown) -> None:
    samples = shown.row.get("samples_ns") or ()
    ends = [get(shown.row, f"statistics.{name}_ns") for name in ("low", "high")]
    median = get(shown.row, "statistics.median_ns")
    marks = [{"y": ns / 1e3, "main": False} for ns in ends if ns is not None]
    if median is not None:
        marks.append({"y": median / 1e3, "main": True, "label": "median"})
    spec["title"] = {
        "text": shown.entry.problem,
        "subtitle": f"{shown.entry.device}, {shown.entry.library}: {shown.regime}",
    }
    spec["datasets"] = {
        "samples": [{"x": index + 1, "y": ns / 1e3} for index, ns in enumerate(samples)],
        "marks": marks,
    }
