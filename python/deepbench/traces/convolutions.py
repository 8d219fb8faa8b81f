"""Convolutions of traces as deepbench's problems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deepbench.traces.errors import CallError

_DEFAULTS = {"pad": 0, "stride": 1, "dilation": 1}


@dataclass(frozen=True)
class Convolution:
    """A convolution. Sequences have a value per spatial dimension, the width last."""

    batch: int
    channels: int
    filters: int  # channels of the output
    groups: int
    size: Sequence[int]  # of the input
    filter: Sequence[int]
    pad: Sequence[int]
    stride: Sequence[int]
    dilation: Sequence[int]
    layout: str | None  # of the activations; None: the library's own, or unknown

    def words(self, phase: str, types: str) -> str:
        """The problem. `types` are the words of its precision. Raises CallError."""
        lists = (self.size, self.filter, self.pad, self.stride, self.dilation)
        if not 1 <= len(self.size) <= 3 or any(len(one) != len(self.size) for one in lists):
            raise CallError("its dimensions contradict one another")
        names = ("w", "h", "d")[: len(self.size)]
        size, filters, *others = (dict(zip(names, reversed(one), strict=True)) for one in lists)
        if "h" not in size:
            size["h"] = filters["h"] = 1
        words = {name: size[name] for name in ("w", "h")}
        words |= {"c": self.channels, "n": self.batch, "k": self.filters}
        words |= {"s": filters["w"], "r": filters["h"]}
        if "d" in size:
            words |= {"d": size["d"], "t": filters["d"]}
        for (key, default), values in zip(_DEFAULTS.items(), others, strict=True):
            words |= {f"{key}_{name}": one for name, one in values.items() if one != default}
        words |= {"groups": self.groups} if self.groups != 1 else {}
        texts = [f"{key}={value}" for key, value in words.items()]
        texts += [f"phase={phase}", *([f"layout={self.layout}"] if self.layout else [])]
        return " ".join(["conv", *texts, types])


def output_size(size: int, filter: int, pad: int, stride: int, dilation: int) -> int:
    """The size of the output in one dimension."""
    return (size + 2 * pad - dilation * (filter - 1) - 1) // max(stride, 1) + 1
