"""The meaning of a column's heading: a dimension, the time of a phase, a rate, an application, ...

Headings differ between the original's workbooks, and even more in workbooks derived from them. So a
heading is split into words, and the words determine the meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

# Headings of dimensions, reduced to letters and digits, without parts in brackets and without
# _FILLERS. Operations are tried in this order: sparse_gemm comes first since it has all dimensions
# of gemm.
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
        "k": ("k", "filters", "outputchannels"),
        "s": ("s", "fw", "filterw", "filterwidth", "kernelw", "kernelwidth"),
        "r": ("r", "fh", "filterh", "filterheight", "kernelh", "kernelheight"),
        "pad_w": ("padw", "paddingw", "wpad", "padwidth", "paddingwidth", "horizontalpad",
                  "horizontalpadding"),
        "pad_h": ("padh", "paddingh", "hpad", "padheight", "paddingheight", "verticalpad",
                  "verticalpadding"),
        "stride_w": ("stridew", "wstride", "stridewidth", "horizontalstride",
                     "stridehorizontal"),
        "stride_h": ("strideh", "hstride", "strideheight", "verticalstride", "stridevertical"),
    },
    "rnn": {
        "hidden": ("hidden", "hiddenunits", "hiddensize", "hiddenlayersize", "hiddenlayer", "h",
                   "input", "inputsize"),
        "batch": ("batch", "batchsize", "n", "minibatch", "minibatchsize"),
        "timesteps": ("timesteps", "t", "timestep", "sequencelength"),
        "cell": ("cell", "recurrenttype", "type", "rnntype", "celltype", "layertype", "kernel"),
    },
    "all_reduce": {
        "elements": ("elements", "floats", "sizefloats", "size", "messagesize"),
        "ranks": ("ranks", "processors", "processes", "gpus", "nodes", "devices", "chips", "cards",
                  "acceleratorcards", "accelerators", "servers"),
    },
}  # fmt: skip
_FILLERS = {"of", "number", "num", "no", "the"}
# Without a column, trans_a and trans_b are n, and the title names the cell.
OPTIONAL = ("trans_a", "trans_b", "cell")

_TIMES = {"time", "times", "latency", "results", "result"}
_UNITS = {
    **dict.fromkeys(("ms", "msec", "msecs", "millisecond", "milliseconds"), 1e6),
    **dict.fromkeys(("us", "usec", "usecs", "microsecond", "microseconds"), 1e3),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1e9),
    **dict.fromkeys(("ns", "nsec", "nanosecond", "nanoseconds"), 1.0),
}
# Also matches 'sparseteraflops'.
_RATE = re.compile(r"(tera|t|giga|g)flops?$|^(tera|t|giga|g)(er)?ops?$")
_RATE_UNITS = {"t": 1.0, "g": 1e-3}
_FORWARD = {"fwd", "forward"}
_BACKWARD = {"bwd", "backward", "back", "gradient", "wrt"}
_OF_DATA = {"input", "inputs", "data", "image", "images"}
_OF_WEIGHTS = {"weight", "weights", "filter", "filters", "param", "params", "parameter",
               "parameters"}  # fmt: skip
_OTHERS = {
    "application": ("application", "applications", "source"),
    "algorithm": ("algo", "algorithm", "algorithms", "implementation", "library"),
    "precision": ("precision",),
    "padded": ("padded", "padding", "pad"),
    "speedup": ("speedup",),
    "bandwidth": ("bandwidth", "gb", "gbs", "gbps", "gigabytes"),
    "stddev": ("stddev", "stdev", "std", "deviation"),
    "notes": ("notes", "note", "comment", "comments", "remarks"),
}
# Words of columns that do not hold the mean time of a call, or hold it in an unsupported unit.
_OTHER_TIMES = {"compile", "compilation", "setup", "warmup", "min", "minimum", "max", "maximum",
                "minutes", "hours", "cycles", "clocks", "ticks", "ps"}  # fmt: skip
_OTHER_BANDWIDTHS = {"mb", "mbs", "mbps", "kb", "kbs", "gbit", "gbits"}
# Units of columns that are never dimensions.
_BYTES = {"byte", "bytes", "kb", "mb", "gb", "kib", "mib", "gib"}
_OUTPUT_SIZES = {"p", "q"}  # output dimensions of conv, which its other dimensions imply
_BRACKETS = re.compile(r"\([^()]*\)")
_WORD = re.compile(r"[a-z0-9]+")
_PER_UNIT = re.compile(rf"(/|\bper\b)\s*({'|'.join(_UNITS)})\b")  # 'images/s' is not a time
_MICRO = str.maketrans({"\N{MICRO SIGN}": "u", "\N{GREEK SMALL LETTER MU}": "u"})
_LONGEST_HEADING = 80
_MAX_WORDS = 6  # in a heading above others; a longer text is a sentence
_OF_PHASES = ("conv", "rnn")
DEFAULT_UNIT = 1e6
BACKWARD_UNSPECIFIED = "backward"  # the phase if a column does not specify the gradient


@dataclass(frozen=True)
class ColumnMeaning:
    """The meaning of a column."""

    kind: str  # 'dimension', 'time', 'rate', 'output', or a key of _OTHERS
    name: str = ""  # the dimension; for a time or rate its phase, '' if there is none
    unit: float = 1.0  # factor from the column's numbers to ns, TFLOPS or GB/s


def operation_of_headings(headings: Sequence[str]) -> str | None:
    """The operation all of whose dimensions these headings name; None if there is none."""
    found = set().union(*map(_dimension_names, headings))
    for op, names in DIMENSIONS.items():
        if all(
            found.intersection(spellings)
            for name, spellings in names.items()
            if name not in OPTIONAL
        ):
            return op
    return None


def column_meaning(op: str, heading: str, above: str = "") -> ColumnMeaning | None:
    """The meaning of a column of an operation; None if it is unknown. `above` is the heading above
    this one, which may name the phase."""
    names = _dimension_names(heading)
    for name, spellings in DIMENSIONS[op].items():
        if names.intersection(spellings):
            return ColumnMeaning("dimension", name)
    if op == "conv" and names & _OUTPUT_SIZES:
        return ColumnMeaning("output", heading)
    words, over = _heading_words(heading), _heading_words(above)
    over = over if len(over) <= _MAX_WORDS else ()
    found = _time_or_rate_meaning(op, words)
    if found and not found.name:
        return ColumnMeaning(found.kind, _phase_of_heading(op, (*over, *words)), found.unit)
    found = found or _other_meaning(words)
    if found is None and (phase := _phase_of_heading(op, words)):
        figure = _time_or_rate_meaning(op, (*over, *words)) or ColumnMeaning(
            "time", "", DEFAULT_UNIT
        )
        return ColumnMeaning(figure.kind, phase, figure.unit)
    return found


@lru_cache(maxsize=1 << 12)
def _dimension_names(heading: str) -> frozenset[str]:
    """The names that a heading can stand for: 'W (input)' is W, '# chips / cards' is chips or
    cards, '# of Titan X cards' is cards."""
    if len(heading) > _LONGEST_HEADING or _BYTES.intersection(_heading_words(heading)):
        return frozenset()
    bare = _BRACKETS.sub(" ", heading)
    candidates = [_heading_words(text) for text in {heading, bare, *bare.split("/")}]
    if "#" in bare or "number" in bare.lower():
        candidates.append(_heading_words(bare)[-1:])
    return frozenset(
        "".join(word for word in words if word not in _FILLERS) for words in candidates
    )


@lru_cache(maxsize=1 << 14)
def _heading_words(heading: str) -> tuple[str, ...]:
    text = _PER_UNIT.sub(" ", heading.lower().translate(_MICRO))
    return tuple(map(_corrected_spelling, _WORD.findall(text)))


def _time_or_rate_meaning(op: str, words: Sequence[str]) -> ColumnMeaning | None:
    """The meaning of a heading for a time or a rate."""
    phase = _phase_of_heading(op, words)
    if any(word in _OTHERS["speedup"] + _OTHERS["bandwidth"] for word in words):
        return None
    for word in words:
        if rate := _RATE.search(word):
            return ColumnMeaning("rate", phase, _RATE_UNITS[(rate[1] or rate[2])[0]])
    if _OTHER_TIMES.intersection(words):
        return None
    unit = next((_UNITS[word] for word in words if word in _UNITS), None)
    if any(word in _OTHERS["stddev"] for word in words):
        return ColumnMeaning("stddev", "", unit or DEFAULT_UNIT)
    if unit is not None or _TIMES.intersection(words):
        return ColumnMeaning("time", phase, unit or DEFAULT_UNIT)
    return None


def _phase_of_heading(op: str, words: Sequence[str]) -> str:
    distinct = set(words)
    if op in _OF_PHASES and ("total" in distinct or (distinct & _FORWARD and distinct & _BACKWARD)):
        return "total"
    if op == "sparse_gemm":
        return "dense" if "dense" in distinct else ""
    if distinct & _FORWARD:
        return "fwd"
    if not distinct & _BACKWARD:
        return ""
    if distinct & _OF_WEIGHTS:
        return "bwd_filter" if op == "conv" else "bwd_weights"
    if distinct & _OF_DATA:
        return "bwd_data"
    return "bwd" if "both" in distinct else BACKWARD_UNSPECIFIED


def _other_meaning(words: Sequence[str]) -> ColumnMeaning | None:
    for kind, spellings in _OTHERS.items():
        if kind == "bandwidth" and _OTHER_BANDWIDTHS.intersection(words):
            continue
        if any(word in spellings for word in words):
            return ColumnMeaning(kind)
    return None


# ---- spelling ----------------------------------------------------------------------------------

# The original's headings contain spelling mistakes ('Fitler width', 'BWD PARMS'). A word that
# becomes equal to a known word when each of them loses at most one letter counts as that word, if
# it is long enough.
_SHORTEST, _LONGEST = 5, 12
_SPELLED = {*_TIMES, *_UNITS, *_FORWARD, *_BACKWARD, *_OF_DATA, *_OF_WEIGHTS, "total", "dense",
            "transpose", "horizontal", "vertical", "stride", "output",
            *(name for names in DIMENSIONS.values() for one in names.values() for name in one),
            *(word for words in _OTHERS.values() for word in words)}  # fmt: skip


def _with_one_letter_removed(word: str) -> Iterator[str]:
    yield word
    for i in range(len(word)):
        yield word[:i] + word[i + 1 :]


_SLIPS = {slip: word for word in sorted(_SPELLED, reverse=True) if len(word) >= _SHORTEST
          for slip in _with_one_letter_removed(word)}  # fmt: skip


@lru_cache(maxsize=1 << 16)
def _corrected_spelling(word: str) -> str:
    if word in _SPELLED or not _SHORTEST <= len(word) <= _LONGEST:
        return word
    return next(filter(None, map(_SLIPS.get, _with_one_letter_removed(word))), word)
