"""What the heading of a column says: a dimension, a time of a phase, a rate, an application, ...

The original's workbooks differ in their headings, and more so do those that others made after
them: a heading is taken apart into words, and the words decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

# Headings of dimensions: their letters and digits, without what stands in brackets and without the
# words of _FILLERS. Operations are tried in this order: what has sparsity is no plain product.
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
OPTIONAL = ("trans_a", "trans_b", "cell")  # n where there is no column; the cell of the title

_TIMES = {"time", "times", "latency", "results", "result"}
_UNITS = {
    **dict.fromkeys(("ms", "msec", "msecs", "millisecond", "milliseconds"), 1e6),
    **dict.fromkeys(("us", "usec", "usecs", "microsecond", "microseconds"), 1e3),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1e9),
    **dict.fromkeys(("ns", "nsec", "nanosecond", "nanoseconds"), 1.0),
}
_RATE = re.compile(r"(tera|t|giga|g)flops?$|^(tera|t|giga|g)(er)?ops?$")  # also 'sparseteraflops'
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
# Words of columns that hold no mean time of a call, or hold it in a unit that is not read.
_OTHER_TIMES = {"compile", "compilation", "setup", "warmup", "min", "minimum", "max", "maximum",
                "minutes", "hours", "cycles", "clocks", "ticks", "ps"}  # fmt: skip
_OTHER_BANDWIDTHS = {"mb", "mbs", "mbps", "kb", "kbs", "gbit", "gbits"}
_BYTES = {"byte", "bytes", "kb", "mb", "gb", "kib", "mib", "gib"}  # no dimension counts them
_OUTPUT_SIZES = {"p", "q"}  # of a conv; they follow from its dimensions
_BRACKETS = re.compile(r"\([^()]*\)")
_WORD = re.compile(r"[a-z0-9]+")
_PER_UNIT = re.compile(rf"(/|\bper\b)\s*({'|'.join(_UNITS)})\b")  # 'images/s' is no time
_MICRO = str.maketrans({"\N{MICRO SIGN}": "u", "\N{GREEK SMALL LETTER MU}": "u"})
_LONGEST_HEADING = 80
_MOST_WORDS = 6  # of a heading over others; a sentence is none
_OF_PHASES = ("conv", "rnn")
DEFAULT_UNIT = 1e6
BACKWARD_UNSPECIFIED = "backward"  # the phase of a column that does not say which gradient


@dataclass(frozen=True)
class ColumnMeaning:
    """What a column holds."""

    kind: str  # 'dimension', 'time', 'rate', 'output', or a key of _OTHERS
    name: str = ""  # of a dimension; of a time or rate: its phase, '' where it names none
    unit: float = 1.0  # a number of the column times this is in ns, TFLOPS, GB/s


def op_of(headings: Sequence[str]) -> str | None:
    """The operation whose dimensions these headings name, all of them; None if there is none."""
    found = set().union(*map(_names, headings))
    for op, names in DIMENSIONS.items():
        if all(found.intersection(said) for name, said in names.items() if name not in OPTIONAL):
            return op
    return None


def column_meaning(op: str, heading: str, above: str = "") -> ColumnMeaning | None:
    """What a column of an operation holds; `above` is the heading over this one, which may name
    the phase. None: nothing that is known."""
    names = _names(heading)
    for name, said in DIMENSIONS[op].items():
        if names.intersection(said):
            return ColumnMeaning("dimension", name)
    if op == "conv" and names & _OUTPUT_SIZES:
        return ColumnMeaning("output", heading)
    words, over = _words(heading), _words(above)
    over = over if len(over) <= _MOST_WORDS else ()
    found = _figure(op, words)
    if found and not found.name:
        return ColumnMeaning(found.kind, _phase(op, (*over, *words)), found.unit)
    found = found or _other(words)
    if found is None and (phase := _phase(op, words)):
        figure = _figure(op, (*over, *words)) or ColumnMeaning("time", "", DEFAULT_UNIT)
        return ColumnMeaning(figure.kind, phase, figure.unit)
    return found


@lru_cache(maxsize=1 << 12)
def _names(heading: str) -> frozenset[str]:
    """What a heading may be called by: 'W (input)' is W, '# chips / cards' chips or cards, '# of
    Titan X cards' cards."""
    if len(heading) > _LONGEST_HEADING or _BYTES.intersection(_words(heading)):
        return frozenset()
    bare = _BRACKETS.sub(" ", heading)
    said = [_words(text) for text in {heading, bare, *bare.split("/")}]
    if "#" in bare or "number" in bare.lower():
        said.append(_words(bare)[-1:])
    return frozenset("".join(word for word in words if word not in _FILLERS) for words in said)


@lru_cache(maxsize=1 << 14)
def _words(heading: str) -> tuple[str, ...]:
    text = _PER_UNIT.sub(" ", heading.lower().translate(_MICRO))
    return tuple(map(_spelled, _WORD.findall(text)))


def _figure(op: str, words: Sequence[str]) -> ColumnMeaning | None:
    """A time or a rate."""
    phase = _phase(op, words)
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


def _phase(op: str, words: Sequence[str]) -> str:
    said = set(words)
    if op in _OF_PHASES and ("total" in said or (said & _FORWARD and said & _BACKWARD)):
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
    return "bwd" if "both" in said else BACKWARD_UNSPECIFIED


def _other(words: Sequence[str]) -> ColumnMeaning | None:
    for kind, said in _OTHERS.items():
        if kind == "bandwidth" and _OTHER_BANDWIDTHS.intersection(words):
            continue
        if any(word in said for word in words):
            return ColumnMeaning(kind)
    return None


# ---- spelling ---------------------------------------------------------------------------------

# The original's headings have slips of the pen ('Fitler width', 'BWD PARMS'): a word that is one
# letter off one that is known is that one, if it is long enough.
_SHORTEST, _LONGEST = 5, 12
_SPELLED = {*_TIMES, *_UNITS, *_FORWARD, *_BACKWARD, *_OF_DATA, *_OF_WEIGHTS, "total", "dense",
            "transpose", "horizontal", "vertical", "stride", "output",
            *(name for names in DIMENSIONS.values() for one in names.values() for name in one),
            *(word for words in _OTHERS.values() for word in words)}  # fmt: skip


def _without_one(word: str) -> Iterator[str]:
    yield word
    for place in range(len(word)):
        yield word[:place] + word[place + 1 :]


_SLIPS = {slip: word for word in sorted(_SPELLED, reverse=True) if len(word) >= _SHORTEST
          for slip in _without_one(word)}  # fmt: skip


@lru_cache(maxsize=1 << 16)
def _spelled(word: str) -> str:
    if word in _SPELLED or not _SHORTEST <= len(word) <= _LONGEST:
        return word
    return next(filter(None, map(_SLIPS.get, _without_one(word))), word)
