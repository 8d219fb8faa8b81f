"""What a collective costs on more ranks than there are: t = start + latency * steps + bytes /
bandwidth, with the steps and the bytes that the algorithm has on n ranks, and the three others
fitted to measured rows. Large sizes may have a start and a bandwidth of their own, since libraries
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

Json = Mapping[str, Any]

_OPERATION = "all_reduce"  # whose algorithms are modelled
_MIN_SIZES = 3  # sizes to fit a line to
_MIN_SIZES_TO_SPLIT = 4 * _MIN_SIZES - 1  # so that every second of them can be parted too
_SPLIT_THRESHOLD = 0.35  # of the squared errors large sizes of their own must leave less
_EXACT = 1e-9  # a mean squared error that need not be lessened


@dataclass(frozen=True)
class Algorithm:
    """How an algorithm's cost grows with the ranks: messages one after the other, and what of the
    payload each rank sends."""

    name: str
    steps: Callable[[int], float]
    share: Callable[[int], float]


def _both_ways_to_all(ranks: int) -> float:
    return 2 * (ranks - 1)


def _doubling(ranks: int) -> float:
    return 2 * math.ceil(math.log2(ranks))


def _bandwidth_optimal(ranks: int) -> float:
    return 2 * (ranks - 1) / ranks


def _one_to_all(ranks: int) -> float:
    return ranks - 1


_RING = Algorithm("ring", _both_ways_to_all, _bandwidth_optimal)
_PEER = {
    "one_shot_ll": Algorithm("one shot, twice the bytes", lambda ranks: 1, _both_ways_to_all),
    "one_shot": Algorithm("one shot", lambda ranks: 1, _one_to_all),
    "two_shot": Algorithm("two shots", lambda ranks: 2, _bandwidth_optimal),
    "two_shot_push": Algorithm("two shots", lambda ranks: 2, _bandwidth_optimal),
    "ring": _RING,
}
# What a library does is not told: the fewest messages that move the fewest bytes.
_UNKNOWN = Algorithm("recursive halving and doubling", _doubling, _bandwidth_optimal)


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
class LargeMessages:
    """What is different of payloads of `least` bytes and more: a call takes `extra_ns` besides."""

    least: float
    extra_ns: float
    ns_per_byte: float


@dataclass(frozen=True)
class Model:
    """What each call takes, `latency_ns` of a step, `ns_per_byte` of what a rank sends."""

    algorithm: Algorithm
    start_ns: float
    latency_ns: float
    ns_per_byte: float
    large: LargeMessages | None = None

    def time_ns(self, ranks: int, size: float) -> float:
        extra, cost = 0.0, self.ns_per_byte
        if self.large and size >= self.large.least:
            extra, cost = self.large.extra_ns, self.large.ns_per_byte
        sent = self.algorithm.share(ranks) * size
        return self.start_ns + self.algorithm.steps(ranks) * self.latency_ns + extra + sent * cost


@dataclass(frozen=True)
class PredictionError:
    """How far predictions were off, in shares of the measured times."""

    median: float
    largest: float


@dataclass(frozen=True)
class Fit:
    """A model of all points; how far one of every second size was off on the other sizes, and one
    of fewer ranks on the most there are, None without fewer."""

    model: Model
    points: int
    size_error: PredictionError
    rank_error: PredictionError | None


def groups(rows: Iterable[Json]) -> dict[tuple[str, str, str], list[Point]]:
    """The rows that one model can be fitted to, by library, algorithm and precision."""
    found: dict[tuple[str, str, str], list[Point]] = {}
    for row in rows:
        ranks = (row.get("regime") or {}).get("ranks")
        time_ns = (row.get("statistics") or {}).get("median_ns")
        if row.get("op") != _OPERATION or row.get("status") != "ok" or not ranks:
            continue
        if not time_ns or not math.isfinite(time_ns):
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
    if len(sizes[::2]) < _MIN_SIZES or not held_out:
        return None
    model = _model(algorithm, ordered, _SPLIT_THRESHOLD if len(sizes) >= _MIN_SIZES_TO_SPLIT else 0)
    split_threshold = 1.0 if model.large else 0.0  # what is tested has the form of what is printed
    size_error = _error(_model(algorithm, seen, split_threshold), held_out)
    return Fit(model, len(ordered), size_error, _rank_error(algorithm, ordered, split_threshold))


def _rank_error(
    algorithm: Algorithm, points: Sequence[Point], split_threshold: float
) -> PredictionError | None:
    most = max(point.ranks for point in points)
    fewer = [point for point in points if point.ranks < most]
    if len(_sizes(fewer)) < _MIN_SIZES:
        return None
    return _error(_model(algorithm, fewer, split_threshold), [p for p in points if p.ranks == most])


def _error(model: Model, points: Sequence[Point]) -> PredictionError:
    errors = [abs(model.time_ns(p.ranks, p.bytes) / p.time_ns - 1) for p in points]
    return PredictionError(median(errors), max(errors))


def _sizes(points: Sequence[Point]) -> list[float]:
    return sorted({point.bytes for point in points})


def _model(algorithm: Algorithm, points: Sequence[Point], split_threshold: float) -> Model:
    """With large sizes of their own, from the best size on, where that leaves less than the share
    `split_threshold` of the squared errors."""
    sizes = _sizes(points)
    model, left = _fitted(algorithm, points, None)
    if left <= _EXACT * len(points):
        return model
    least = split_threshold * left
    for size in sizes[_MIN_SIZES : len(sizes) - _MIN_SIZES + 1]:
        split_model, left = _fitted(algorithm, points, size)
        if left < least:
            model, least = split_model, left
    return model


def _fitted(
    algorithm: Algorithm, points: Sequence[Point], large_from: float | None
) -> tuple[Model, float]:
    """By relative errors, so that small sizes count as large ones do, and what squares are left.
    What a call starts with shows only where steps differ."""
    starts = float(len({algorithm.steps(point.ranks) for point in points}) > 1)
    costs = []
    for p in points:
        is_large = large_from is not None and p.bytes >= large_from
        sent = algorithm.share(p.ranks) * p.bytes
        terms = [starts, algorithm.steps(p.ranks), 0.0 if is_large else sent]
        if large_from is not None:
            terms += [float(is_large), sent if is_large else 0.0]
        costs.append([term / p.time_ns for term in terms])
    found, left = _least_squares(costs)
    large = None if large_from is None else LargeMessages(large_from, found[3], found[4])
    return Model(algorithm, found[0], found[1], found[2], large), left


def _least_squares(costs: Sequence[Sequence[float]]) -> tuple[list[float], float]:
    """The numbers, none below 0, whose products with each row's add up to 1 as nearly as can be."""
    import numpy as np

    every, ones = np.array(costs), np.ones(len(costs))
    width = every.shape[1]
    best, least = [0.0] * width, math.inf
    for count in range(1, width + 1):
        for chosen in map(list, combinations(range(width), count)):
            found = np.linalg.lstsq(every[:, chosen], ones, rcond=None)[0]
            left = float(((every[:, chosen] @ found - 1) ** 2).sum())
            if (found >= 0).all() and left < least:
                best, least = [0.0] * width, left
                for at, value in zip(chosen, found, strict=True):
                    best[at] = float(value)
    return best, least
