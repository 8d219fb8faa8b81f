"""What the heading of a column says: a dimension, a time of a phase, a rate, an application, ...

The original's workbooks differ in their headings, and more so do those that others made after
them: a heading is taken apart into words, and the words decide.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# Headings of dimensions, without spaces and punctuation. Operations are tried in this order: what
# has sparsity is no plain product.
_MATRICES = {
    "m": ("m",),
    "n": ("n",),
    "k": ("k",),
    "trans_a": ("atranspose", "at", "atrans", "transa", "transposea"),
    "trans_b": ("btranspose", "bt", "btrans", "transb", "transposeb"),
}
DIMENSIONS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "sparse_gemm": {**_MATRICES, "sparsity": ("sparsity",)},
    "gemm": _MATRICES,
    "conv": {
        "w": ("w", "width", "inputw", "inputwidth", "imagewidth"),
        "h": ("h", "height", "inputh", "inputheight", "imageheight"),
        "c": ("c", "channels", "inputchannels", "inchannels"),
        "n": ("n", "batch", "batchsize", "minibatch"),
        "k": ("k", "filters", "offilters", "numberoffilters", "outputchannels"),
        "s": ("s", "fw", "filterw", "filterwidth", "kernelw", "kernelwidth"),
        "r": ("r", "fh", "filterh", "filterheight", "kernelh", "kernelheight"),
        "pad_w": ("padw", "paddingw", "wpad", "padwidth", "paddingwidth", "horizontalpadding"),
        "pad_h": ("padh", "paddingh", "hpad", "padheight", "paddingheight", "verticalpadding"),
        "stride_w": ("stridew", "wstride", "stridewidth", "horizontalstride"),
        "stride_h": ("strideh", "hstride", "strideheight", "verticalstride"),
    },
    "rnn": {
        "hidden": ("hidden", "hiddenunits", "hiddensize", "hiddenlayersize", "hiddenlayer"),
        "batch": ("batch", "batchsize", "n", "minibatch", "minibatchsize"),
        "timesteps": ("timesteps", "t", "timestep", "sequencelength"),
        "cell": ("cell", "recurrenttype", "type", "rnntype", "celltype", "layertype", "kernel"),
    },
    "all_reduce": {
        "elements": ("elements", "floats", "offloats", "sizeoffloats", "size", "numberoffloats"),
        "ranks": ("ranks", "numranks", "numberofranks", "processors", "ofprocessors",
                  "numberofprocessors", "gpus", "ofgpus", "numberofgpus", "nodes",
                  "ofnodes", "numberofnodes", "devices"),
    },
}  # fmt: skip
OPTIONAL = ("trans_a", "trans_b")  # n where there is no column

_TIMES = {"time", "times", "latency", "results", "result"}
_UNITS = {
    **dict.fromkeys(("ms", "msec", "msecs", "millisecond", "milliseconds"), 1e6),
    **dict.fromkeys(("us", "usec", "usecs", "microsecond", "microseconds"), 1e3),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1e9),
    **dict.fromkeys(("ns", "nsec", "nanosecond", "nanoseconds"), 1.0),
}
_RATES = {
    **dict.fromkeys(("tflops", "tflop", "teraflops", "teraflop", "tops", "terops"), 1.0),
    **dict.fromkeys(("gflops", "gflop", "gigaflops", "gigaflop", "gops", "gigaops"), 1e-3),
}
_FORWARD = {"fwd", "forward"}
_BACKWARD = {"bwd", "backward", "back", "gradient"}
_OF_DATA = {"input", "inputs", "data", "image", "images"}
_OF_WEIGHTS = {"weight", "weights", "filter", "filters", "param", "params", "parameter",
               "parameters"}  # fmt: skip
_OTHERS = {
    "application": ("application", "applications"),
    "algorithm": ("algo", "algorithm", "algorithms", "implementation", "library"),
    "precision": ("precision",),
    "padded": ("padded", "padding", "pad"),
    "speedup": ("speedup",),
    "bandwidth": ("bandwidth", "gb"),
    "stddev": ("stddev", "stdev", "std", "deviation"),
    "notes": ("notes", "note", "comment", "comments", "remarks"),
}
_OUTPUT_SIZES = {"p": "p", "q": "q"}  # of a conv
DEFAULT_UNIT = 1e6
BACKWARD_ALONE = "backward"  # the phase of a column that does not say which gradient


@dataclass(frozen=True)
class Meaning:
    """What a column holds."""

    kind: str  # 'dimension', 'time', 'rate', 'output', or a key of _OTHERS
    name: str = ""  # of a dimension; of a time or rate: its phase, '' where it names none
    unit: float = 1.0  # a number of the column times this is in ns, TFLOPS, GB/s


def op_of(headings: Sequence[str]) -> str | None:
    """The operation whose dimensions these headings name, all of them; None if there is none."""
    found = {squeezed(heading) for heading in headings}
    for op, names in DIMENSIONS.items():
        if all(found.intersection(said) for name, said in names.items() if name not in OPTIONAL):
            return op
    return None


def meaning(op: str, heading: str, above: str = "") -> Meaning | None:
    """What a column of an operation holds; `above` is the heading over this one, which may name
    the phase. None: nothing that is known."""
    plain = squeezed(heading)
    for name, said in DIMENSIONS[op].items():
        if plain in said:
            return Meaning("dimension", name)
    if op == "conv" and plain in _OUTPUT_SIZES:
        return Meaning("output", _OUTPUT_SIZES[plain])
    words = _words(heading)
    found = _figure(op, words)
    if found and not found.name:
        return Meaning(found.kind, _phase(op, _words(above)), found.unit)
    found = found or _other(words)
    if found is None and _phase(op, words):
        found = _figure(op, [*_words(above), *words])
    return found


def squeezed(heading: str) -> str:
    """A heading's letters and digits."""
    return "".join(_words(heading))


def _words(heading: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", heading.lower())


def _figure(op: str, words: Sequence[str]) -> Meaning | None:
    """A time or a rate."""
    phase = _phase(op, words)
    rate = next((_RATES[word] for word in words if word in _RATES), None)
    if rate is not None:
        return Meaning("rate", phase, rate)
    if any(word in _OTHERS["speedup"] + _OTHERS["bandwidth"] for word in words):
        return None
    unit = next((_UNITS[word] for word in words if word in _UNITS), None)
    if any(word in _OTHERS["stddev"] for word in words):
        return Meaning("stddev", "", unit or DEFAULT_UNIT)
    if unit is not None or _TIMES.intersection(words):
        return Meaning("time", phase, unit or DEFAULT_UNIT)
    return None


def _phase(op: str, words: Sequence[str]) -> str:
    said = set(words)
    if "total" in said:
        return "total"
    if op == "sparse_gemm":
        return "dense" if "dense" in said else ""
    if said & _FORWARD:
        return "fwd"
    if not said & _BACKWARD:
        return ""
    if said & _OF_WEIGHTS:
        return "bwd_filter" if op == "conv" else "bwd_weights"
    if said & _OF_DATA:
        return "bwd_data"
    return "bwd" if "both" in said else BACKWARD_ALONE


def _other(words: Sequence[str]) -> Meaning | None:
    for kind, said in _OTHERS.items():
        if any(word in said for word in words):
            return Meaning(kind)
    return None
