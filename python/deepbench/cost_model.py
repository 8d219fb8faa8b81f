"""What a collective costs on more ranks than there are: t = start + latency * steps + bytes /
bandwidth, with the steps and the bytes that the algorithm has on n ranks, and the three others
fitted to measured rows, of small sizes and of large ones if those go their own ways, as libraries
change their protocol. How far the model is to be trusted is measured, too: on sizes and on numbers
of ranks that it has not seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Any

import numpy as np

Json = Mapping[str, Any]

_FEWEST = 3  # sizes to fit a line to
_WORTH = 0.5  # of one line's squared errors two must leave less
_EXACT = 1e-9  # a mean squared error that no second line need lessen


@dataclass(frozen=True)
class Algorithm:
    """How an algorithm's cost grows with the ranks: messages one after the other, and what of the
    payload each rank sends."""

    name: str
    steps: Callable[[int], float]
    share: Callable[[int], float]


def _everyone_else(ranks: int) -> float:
    return 2 * (ranks - 1)


def _doubling(ranks: int) -> float:
    return 2 * math.ceil(math.log2(ranks))


def _least(ranks: int) -> float:
    return 2 * (ranks - 1) / ranks


def _to_all(ranks: int) -> float:
    return ranks - 1


_RING = Algorithm("ring", _everyone_else, _least)
_PEER = {
    "one_shot_ll": Algorithm("one shot, twice the bytes", lambda ranks: 1, _everyone_else),
    "one_shot": Algorithm("one shot", lambda ranks: 1, _to_all),
    "two_shot": Algorithm("two shots", lambda ranks: 2, _least),
    "two_shot_push": Algorithm("two shots", lambda ranks: 2, _least),
    "ring": _RING,
}
# What a library does is not told: the fewest messages that move the fewest bytes.
_UNKNOWN = Algorithm("recursive halving and doubling", _doubling, _least)


def algorithm_of(library: str, name: str = "") -> Algorithm:
    """The model for a row's library ('ring 0.1.0') and its algorithm's name ('two_shot/32')."""
    if library.startswith("peer "):
        return _PEER.get(name.partition("/")[0], _UNKNOWN)
    return _RING if library.split(maxsplit=1)[:1] == ["ring"] else _UNKNOWN


@dataclass(frozen=True)
class Point:
    """One measured row."""

    ranks: int
    bytes: float
    time_ns: float


@dataclass(frozen=True)
class Line:
    """What each call takes, `latency_ns` of a step, `ns_per_byte` of what a rank sends."""

    start_ns: float
    latency_ns: float
    ns_per_byte: float

    def time_ns(self, algorithm: Algorithm, ranks: int, size: float) -> float:
        sent = algorithm.share(ranks) * size
        return self.start_ns + algorithm.steps(ranks) * self.latency_ns + sent * self.ns_per_byte


@dataclass(frozen=True)
class Model:
    """A line; from payloads of `large_from` bytes on another, where there is one."""

    algorithm: Algorithm
    small: Line
    large: Line | None = None
    large_from: float = math.inf

    def time_ns(self, ranks: int, size: float) -> float:
        line = self.large if self.large and size >= self.large_from else self.small
        return line.time_ns(self.algorithm, ranks, size)


@dataclass(frozen=True)
class Error:
    """How far predictions were off, in shares of the measured times."""

    median: float
    largest: float


@dataclass(frozen=True)
class Fit:
    """A model of all points; how far one of every second size was off on the other sizes, and one
    of fewer ranks on the most there are, None without fewer."""

    model: Model
    points: int
    of_sizes: Error
    of_ranks: Error | None


def groups(rows: Iterable[Json]) -> dict[tuple[str, str, str], list[Point]]:
    """The rows that one model can be fitted to, by library, algorithm and precision."""
    found: dict[tuple[str, str, str], list[Point]] = {}
    for row in rows:
        ranks = (row.get("regime") or {}).get("ranks")
        time_ns = (row.get("statistics") or {}).get("median_ns")
        if row.get("op") != "all_reduce" or row.get("status") != "ok" or not ranks or not time_ns:
            continue
        key = (
            str(row.get("library")),
            str((row.get("algorithm") or {}).get("name")),
            str((row.get("attributes") or {}).get("precision")),
        )
        point = Point(int(ranks), float(row["work"]["bytes"]), float(time_ns))
        found.setdefault(key, []).append(point)
    return found


def fit(algorithm: Algorithm, points: Sequence[Point]) -> Fit | None:
    """None for fewer sizes than a line and its test need."""
    ordered = sorted(points, key=lambda point: (point.bytes, point.ranks))
    sizes = _sizes(ordered)
    seen = [point for point in ordered if point.bytes in sizes[::2]]
    held_out = [point for point in ordered if point.bytes in sizes[1::2]]
    if len(sizes[::2]) < _FEWEST or not held_out:
        return None
    of_sizes = _error(_model(algorithm, seen), held_out)
    return Fit(_model(algorithm, ordered), len(ordered), of_sizes, _of_ranks(algorithm, ordered))


def _of_ranks(algorithm: Algorithm, points: Sequence[Point]) -> Error | None:
    most = max(point.ranks for point in points)
    fewer = [point for point in points if point.ranks < most]
    if len(_sizes(fewer)) < _FEWEST:
        return None
    return _error(_model(algorithm, fewer), [point for point in points if point.ranks == most])


def _error(model: Model, points: Sequence[Point]) -> Error:
    errors = [abs(model.time_ns(p.ranks, p.bytes) / p.time_ns - 1) for p in points]
    return Error(median(errors), max(errors))


def _sizes(points: Sequence[Point]) -> list[float]:
    return sorted({point.bytes for point in points})


def _model(algorithm: Algorithm, points: Sequence[Point]) -> Model:
    """One line, or the two that part at the best size if they are worth it."""
    sizes = _sizes(points)
    line, left = _line(algorithm, points)
    model, least = Model(algorithm, line), _WORTH * left
    if left <= _EXACT * len(points):
        return model
    for size in sizes[_FEWEST : len(sizes) - _FEWEST + 1]:
        small, left_of_small = _line(algorithm, [p for p in points if p.bytes < size])
        large, left_of_large = _line(algorithm, [p for p in points if p.bytes >= size])
        if left_of_small + left_of_large < least:
            model, least = Model(algorithm, small, large, size), left_of_small + left_of_large
    return model


def _line(algorithm: Algorithm, points: Sequence[Point]) -> tuple[Line, float]:
    """Least squares of relative errors, so that small sizes count as large ones do, and what they
    leave; nothing costs less than 0. What a call starts with shows only where ranks differ."""
    starts = len({point.ranks for point in points}) > 1
    costs = np.array([
        (starts, algorithm.steps(p.ranks), algorithm.share(p.ranks) * p.bytes) for p in points
    ]) / np.array([[p.time_ns] for p in points])  # fmt: skip
    best, least = np.zeros(3), math.inf
    for count in (1, 2, 3):
        for chosen in map(list, combinations(range(3), count)):
            found = np.linalg.lstsq(costs[:, chosen], np.ones(len(points)), rcond=None)[0]
            left = float(((costs[:, chosen] @ found - 1) ** 2).sum())
            if (found >= 0).all() and left < least:
                best, least = np.zeros(3), left
                best[chosen] = found
    return Line(*map(float, best)), least
