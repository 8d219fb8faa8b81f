"""What a collective costs on more ranks than there are: t = latency * steps + bytes / bandwidth,
with the steps and the bytes that the algorithm has on n ranks, and latency and bandwidth fitted to
measured rows. How far the model is to be trusted is measured, too: on sizes that it has not seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

Json = Mapping[str, Any]

_FEWEST = 3  # sizes to fit a line to


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
class Model:
    """Fitted to points: `latency_ns` of a step, `ns_per_byte` of what a rank sends."""

    algorithm: Algorithm
    latency_ns: float
    ns_per_byte: float

    def time_ns(self, ranks: int, size: float) -> float:
        sent = self.algorithm.share(ranks) * size
        return self.algorithm.steps(ranks) * self.latency_ns + sent * self.ns_per_byte


@dataclass(frozen=True)
class Fit:
    """A model of all points, and how far one of half of them was off on the other half."""

    model: Model
    points: int
    median_error: float  # shares of the measured time
    largest_error: float


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
    """None for fewer points than a line and its test need."""
    ordered = sorted(points, key=lambda point: (point.bytes, point.ranks))
    seen, held_out = ordered[::2], ordered[1::2]
    if len(seen) < _FEWEST or not held_out:
        return None
    half = _model(algorithm, seen)
    errors = [abs(half.time_ns(p.ranks, p.bytes) / p.time_ns - 1) for p in held_out]
    return Fit(_model(algorithm, ordered), len(ordered), median(errors), max(errors))


def _model(algorithm: Algorithm, points: Sequence[Point]) -> Model:
    """Least squares of relative errors, so that small sizes count as large ones do; neither latency
    nor cost of a byte below 0."""
    steps = [algorithm.steps(p.ranks) / p.time_ns for p in points]
    sent = [algorithm.share(p.ranks) * p.bytes / p.time_ns for p in points]
    ss, sb, bb = _dot(steps, steps), _dot(steps, sent), _dot(sent, sent)
    determinant = ss * bb - sb * sb
    latency = cost = -1.0
    if determinant > 1e-12 * ss * bb:
        latency = (sum(steps) * bb - sum(sent) * sb) / determinant
        cost = (sum(sent) * ss - sum(steps) * sb) / determinant
    if latency < 0:
        latency, cost = 0.0, sum(sent) / bb
    elif cost < 0:
        latency, cost = sum(steps) / ss, 0.0
    return Model(algorithm, latency, cost)


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))
