"""Hypothesis strategies for files that are nearly right: the lines of a valid file, with a few
values replaced at random places."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from deepbench import references
from example_rows import make_context, make_gemm, make_memory, make_workload

EVIL = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e\r\n\tx"
_PLAIN = (
    st.none()
    | st.booleans()
    | st.integers(-(10**400), 10**400)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([EVIL, "=1", "cold", "published", 1e-320, 1e-100, 1e15, 2**53, "", "a" * 300])
)
JSON = (
    _PLAIN | st.lists(_PLAIN, max_size=3) | st.dictionaries(st.text(max_size=3), _PLAIN, max_size=2)
)
PUBLISHED = references.load(references.available()[0]).rows[0].members
SOAK = [
    {"calls": 100, "elapsed_ns": 1e6, "clock_mhz": 1500.0, "batches": 10, "throttled": 1,
     "power_capped": 0},
    {"calls": 200, "elapsed_ns": 2e6, "clock_mhz": None, "batches": 10},
]  # fmt: skip
VALID_LINES: list[dict[str, Any]] = [
    make_context(rows=3, workload=make_workload()),
    make_gemm(0, application="X", count=9, applications=[{"name": "X", "count": 8}],
              observed={"sm_clock_mhz": 1500.0}, soak=SOAK),
    make_memory(1, metrics=[{"name": "busbw", "value": 3.5, "unit": "GB/s", "better": "higher"}],
                notes=["one", "two"]),
    {**PUBLISHED, "position": 2, "count": 5},
]  # fmt: skip


def example_settings(count: int) -> settings:
    """Hypothesis settings for tests whose examples are files.

    Every example writes its file into the same test folder, which is slow, so the health checks
    against both are disabled.
    """
    slow = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    return settings(max_examples=count, suppress_health_check=slow)


@st.composite
def mutated(
    draw: st.DrawFn, good: Sequence[dict[str, Any]], values: st.SearchStrategy[Any] = JSON
) -> list[dict[str, Any]]:
    """The lines, with one to three values changed."""
    lines: Any = copy.deepcopy(list(good))
    for _ in range(draw(st.integers(1, 3))):
        line = draw(st.sampled_from(range(len(lines))))
        *parents, last = draw(st.sampled_from(_paths_of_values(good[line])))
        place = lines[line]
        try:
            for key in parents:
                place = place[key]
            place[last] = draw(values)
        except (TypeError, IndexError, KeyError):  # an earlier change took the place away
            continue
    return list(lines)


def write_lines(path: Path, lines: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def _paths_of_values(
    value: object, path: tuple[str | int, ...] = ()
) -> list[tuple[str | int, ...]]:
    """The path of every value of a line, as keys and indices."""
    items: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    below = [place for key, item in items for place in _paths_of_values(item, (*path, key))]
    return [path, *below] if path else below
