"""What a soak shows: its summary and the remark on its row."""

from __future__ import annotations

import json
from typing import Any

import pytest

from deepbench.errors import UsageError
from deepbench.report.remarks import plain_remarks
from deepbench.results.row import Row, SoakPart, parse_row
from deepbench.results.schema import SchemaError
from deepbench.results.soak import first_and_last_tenth_of, steps_of, whole_of
from example_rows import make_row
from scripted_run import ScriptedRows, run_scripted


def part(calls: int, elapsed_ns: float, clock_mhz: object = 1500, **batches: int) -> dict[str, Any]:
    default = {"batches": 1, "throttled": 0, "power_capped": 0}
    return {"calls": calls, "elapsed_ns": elapsed_ns, "clock_mhz": clock_mhz, **default, **batches}


def row_with(soak: Any) -> Row:
    row = make_row("gemm", {"m": 1, "n": 1, "k": 1, "precision": "float"}, 0, 1e6)
    return parse_row(json.dumps({**row, "soak": soak}).encode())


def test_the_last_tenth_is_compared_with_the_first() -> None:
    middle = [part(100, 1100, 1400) for _ in range(8)]
    row = row_with([part(100, 1000, 1600), *middle, part(100, 1250, 1200, batches=3, throttled=1)])
    soak = whole_of(row.soak)
    assert soak is not None
    assert (soak.calls, soak.elapsed_ns) == (1000, 1000 + 8 * 1100 + 1250)
    assert soak.throttled == pytest.approx(1 / 12)
    assert (
        "soak of 1,000 calls in 11.05 \N{MICRO SIGN}s: the last tenth is 25.0 % slower than the "
        "first, at 1200 MHz after 1600, throttled in 8.3 %"
    ) in plain_remarks(row)


def test_parts_of_unequal_calls_are_taken_until_a_tenth() -> None:
    """The first two parts of 1,000 calls have a tenth together, the last one alone."""
    parts = [SoakPart(60, 600), SoakPart(60, 1200), SoakPart(780, 7800), SoakPart(100, 1500)]
    first, last = first_and_last_tenth_of(parts)
    assert (first.calls, last.calls) == (120, 100)
    assert first.time_per_call_ns == pytest.approx(15)
    assert first.clock_mhz is None


@pytest.mark.parametrize("count", [1, 7, 10, 63, 100])
def test_steps_have_all_calls_in_their_order(count: int) -> None:
    parts = [SoakPart(16, 16.0 * number, 1000 + number, 1) for number in range(1, count + 1)]
    steps = steps_of(parts, 10)
    assert len(steps) == min(count, 10)
    assert sum(step.calls for step in steps) == 16 * count
    assert max(step.calls for step in steps) <= 2 * min(step.calls for step in steps)
    times = [step.time_per_call_ns for step in steps]
    assert times == sorted(times)


@pytest.mark.parametrize("format", ["table", "markdown"])
@pytest.mark.parametrize(("soaks", "lines"), [(1, 1), (2, 10)])
def test_the_course_stands_below_the_rows(format: str, soaks: int, lines: int) -> None:
    """The problem of a single soak stands above its course, and that of several in each line."""

    def soaked(row: dict[str, Any]) -> dict[str, Any]:
        return {**row, "soak": [part(100, 1000 + number, 1700 - number) for number in range(100)]}

    answers = dict.fromkeys(range(soaks), soaked)
    _, out, _ = run_scripted(
        ScriptedRows(answers), "gemm", "m=1", "n=1", "k=1,2", "--format", format
    )
    course = out[out.index("Course of the soaks") :]
    assert sum("gemm m=1 n=1 k=1 " in line for line in course.splitlines()) == lines
    assert sum(" ns " in line for line in course.splitlines()) == 10 * soaks
    for middle_of_a_tenth_mhz in (1700 - 4.5, 1700 - 94.5):
        assert f" {middle_of_a_tenth_mhz:.0f} " in course


def test_a_device_without_a_clock_and_a_soak_that_gets_faster() -> None:
    row = row_with([part(10, 200, None), part(10, 100, None)])
    remark = "soak of 20 calls in 300.0 ns: the last tenth is 50.0 % faster than the first"
    assert remark in plain_remarks(row)
    assert "MHz" not in plain_remarks(row)


@pytest.mark.parametrize("soak", [None, [], [part(0, 0)], [{}]])
def test_rows_without_calls_are_no_soaks(soak: Any) -> None:
    assert "soak" not in plain_remarks(row_with(soak))


@pytest.mark.parametrize("soak", [{}, [part(-1, 1)], [part(1, 1, "fast")], [1]])
def test_a_soak_that_is_none_is_an_error(soak: Any) -> None:
    with pytest.raises(SchemaError, match="soak"):
        row_with(soak)


def test_a_soak_is_sustained_and_may_take_a_minute() -> None:
    source = ScriptedRows()
    run_scripted(source, "gemm", "m=1", "n=1", "k=1", "--soak", "2000")
    assert ["power=sustained" in line for line in source.lines] == [True]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--samples", "3"], "--soak says how many calls a row makes: leave out --samples"),
        (["--visits", "3"], "--soak says how many calls a row makes: leave out --visits"),
        (["--power", "rested"], "--soak makes calls without pause: leave out --power rested"),
        (["--power", "both"], "--soak makes calls without pause: leave out --power both"),
        (["--once"], "--once makes one call: leave out --soak"),
    ],
)
def test_what_contradicts_a_soak_is_refused(options: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        run_scripted(ScriptedRows(), "gemm", "m=1", "n=1", "k=1", "--soak", "2000", *options)
