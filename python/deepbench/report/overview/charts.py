"""The charts as Vega-Lite specifications: charts/*.json, and what depends on the report put in.
Rows come in as named data sets later: in the page from its scripts, in an image from image.py."""

from __future__ import annotations

import copy
import json
import math
from functools import cache
from pathlib import Path
from typing import Any

from .ceilings import Axes

_FOLDER = Path(__file__).with_name("charts")
HEIGHT = 460  # pixels of a roofline's plot

Spec = dict[str, Any]

# What the axes of the three charts of ratios mean.
_RATIOS = {
    "algorithms": ("time of a call (µs)", "default time / time"),
    "caches": ("bytes of a call's operands", "cold time / hot time"),
    "against": ("our time of a call (µs)", "their time / our time"),
}
NAMES = ("roofline", "bandwidth", "distribution", *_RATIOS)


def chart(name: str, room: Axes | None = None, width: int = 900) -> Spec:
    """The chart called `name`, one of NAMES; a roofline needs its axes."""
    spec = _read("ratio" if name in _RATIOS else name)
    spec["config"] = _read("theme")
    if name in _RATIOS:
        _title_axes(spec, *_RATIOS[name])
    if name == "caches":
        spec["encoding"]["x"]["axis"]["format"] = "~s"
    if name == "roofline" and room is not None:
        _fit(spec, room)
    if name != "distribution":
        spec["width"] = width
        spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    return spec


def _title_axes(spec: Spec, x: str, y: str) -> None:
    spec["encoding"]["x"]["title"] = x
    spec["encoding"]["y"]["title"] = y


def _fit(spec: Spec, room: Axes) -> None:
    """Fixed axes, which filters do not move, and labels along the lines of constant bandwidth."""
    for name, ends in (("x", room.x), ("y", room.y)):
        spec["encoding"][name]["scale"]["domain"] = list(ends)
    decades = [math.log10(ends[1] / ends[0]) for ends in (room.y, room.x)]
    tilt = f"-180 / PI * atan2(height / {decades[0]:.6g}, width / {decades[1]:.6g})"
    spec["params"][0]["expr"] = tilt
    spec["height"] = HEIGHT


def _read(name: str) -> Spec:
    return copy.deepcopy(_parsed(name))


@cache
def _parsed(name: str) -> Spec:
    spec: Spec = json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return spec
