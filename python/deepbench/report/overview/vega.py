"""Vega, which draws: its scripts for a page, and images without a browser. Both come from
vl-convert, an extra of the package."""

from __future__ import annotations

import json
from functools import cache
from types import ModuleType
from typing import Any

from deepbench.report import FormatError

from .kept import kept

Spec = dict[str, Any]

# Vega's own name is bound to nothing in the bundles of vl-convert 1.9; Vega-Embed's is in all.
_EXPOSED = "window.drawChart = vegaEmbed;"
_SCALE = 2.5  # pixels of an image for one of the page


@cache
def runtime() -> str:
    """Vega as a script. It ends no script element and opens no comment."""
    converter = _converter()
    key = f"Vega's scripts by vl-convert {converter.__version__}: {_EXPOSED}"
    script = kept(key, lambda: str(converter.javascript_bundle(_EXPOSED)))
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def compiled(spec: Spec) -> Spec:
    """A Vega-Lite chart as Vega."""
    vega: Spec = _converter().vegalite_to_vega(spec)
    return vega


def with_fixed_legends(spec: Spec) -> Spec:
    """Colours and shapes by what signals hold instead of what is plotted, so that a filter moves
    neither; legends name those that the signals with `_here` hold."""
    signals = {"color": "colours", "shape": "regimes"}
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
    """A Vega-Lite chart with its data as an image for print."""
    image: bytes = _converter().vegalite_to_png(json.dumps(spec), scale=_SCALE)
    return image


def svg(spec: Spec) -> bytes:
    image: str = _converter().vegalite_to_svg(json.dumps(spec))
    return image.encode()


def pdf(spec: Spec) -> bytes:
    """One page of the chart's size, its text as text."""
    document: bytes = _converter().vegalite_to_pdf(json.dumps(spec))
    return document


def _converter() -> ModuleType:
    try:
        import vl_convert
    except ImportError as error:
        raise FormatError(
            f"charts need vl-convert ({error}): pip install 'deepbench[report]', or '--format "
            "markdown'"
        ) from None
    return vl_convert
