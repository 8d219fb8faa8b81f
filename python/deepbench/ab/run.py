"""Measures two environments in turns: pairs of new workers on one device.

On a processor, both workers of a pair exist at the same time, and each row goes to one of them and
then to the other, so that slow changes affect both. The side that begins alternates from row to row
and from pair to pair (ABBA).

On a device with its own memory, one worker measures all rows of a pair before the other starts:
each has the device to itself, so that the operands of both have the same places in its memory.
Beside another worker they would have other places, which changes the time of some kernels by 10 %.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from deepbench.ab.paired_test import LEAST_PAIRS, MOST_PAIRS, PairedTest, logarithms, pairs_wanted
from deepbench.ab.result import AbResult, RowResult
from deepbench.ab.side import Setup, Side
from deepbench.compare.result_set import to_entry
from deepbench.errors import UsageError
from deepbench.json_types import JsonObject
from deepbench.problems.selection import Selection
from deepbench.results import Row
from deepbench.runner.context import advises_quick, device_text
from deepbench.runner.plan import PlannedRow, digest, plan
from deepbench.runner.progress import Screen, rough_duration_text
from deepbench.runner.run_options import RunOptions
from deepbench.runner.session import RowSource
from deepbench.runner.time_estimate import Estimate, Expectation

_LOAD = re.compile(r"\(load average [^()]*\)")


class AbRun:
    """Runs the rows of one command in two environments."""

    def __init__(
        self,
        selection: Selection,
        options: RunOptions,
        setups: Sequence[Setup],
        command: Sequence[str],
        pairs: int | None = None,
        screen: Screen | None = None,
        sources: Sequence[RowSource | None] = (None, None),
    ) -> None:
        """`pairs` is the number of pairs; None: as many as are needed to find a difference of 1
        %."""
        self._selection, self._options, self._command = selection, options, command
        self._pairs = pairs
        self._screen = screen or Screen()
        self._sides = [
            Side(setup, options, self._screen.say, self._update_progress, source)
            for setup, source in zip(setups, sources, strict=True)
        ]
        self._rows: list[PlannedRow] = []
        self._made = 0  # number of pairs
        self._wanted = pairs or LEAST_PAIRS
        self._visits_made = 0  # visits made of this pair
        self._measuring: PlannedRow | None = None

    def run(self) -> AbResult:
        """Makes the pairs. If the run ends early, the pairs of visits that are measured are in the
        files, and the workers are ended. Raises UserError."""
        plan(self._selection, self._options, None)  # finds mistakes before anything is started
        try:
            for side in self._sides:
                side.open_file()
            for side in self._sides:
                side.start()
                if side.is_alone:
                    side.end_worker()
            self._begin()
            while self._made < self._wanted:
                self._make_pair(self._made + 1)
                self._made += 1
                self._wanted = self._pairs_wanted()
            for side in self._sides:
                side.finish(self._made)
                side.close()
        except BaseException:
            for side in self._sides:
                side.kill()
            raise
        finally:
            self._screen.clear()
            for side in self._sides:
                side.close_file()
        return self._result()

    # ---- before the first pair --------------------------------------------------------------

    def _begin(self) -> None:
        a, b = self._sides
        for what in ("backend", "device"):
            of_a, of_b = (_identity_text(side.hello.get(what) or {}) for side in self._sides)
            if of_a != of_b:
                raise UsageError(
                    f"A and B have different {what}s, {of_a} and {of_b}: both must use the same"
                )
        self._rows = plan(self._selection, self._options, a.hello)
        if digest(self._rows) != digest(plan(self._selection, self._options, b.hello)):
            raise UsageError("A and B have different problems: name their sizes and precision")
        for side in self._sides:
            most = self._pairs or MOST_PAIRS
            side.begin(self._rows, self._selection, self._command, most)
        self._announce()

    def _announce(self) -> None:
        for warning in _distinct_warnings([side.context for side in self._sides]):
            self._screen.say(f"deepbench: warning: {warning}")
        context, hello = self._sides[0].context, self._sides[0].hello
        estimates = (hello.get("planning") or {}).get("estimates") or {}
        expectation = Expectation.from_context(context, self._options.rows, estimates)
        pair_s = 2 * Estimate([row.work for row in self._rows], expectation).remaining_s()
        count = "1 row" if len(self._rows) == 1 else f"{len(self._rows)} rows"
        pairs = str(self._pairs) if self._pairs else f"{LEAST_PAIRS} to {MOST_PAIRS}"
        device = device_text(context, self._options, self._rows)
        text = (
            f"deepbench: {self._selection.title} on {device}: {count}, {pairs} pairs of about "
            f"{rough_duration_text(pair_s)}"
        )
        if advises_quick(self._selection, self._options, self._wanted * pair_s):
            text += "; try --quick"
        self._screen.say(text)
        for side in self._sides:
            self._screen.say(f"deepbench: {side.setup.letter} = {side.setup.text}")

    # ---- pairs ------------------------------------------------------------------------------

    def _make_pair(self, number: int) -> None:
        self._visits_made = 0
        rows = self._sides[0].in_order(self._rows, number)
        if number > 1:
            rows = [row for row in rows if self._is_open(row.position)]
            self._renew_workers(number)
        # A mistrusted visit is made once more: other work on the machine causes it.
        mistrusted: list[PlannedRow] = []
        for planned, made in self._measured(rows, number, number + 1):
            if any(row.status == "mistrusted" for row in made.values()):
                mistrusted.append(planned)
            else:
                self._keep(number, made)
        for _, made in self._measured(mistrusted, number, number):
            self._keep(number, made)
        self._repeat_disturbed(rows, number)

    def _measured(
        self, rows: Sequence[PlannedRow], number: int, turn: int
    ) -> Iterator[tuple[PlannedRow, dict[str, Row]]]:
        """Each row with its pair of visits, by the letters of their sides. `turn` determines which
        side begins."""
        if not rows:
            return
        way = self._one_by_one if self._are_alone else self._side_by_side
        yield from way(rows, number, turn)

    def _side_by_side(
        self, rows: Sequence[PlannedRow], number: int, turn: int
    ) -> Iterator[tuple[PlannedRow, dict[str, Row]]]:
        for planned in rows:
            sides = self._in_turn(planned.position + turn)
            yield planned, {side.letter: self._make(side, planned, number) for side in sides}

    @property
    def _are_alone(self) -> bool:
        """Whether each worker has the device to itself. A worker is then started for each pass."""
        return self._sides[0].is_alone

    def _renew_workers(self, number: int) -> None:
        """Ends both workers before one starts: a worker that starts beside an old one gets other
        memory than that one had, and in every pair it would be the worker of the same side."""
        if self._are_alone:
            return
        for side in self._sides:
            side.end_worker()
        for side in self._in_turn(number + 1):
            side.start()

    def _one_by_one(
        self, rows: Sequence[PlannedRow], number: int, turn: int
    ) -> Iterator[tuple[PlannedRow, dict[str, Row]]]:
        made: dict[int, dict[str, Row]] = {row.position: {} for row in rows}
        for half, side in enumerate(self._in_turn(turn)):
            side.start()
            for planned in rows:
                made[planned.position][side.letter] = self._make(side, planned, number)
                if half == 1:
                    yield planned, made[planned.position]
            side.end_worker()

    def _make(self, side: Side, planned: PlannedRow, number: int) -> Row:
        self._measuring = planned
        row = side.measure_visit(planned, number)
        self._visits_made += 1
        return row

    def _in_turn(self, turn: int) -> list[Side]:
        """The sides in turn: the one that begins alternates."""
        return self._sides[:: 1 if turn % 2 == 0 else -1]

    def _is_open(self, position: int) -> bool:
        return all(side.is_open(position) for side in self._sides)

    def _keep(self, number: int, made: Mapping[str, Row]) -> None:
        for side in self._sides:
            side.keep(number, made[side.letter])

    def _repeat_disturbed(self, rows: Sequence[PlannedRow], number: int) -> None:
        """Repeats the pairs of visits that other work disturbed, and keeps the repetitions that
        were disturbed less. Their times play no role in the choice."""
        repeated = [row for row in rows if self._is_to_repeat(row.position, number)]
        for planned, made in self._measured(repeated, number, number):
            before = self._visits(planned.position, number) or ()
            if all(row.status == "ok" for row in made.values()) and (
                _waited_share(made.values()) < _waited_share(before)
            ):
                self._keep(number, made)

    def _is_to_repeat(self, position: int, number: int) -> bool:
        before = self._visits(position, number)
        if before is None or not any(row.statistics.is_disturbed for row in before):
            return False
        return all(side.can_repeat(position, number) for side in self._sides)

    def _visits(self, position: int, number: int) -> tuple[Row, Row] | None:
        """The two visits of a pair; None if either has no time."""
        a, b = (side.visit(position, number) for side in self._sides)
        return None if a is None or b is None else (a, b)

    def _times(self, position: int) -> list[tuple[float, float]]:
        """The times of the pairs of a row that both sides have measured."""
        pairs = (self._visits(position, number) for number in range(1, self._made + 1))
        return [(_median(pair[0]), _median(pair[1])) for pair in pairs if pair is not None]

    def _pairs_wanted(self) -> int:
        """The number of pairs that all rows need, from the deviation of the pairs so far."""
        open_rows = [row for row in self._rows if self._is_open(row.position)]
        if not open_rows:
            return self._made
        if self._pairs or self._made < self._wanted:
            return self._wanted
        tests = (PairedTest.of(logarithms(self._times(row.position))) for row in open_rows)
        return max(self._made, pairs_wanted(tests))

    # ---- what is shown ----------------------------------------------------------------------

    def _result(self) -> AbResult:
        a, b = self._sides
        rows = [
            RowResult(
                to_entry(a.rows[planned.position]),
                to_entry(b.rows[planned.position]),
                tuple(self._times(planned.position)),
                self._disturbed(planned.position),
            )
            for planned in self._rows
        ]
        return AbResult((a.setup, b.setup), (a.context, b.context), tuple(rows), self._made)

    def _disturbed(self, position: int) -> int:
        pairs = (self._visits(position, number) for number in range(1, self._made + 1))
        return sum(
            any(row.statistics.is_disturbed for row in pair) for pair in pairs if pair is not None
        )

    def _update_progress(self) -> None:
        if self._measuring is None or not self._screen.is_due:
            return
        share = min(1.0, self._visits_made / (2 * len(self._rows)))  # visits may be repeated
        self._screen.progress(
            f"pair {self._made + 1} of {self._wanted}: {self._measuring.problem}",
            (self._made + share) / self._wanted,
        )


def _distinct_warnings(contexts: Iterable[JsonObject]) -> Iterable[str]:
    """The warnings of both sides, each once. The load of the machine does not tell two warnings
    apart: the sides read it at different moments."""
    found: dict[str, str] = {}
    for context in contexts:
        for text in context["warnings"]:
            found.setdefault(_LOAD.sub("", text), text)
    return found.values()


def _identity_text(facts: JsonObject) -> str:
    """The name of a backend or device, with the facts that distinguish equal devices."""
    return " ".join(str(facts[key]) for key in ("name", "uuid") if facts.get(key)) or "none"


def _median(row: Row) -> float:
    return float(row.statistics.median_ns or 0)


def _waited_share(rows: Iterable[Row]) -> float:
    return max(row.statistics.waited_share or 0.0 for row in rows)
