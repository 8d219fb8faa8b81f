"""Files that are nearly right: comparing them ends with a status and a line, never a traceback."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deepbench import references
from deepbench.cli import main
from example_rows import make_context, make_gemm, make_memory

PUBLISHED = references.load(references.available()[0]).rows[0]
LINES: list[dict[str, Any]] = [
    make_context(rows=3),
    make_gemm(0, application="X", observed={"sm_clock_mhz": 1500.0}),
    make_memory(1),
    {**PUBLISHED, "position": 2},
]

PLAIN = (
    st.none()
    | st.booleans()
    | st.integers(-(10**400), 10**400)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["\x1b[2J", "cold", "published", 1e-320, 1e15, 2**53, ""])
)
JSON = PLAIN | st.lists(PLAIN, max_size=3) | st.dictionaries(st.text(max_size=3), PLAIN, max_size=2)


def places(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Where every value of a line is."""
    items: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    below = [place for key, item in items for place in places(item, (*path, key))]
    return [path, *below] if path else below


@given(data=st.data(), form=st.sampled_from(["table", "json", "markdown", "html"]))
@settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_no_file_ends_in_a_traceback(
    data: st.DataObject, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines: Any = copy.deepcopy(LINES)
    for _ in range(data.draw(st.integers(1, 3))):
        line = data.draw(st.sampled_from(range(len(lines))))
        *parents, last = data.draw(st.sampled_from(places(LINES[line])))
        place = lines[line]
        try:
            for key in parents:
                place = place[key]
            place[last] = data.draw(JSON)
        except (TypeError, IndexError, KeyError):  # an earlier change took the place away
            continue
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    bad.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for files in ((good, bad), (bad, good)):
        status = main(["compare", *map(str, files), "--format", form])
        out, err = capsys.readouterr()
        assert status in (0, 1, 2)
        assert (status == 2) == err.startswith("deepbench: error: ")
        assert all(letter.isprintable() or letter == "\n" for letter in out + err)
