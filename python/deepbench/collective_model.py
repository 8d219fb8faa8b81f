"""Predicts the time of a collective on more ranks than were measured.

The model is t = start + latency * steps + bytes / bandwidth. The algorithm determines the steps and
the bytes on n ranks; start, latency and bandwidth are fitted to measured rows. Large sizes may have
a separate start and bandwidth, since libraries switch protocols. The error of the model is measured
on sizes and rank counts that it was not fitted to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Any, NamedTuple

from deepbench.results.row import Row

_MIN_SIZES = 3  # for fitting a line
_MIN_SIZES_TO_SPLIT = 4 * _MIN_SIZES - 1  # so that every second size can be split as well
_SPLIT_THRESHOLD = 0.35  # a split must reduce the squared errors below this share
_EXACT = 1e-9  # mean squared error below which no split is needed


@dataclass(frozen=True)
class Algorithm:
    """How the cost of an algorithm grows with the ranks: the number of consecutive messages, and
    the share of the payload that each rank sends."""

    name: str
    steps: Callable[[int], float]
    share: Callable[[int], float]


def _twice_other_ranks(ranks: int) -> float:
    return 2 * (ranks - 1)


def _twice_log2_ranks(ranks: int) -> float:
    return 2 * math.ceil(math.log2(ranks))


def _bandwidth_optimal_traffic(ranks: int) -> float:
    return 2 * (ranks - 1) / ranks


def _other_ranks(ranks: int) -> float:
    return ranks - 1


def _log2_ranks(ranks: int) -> float:
    return math.ceil(math.log2(ranks))


def _other_blocks(ranks: int) -> float:
    return (ranks - 1) / ranks


def _one(_: int) -> float:
    return 1


_RING = Algorithm("ring", _twice_other_ranks, _bandwidth_optimal_traffic)
_RING_OF_BLOCKS = Algorithm("ring", _other_ranks, _other_blocks)
_RECURSIVE_DOUBLING = Algorithm("recursive doubling", _log2_ranks, _other_blocks)
_ONE_SHOT_OF_BLOCKS = Algorithm("one shot", _one, _other_blocks)
_ONE_MESSAGE = Algorithm("one message", _one, _one)
_PEER = {
    "one_shot_ll": Algorithm("one shot, twice the bytes", _one, _twice_other_ranks),
    "one_shot": Algorithm("one shot", _one, _other_ranks),
    "two_shot": Algorithm("two shots", lambda ranks: 2, _bandwidth_optimal_traffic),
    "two_shot_push": Algorithm("two shots", lambda ranks: 2, _bandwidth_optimal_traffic),
    "ring": _RING,
}


@dataclass(frozen=True)
class _Collective:
    """The algorithms of an operation: those of ring and of peer, and one for libraries that do not
    report any, with the fewest steps, of one message per rank, that move the fewest bytes."""

    ring: Algorithm
    peer: Mapping[str, Algorithm]
    unknown: Algorithm


_COLLECTIVES = {
    "all_reduce": _Collective(
        _RING,
        _PEER,
        Algorithm("recursive halving and doubling", _twice_log2_ranks, _bandwidth_optimal_traffic),
    ),
    "all_gather": _Collective(
        _RING_OF_BLOCKS, {"one_shot": _ONE_SHOT_OF_BLOCKS}, _RECURSIVE_DOUBLING
    ),
    "reduce_scatter": _Collective(
        _RING_OF_BLOCKS,
        {"one_shot": _ONE_SHOT_OF_BLOCKS},
        Algorithm("recursive halving", _log2_ranks, _other_blocks),
    ),
    "all_to_all": _Collective(
        Algorithm("ring", _other_ranks, lambda ranks: (ranks - 1) / 2),
        {"one_shot": _ONE_SHOT_OF_BLOCKS},
        Algorithm("pairwise exchange", _other_ranks, _other_blocks),
    ),
    "broadcast": _Collective(
        Algorithm("ring", _other_ranks, _one),
        {"one_shot": Algorithm("one shot", _one, _other_ranks)},
        Algorithm("pipelined binomial trees", _log2_ranks, _one),
    ),
    "send_recv": _Collective(_ONE_MESSAGE, {"one_shot": _ONE_MESSAGE}, _ONE_MESSAGE),
}


def algorithm_of(library: str, name: str = "", op: str = "all_reduce") -> Algorithm:
    """The model for a row's library ('ring 0.1.0'), the name of its algorithm ('two_shot/32') and
    its operation."""
    collective = _COLLECTIVES[op]
    if library.startswith("peer "):
        return collective.peer.get(name.partition("/")[0], collective.unknown)
    return collective.ring if library.split(maxsplit=1)[:1] == ["ring"] else collective.unknown


@dataclass(frozen=True)
class Point:
    """One measured row."""

    ranks: int
    bytes: float
    time_ns: float


@dataclass(frozen=True)
class LargeMessages:
    """Parameters for payloads of at least `least` bytes. A call takes `extra_ns` in addition."""

    least: float
    extra_ns: float
    ns_per_byte: float


@dataclass(frozen=True)
class Model:
    """The fitted costs: per call, per step (`latency_ns`), and per byte that a rank sends."""

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
    """Errors of predictions, relative to the measured times."""

    median: float
    largest: float


@dataclass(frozen=True)
class Fit:
    """A model of all points, and two errors: that of a model of every second size on the other
    sizes, and that of a model of fewer ranks on the most ranks (None with a single rank count)."""

    model: Model
    points: int
    size_error: PredictionError
    rank_error: PredictionError | None


def reach(context: Mapping[str, Any]) -> int | None:
    """The largest number of ranks for which rows of this context allow predictions, or None without
    a limit. Ranks of one machine have measured its memory or the links of its devices, and no
    network: they allow predictions for as many ranks as the machine has devices or, on a CPU,
    processors. So do the devices of a single process."""
    ranks = context.get("ranks") or {}
    machines = ranks.get("machines") or ()
    on_devices = any(device.get("uuid") for device in ranks.get("devices") or ())
    named = context["options"].get("devices", "")
    if not machines and "," in named:
        machines, on_devices = ["the process's own"] * (named.count(",") + 1), True
    if len(set(machines)) != 1:
        return None
    processors = (context.get("host") or {}).get("cpus_allowed")
    places = context.get("device_count") if on_devices else processors
    return max(places if isinstance(places, int) else 0, len(machines))


class Group(NamedTuple):
    """Rows that follow one model."""

    op: str
    library: str
    algorithm: str
    precision: str

    @classmethod
    def of(cls, row: Row) -> Group:
        words = (row.op, row.library, row.algorithm.name, row.attributes.get("precision"))
        return cls(*map(str, words))


def group_points(rows: Iterable[Row]) -> dict[Group, list[Point]]:
    """The points of the rows of collectives, grouped by the models that they get."""
    found: dict[Group, list[Point]] = {}
    for row in rows:
        ranks, time_ns = row.regime.ranks, row.statistics.median_ns
        if row.op not in _COLLECTIVES or row.status != "ok" or not ranks or not time_ns:
            continue
        if row.work.bytes is None:
            continue
        point = Point(ranks, float(row.work.bytes), float(time_ns))
        found.setdefault(Group.of(row), []).append(point)
    return found


def fit(algorithm: Algorithm, points: Sequence[Point]) -> Fit | None:
    """The fitted model and its errors, or None if there are too few sizes to fit and test it."""
    ordered = sorted(points, key=lambda point: (point.bytes, point.ranks))
    sizes = _distinct_sizes(ordered)
    seen = [point for point in ordered if point.bytes in sizes[::2]]
    held_out = [point for point in ordered if point.bytes in sizes[1::2]]
    if len(sizes[::2]) < _MIN_SIZES or not held_out:
        return None
    model = _best_model(
        algorithm, ordered, _SPLIT_THRESHOLD if len(sizes) >= _MIN_SIZES_TO_SPLIT else 0
    )
    # The tested model is split if and only if `model` is.
    split_threshold = 1.0 if model.large else 0.0
    size_error = _prediction_error(_best_model(algorithm, seen, split_threshold), held_out)
    return Fit(model, len(ordered), size_error, _rank_error(algorithm, ordered, split_threshold))


def _rank_error(
    algorithm: Algorithm, points: Sequence[Point], split_threshold: float
) -> PredictionError | None:
    most = max(point.ranks for point in points)
    fewer = [point for point in points if point.ranks < most]
    if len(_distinct_sizes(fewer)) < _MIN_SIZES:
        return None
    return _prediction_error(
        _best_model(algorithm, fewer, split_threshold), [p for p in points if p.ranks == most]
    )


def _prediction_error(model: Model, points: Sequence[Point]) -> PredictionError:
    errors = [abs(model.time_ns(p.ranks, p.bytes) / p.time_ns - 1) for p in points]
    return PredictionError(median(errors), max(errors))


def _distinct_sizes(points: Sequence[Point]) -> list[float]:
    return sorted({point.bytes for point in points})


def _best_model(algorithm: Algorithm, points: Sequence[Point], split_threshold: float) -> Model:
    """The fitted model. It is split at the best size if that reduces the squared errors below the
    share `split_threshold`."""
    sizes = _distinct_sizes(points)
    model, left = _fit_costs(algorithm, points, None)
    if left <= _EXACT * len(points):
        return model
    least = split_threshold * left
    for size in sizes[_MIN_SIZES : len(sizes) - _MIN_SIZES + 1]:
        split_model, left = _fit_costs(algorithm, points, size)
        if left < least:
            model, least = split_model, left
    return model


def _fit_costs(
    algorithm: Algorithm, points: Sequence[Point], large_from: float | None
) -> tuple[Model, float]:
    """The costs with the least relative squared errors, and the remaining squared error. Relative
    errors give small and large sizes the same weight. The start of a call can be distinguished from
    the latency only if the points have different numbers of steps."""
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
    """The non-negative coefficients for which each row's weighted sum is closest to 1, and the
    remaining squared error."""
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
