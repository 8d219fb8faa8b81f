"""The content of a trace: its problems with the number and the times of their calls, and the calls
that are no problem of deepbench with their time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from deepbench import _core
from deepbench.errors import printable_line

_SHORTEST_NS, _LONGEST_NS = 1e-3, 864e12  # of a valid time; a result file holds up to ten days
_MAX_NAME = 200  # characters of an application, or of the name of a call that was not read


@dataclass
class Recorded:
    """A problem and its calls."""

    words: str  # the problem as a suite's line, without its metadata
    problem: _core.Problem
    applications: dict[str, int] = field(default_factory=dict)  # calls by name; "" without a name
    count: int = 0
    times: int = 0  # calls whose time is known
    sum_ns: float = 0.0
    min_ns: float = float("inf")
    max_ns: float = 0.0
    shares_calls: bool = False  # a time is this problem's share of a call that computes several

    @property
    def mean_ns(self) -> float | None:
        """The mean time of a call; None if no time is known."""
        return self.sum_ns / self.times if self.times else None


@dataclass
class LeftOut:
    """Calls that were not read, of one name and for one reason."""

    name: str
    reason: str  # "" if deepbench has no such operation
    calls: int = 0
    sum_ns: float = 0.0


class Recording:
    """The content of a trace."""

    def __init__(self, source: str, timer: str | None) -> None:
        self.source = source  # the program that recorded it
        self.timer = timer  # the source of the times; None: there are none
        self.device: str | None = None
        self.total_ns = 0.0
        self.calls = 0  # read or left out
        self._problems: dict[str, Recorded] = {}  # by canonical text
        self._by_words: dict[str, Recorded] = {}
        self._left_out: dict[tuple[str, str], LeftOut] = {}

    @property
    def problems(self) -> list[Recorded]:
        """The problems in the order of their first calls."""
        return [one for one in self._problems.values() if one.count]

    @property
    def left_out(self) -> list[LeftOut]:
        """The calls that were not read, those with the longest time first."""
        return sorted(self._left_out.values(), key=lambda one: (-one.sum_ns, -one.calls))

    @property
    def read_ns(self) -> float:
        """The time of the calls that are problems."""
        return sum(one.sum_ns for one in self._problems.values())

    @property
    def read_calls(self) -> int:
        return self.calls - sum(one.calls for one in self._left_out.values())

    def add_call(
        self, name: str, problems: Iterable[str], application: str = "", time_ns: float = 0.0
    ) -> None:
        """Adds a call of `name` that computes these problems, given as words of a suite's line."""
        words = list(problems)
        try:
            found = [self._recorded(one) for one in words]
        except _core.InvalidProblem as error:
            self.leave_out(name, str(error), time_ns)
            return
        if time_ns > _LONGEST_NS:
            self.leave_out(name, "its time is more than ten days", time_ns)
            return
        self.calls += 1
        self.total_ns += time_ns
        application = short_name(application)
        for one in found:
            one.count += 1
            one.applications[application] = one.applications.get(application, 0) + 1
            one.shares_calls |= len(words) > 1
            share_ns = time_ns / len(words)
            if share_ns >= _SHORTEST_NS:
                one.times += 1
                one.sum_ns += share_ns
                one.min_ns, one.max_ns = min(one.min_ns, share_ns), max(one.max_ns, share_ns)

    def leave_out(self, name: str, reason: str = "", time_ns: float = 0.0) -> None:
        """Counts a call that is no problem of deepbench."""
        key = short_name(name) or "a call without a name", short_name(reason)
        known = self._left_out.setdefault(key, LeftOut(*key))
        known.calls += 1
        known.sum_ns += time_ns
        self.calls += 1
        self.total_ns += time_ns

    def _recorded(self, words: str) -> Recorded:
        """The problem of these words. Raises InvalidProblem."""
        known = self._by_words.get(words)
        if known is None:
            problem = _core.Problem.parse(words)
            known = self._problems.setdefault(str(problem), Recorded(words, problem))
            self._by_words[words] = known
        return known


def short_name(text: str) -> str:
    """A name of a trace in one printable line of limited length."""
    return printable_line(text[: 2 * _MAX_NAME])[:_MAX_NAME].strip()
