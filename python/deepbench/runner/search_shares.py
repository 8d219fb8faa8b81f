"""Passes on what the rows of a run leave to one another if each searches for its best algorithm:
the time that a search did not need, and the winner, which a similar row tries first."""

from __future__ import annotations

import math
from collections.abc import Mapping

from deepbench.problems.problem_arguments import quoted
from deepbench.results import Row
from deepbench.runner.plan import PlannedRow
from deepbench.runner.session import REFUSED

# The most time of others that one row may receive, so that many rows share it.
_MAX_GIVEN_S = 10.0
# Share that a row may receive, so that its search does not look like a hang.
_SHARE_OF_HANG_LIMIT = 0.1

Attributes = Mapping[str, int | float | str]
_Class = tuple[str, tuple[tuple[str, str], ...]]  # the operation, and the attributes that are words


class SearchShares:
    """The searches of a run with `best`. All of them together take no longer than if each had its
    own share alone, which is a multiple of the time of its default."""

    def __init__(self, hang_limit_s: float | None) -> None:
        """`hang_limit_s` is the time after which a row counts as hung, if the user set it."""
        limit_s = math.inf if hang_limit_s is None else hang_limit_s
        self._max_given_s = min(_MAX_GIVEN_S, _SHARE_OF_HANG_LIMIT * limit_s)
        self._left_s = 0.0  # time that the rows so far have left
        self._given_s = 0.0  # time given to the current row
        # For each class of similar rows, their sizes and the candidate that won; None: the default.
        self._winners: dict[_Class, list[tuple[Attributes, str | None]]] = {}

    def words(self, planned: PlannedRow) -> str:
        """The row's share of time and the candidate to measure first, as options of its line."""
        self._given_s = min(self._left_s, self._max_given_s)
        words = f" budget={self._given_s:.6f}" if self._given_s else ""
        first = self._winner_of_nearest(planned.op, planned.attributes)
        return words + (f" first={quoted(first)}" if first else "")

    def record(self, row: Row) -> None:
        """Takes over the time that the current row has left."""
        algorithm = row.algorithm
        given_s, self._given_s = self._given_s, 0.0
        if algorithm.budget_ns is None or algorithm.searched_ns is None:
            # A search that did not end regularly may have used all that it received.
            self._left_s -= 0.0 if row.status in REFUSED else given_s
            return
        own_s = algorithm.budget_ns / 1e9 - given_s
        self._left_s = max(0.0, self._left_s + own_s - algorithm.searched_ns / 1e9)
        self.remember(row)

    def remember(self, row: Row) -> None:
        """Takes over the winner of a row."""
        if row.status != "ok" or row.op is None or not row.algorithm.tried:
            return
        winner = row.algorithm.candidate if row.algorithm.speedup else None
        like = self._winners.setdefault(_class_of(row.op, row.attributes), [])
        like.append((row.attributes, winner))

    def _winner_of_nearest(self, op: str, attributes: Attributes) -> str | None:
        like = self._winners.get(_class_of(op, attributes))
        if not like:
            return None
        return min(like, key=lambda one: _distance(one[0], attributes))[1]


def _class_of(op: str, attributes: Attributes) -> _Class:
    """The common properties of similar rows: everything except their sizes."""
    return op, tuple((name, value) for name, value in attributes.items() if isinstance(value, str))


def _distance(some: Attributes, others: Attributes) -> float:
    """The distance between sizes: the sum of the logarithms of their ratios."""
    return sum(
        abs(math.log(max(value, 1) / max(other, 1)))
        for name, value in some.items()
        if not isinstance(value, str) and not isinstance(other := others.get(name, 1), str)
    )
