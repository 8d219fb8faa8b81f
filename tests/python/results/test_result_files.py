"""Result files: whatever happens to one, what was measured is read, or one line says why not."""

from __future__ import annotations

import errno
import gc
import json
import os
import re
import resource
import stat
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from command_line import run_command
from deepbench import _core, results
from deepbench.results import (
    ResultError,
    ResultFile,
    ResultWriter,
    output_place,
    parse_row,
    read,
    schema,
)
from deepbench.results.ceilings import assessed_line
from deepbench.results.resume_check import first_difference
from example_rows import (
    KEYS_OF_THE_PLAN,
    make_ceiling,
    make_context,
    make_gemm,
    row_of_members,
    with_named_ceilings,
)


def write_result_file(path: Path, rows: int = 2, **context: Any) -> Path:
    lines = [make_context(**context), *(make_gemm(position) for position in range(rows))]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def refusal_message(path: Path) -> str:
    with pytest.raises(ResultError) as caught:
        read(path)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    return message


# ---- reading ----------------------------------------------------------------------------------


def test_reads_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    writer = ResultWriter.create(path)
    writer.write_context(make_context())
    row = {**make_gemm(), "of_the_future": "kept"}
    writer.write_line(json.dumps(row))
    writer.close()
    result = read(path)
    assert [one.members for one in result.rows] == [row]
    assert result.context == make_context()
    assert result.warning is None
    assert result.size == path.stat().st_size


def test_reading_leaves_the_garbage_collector_as_it_is(tmp_path: Path) -> None:
    path = write_result_file(tmp_path / "a.jsonl")
    before = gc.isenabled(), gc.get_freeze_count(), gc.get_threshold()
    read(path)
    assert (gc.isenabled(), gc.get_freeze_count(), gc.get_threshold()) == before


def test_rows_are_on_disk_at_once(tmp_path: Path) -> None:
    writer = ResultWriter.create(tmp_path / "a.jsonl")
    writer.write_context(make_context())
    writer.write_line(json.dumps(make_gemm()))
    assert len(read(tmp_path / "a.jsonl").rows) == 1
    writer.close()


def test_torn_last_line_is_left_out(tmp_path: Path) -> None:
    path = write_result_file(tmp_path / "a.jsonl")
    whole = path.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    for cut in (last + 1, (last + len(whole)) // 2, len(whole) - 2):
        path.write_bytes(whole[:cut])
        result = read(path)
        assert len(result.rows) == 1
        assert result.torn
        assert result.size == last
        assert "cut short" in (result.warning or "")


def test_last_line_that_lacks_only_its_newline_counts(tmp_path: Path) -> None:
    path = write_result_file(tmp_path / "a.jsonl")
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))
    result = read(path)
    assert len(result.rows) == 2
    assert not result.torn


def test_torn_first_line_is_an_error(tmp_path: Path) -> None:
    path = write_result_file(tmp_path / "a.jsonl", rows=0)
    path.write_bytes(path.read_bytes()[:50])
    assert "first line" in refusal_message(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"\x7fELF\x00\xff\xfe", "not a result file"),
        (b"m,n,k\n1,2,3\n", "not a result file"),
        (b'{"type": "row"}\n', "not a result file"),
        (b"[" * 100_000, "not a result file"),
        (b'{"type": "context", "schema": 99, "version": "9.1"}\n', "deepbench 9.1 or newer"),
        (b'{"type": "context", "schema": 1}\n', "has no 'version'"),
    ],
)
def test_what_is_not_ours_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    assert message in refusal_message(path)


def test_bad_line_in_the_middle_names_its_number(tmp_path: Path) -> None:
    path = write_result_file(tmp_path / "a.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b'{"type": "ro\n' + lines[1])
    assert f"{path}:2: is not JSON" in refusal_message(path)
    path.write_bytes(lines[0] + lines[1] + lines[2].replace(b'"ok"', b'"good"'))
    assert f"{path}:3: status" in refusal_message(path)
    path.write_bytes(lines[0] + lines[1] + lines[1])
    assert "two rows at position 0" in refusal_message(path)


def test_missing_file_and_folder(tmp_path: Path) -> None:
    assert "no such file" in refusal_message(tmp_path / "none")
    assert "is a folder" in refusal_message(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_what_has_no_end_is_refused(tmp_path: Path) -> None:
    assert "is not a regular file" in refusal_message(Path("/dev/zero"))
    os.mkfifo(tmp_path / "pipe")
    assert "is not a regular file" in refusal_message(tmp_path / "pipe")
    if Path("/proc/self/pagemap").exists():  # a regular file of size 0 with terabytes to read
        assert "is empty" in refusal_message(Path("/proc/self/pagemap"))


def test_the_number_of_blank_lines_is_bounded(tmp_path: Path) -> None:
    path = write_result_file(tmp_path / "a.jsonl")
    data = path.read_bytes()
    path.write_bytes(data + b"\n" * 1000)
    assert len(read(path).rows) == 2
    path.write_bytes(data + b"\n" * 1001)
    assert "has more than 1000 blank lines" in refusal_message(path)


def test_a_table_would_have_no_end(tmp_path: Path) -> None:
    rows = [make_gemm(i) for i in range(10)]
    for i, row in enumerate(rows):
        row["attributes"] = {f"x{i}_{j}": 1 for j in range(30)}
    path = tmp_path / "wide.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in [make_context(), *rows]))
    with pytest.raises(ResultError, match=r"has 300 names of attributes; .* at most 256"):
        read(path)


@pytest.mark.parametrize("key", ["options", "option_values"])
def test_too_many_options_are_refused(tmp_path: Path, key: str) -> None:
    path = write_result_file(tmp_path / "a.jsonl", **{key: {f"o{n}": "1" for n in range(256)}})
    assert len(read(path).context[key]) == 256
    write_result_file(path, **{key: {f"o{n}": "1" for n in range(100_000)}})
    reason = f":1: {key} has 100,000 names; a result file has at most 256"
    assert refusal_message(path).endswith(reason)


def test_the_size_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sparse").touch()
    os.truncate(tmp_path / "sparse", (1 << 30) + 1)
    assert "is larger than 1024 MiB" in refusal_message(tmp_path / "sparse")
    path = write_result_file(tmp_path / "a.jsonl")
    monkeypatch.setattr(results.reader, "_MAX_FILE_BYTES", path.stat().st_size)
    assert len(read(path).rows) == 2
    monkeypatch.setattr(results.reader, "_MAX_FILE_BYTES", path.stat().st_size - 1)
    assert "is larger than" in refusal_message(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"backend": {"\x1b[2J\x1f\n": 10**30}},
        {"schema": 4, "version": "\x1b]0;owned\x07\n"},
        {"schema": 10**400, "version": ["x" * 10**6]},
    ],
)
def test_a_message_is_a_printable_line_whatever_it_quotes(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(make_context(**changes)) + "\n")
    message = refusal_message(path)
    assert message.isprintable()
    assert len(message) < len(str(path)) + 200


CONTEXT = json.dumps(make_context()).encode() + b"\n"
ROW = json.dumps(make_gemm()).encode() + b"\n"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from([CONTEXT, ROW, b"\n", b"{}\n", b"null\n"]) | st.binary(max_size=30)),
    st.integers(0, 5000),
    st.integers(0, 5000),
)
def test_any_file_is_read_or_refused(
    tmp_path: Path, parts: list[bytes], cut: int, flip: int
) -> None:
    content = bytearray(b"".join(parts))[: max(cut, 1)]
    if content:
        content[flip % len(content)] ^= 1
    path = tmp_path / "fuzz.jsonl"
    for data in (b"".join(parts), bytes(content)):
        path.write_bytes(data)
        try:
            result = read(path)
        except ResultError:
            refusal_message(path)
        else:
            schema.check_context(result.context)
            for row in result.rows:
                schema.check_row(row.members)


def with_escaped_keys(line: str) -> str:
    """The same JSON, whose keys are written with an escape of their first character."""
    return re.sub(r'"(\w)(\w*)":', lambda key: f'"\\u{ord(key[1]):04x}{key[2]}":', line)


def test_keys_may_be_written_with_escapes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The core seeks keys in the text of a line: such a line ended `show` with a traceback."""
    row = with_named_ceilings(make_gemm(0, notes=['a "note": with a colon']))
    visits = [{"type": "visit", "visit": number, "row": make_gemm(1)} for number in (1, 2)]
    lines = [json.dumps(one) for one in (make_ceiling("arithmetic", 10.0), row, *visits)]
    context = json.dumps(make_context(options={"visits": "3"}))
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join([context, *lines]) + "\n")
    plain = read(path)
    path.write_text("\n".join(map(with_escaped_keys, [context, *lines])) + "\n")
    escaped = read(path)
    assert escaped.rows == plain.rows
    assert escaped.ceilings == plain.ceilings
    assert [one.row for one in escaped.visits] == [one.row for one in plain.visits]
    assert list(map(json.loads, escaped.lines)) == list(map(json.loads, plain.lines))
    assert json.loads(assessed_line(escaped.rows[0])) == json.loads(assessed_line(plain.rows[0]))
    assert run_command(capsys, "show", str(path), "--format", "json")[0] == 0


def test_an_escape_in_a_value_leaves_a_line_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    line = json.dumps(make_gemm(0, reason='\u00fc "key": \\')).replace(": ", ":  ")
    path.write_text(f"{json.dumps(make_context())}\n{line}\n")
    assert read(path).lines == (line,)


def test_a_number_of_visits_of_many_digits_counts_as_one(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    visit = {"type": "visit", "visit": 1, "row": make_gemm(0)}
    context = make_context(options={"visits": "9" * 5000})
    path.write_text(f"{json.dumps(context)}\n{json.dumps(visit)}\n")
    assert not read(path).rows[0].notes


# ---- writing ----------------------------------------------------------------------------------


def test_existing_file_is_not_touched(tmp_path: Path) -> None:
    path = write_result_file(tmp_path / "a.jsonl")
    before = path.read_bytes()
    with pytest.raises(ResultError, match="--resume continues it, --overwrite replaces it"):
        ResultWriter.create(path)
    link = tmp_path / "link"
    link.symlink_to("nowhere")
    with pytest.raises(ResultError, match="link: exists"):
        ResultWriter.create(link)
    writer = ResultWriter.create(path, overwrite=True)
    assert path.read_bytes() == before  # until there is something to put in its place
    writer.close()
    assert path.read_bytes() == before
    writer = ResultWriter.create(path, overwrite=True)
    writer.write_context(make_context(set=None))
    writer.close()
    assert read(path).rows == ()


def test_file_that_was_made_for_nothing_is_removed(tmp_path: Path) -> None:
    ResultWriter.create(tmp_path / "a.jsonl").close()
    assert not (tmp_path / "a.jsonl").exists()


def test_full_disk_at_the_start_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jsonl"
    for existing in (False, True):
        writer = ResultWriter.create(path, overwrite=existing)
        written = os.write

        def full(descriptor: int, data: bytes) -> int:
            if len(data) < 100:
                raise OSError(errno.ENOSPC, "No space left on device")
            return written(descriptor, data[:100])  # noqa: B023

        with monkeypatch.context() as patch:
            patch.setattr("deepbench.results.writer.os.write", full)
            with pytest.raises(ResultError, match="the disk is full"):
                writer.write_context(make_context())
        writer.close()
        assert path.exists() == existing  # what was not made here stays, without a torn line
        path.write_bytes(b"")


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="no folder"):
        ResultWriter.create(tmp_path / "none" / "a.jsonl")
    with pytest.raises(ResultError, match="is a folder"):
        ResultWriter.create(tmp_path)
    with pytest.raises(ResultError, match="null"):
        ResultWriter.create(Path("a\0b"))


@pytest.mark.parametrize(
    "begin",
    [
        ResultWriter.create,
        lambda path: ResultWriter.create(path, overwrite=True),
        ResultWriter.for_resuming,
    ],
)
def test_places_where_nothing_can_be_written_get_no_advice_that_fails(
    tmp_path: Path, begin: Callable[[Path], object]
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "astray").symlink_to("none/a.jsonl")
    os.mkfifo(tmp_path / "pipe")
    for name, message in {
        "loop": "is a link that cannot be followed",
        "astray": "is a link into a folder that does not exist",
        "x" * 256: "the name is too long",
        "pipe": "is a pipe that nobody reads|is not a regular file",
    }.items():
        with pytest.raises(ResultError, match=message) as caught:
            begin(tmp_path / name)
        assert caught.value.exit_status == 2
        assert "--" not in str(caught.value)


def test_a_pipe_with_a_reader_is_written(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    writer = ResultWriter.create(tmp_path / "pipe")
    writer.write_context(make_context())
    writer.close()
    assert json.loads(os.read(reader, 1 << 16))["type"] == "context"
    os.close(reader)


def test_a_link_to_a_new_file_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("a.jsonl")
    writer = ResultWriter.create(tmp_path / "link", overwrite=True)
    writer.write_context(make_context())
    writer.close()
    assert read(tmp_path / "a.jsonl").rows == ()


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_permission_error(*arguments: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(
        "deepbench.results.output_place.os.open", raise_permission_error
    )  # root may write anywhere
    with pytest.raises(ResultError, match="permission to write"):
        ResultWriter.create(tmp_path / "a.jsonl")


LONG_NAMES = ["a" * 249 + ".jsonl", "a" * 244 + ".jsonl", "\U0001f600" * 62 + ".jsonl"]


@pytest.mark.parametrize("name", LONG_NAMES, ids=["255", "250", "characters"])
def test_a_file_with_the_longest_name_is_replaced(tmp_path: Path, name: str) -> None:
    """The new content has a name of its own beside the file, until it is complete."""
    path = write_result_file(tmp_path / name)
    writer, old = ResultWriter.for_resuming(path)
    assert old is not None
    writer.replace(old.context, list(old.lines)[:1])
    writer.close()
    assert len(read(path).rows) == 1
    assert [one.name for one in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["a.jsonl", LONG_NAMES[0]])
def test_what_stands_in_the_way_of_a_new_content_is_named(tmp_path: Path, name: str) -> None:
    path = write_result_file(tmp_path / name)
    content = path.read_bytes()
    in_the_way = output_place.place_beside(path, ".", ".new")
    in_the_way.mkdir()
    writer, old = ResultWriter.for_resuming(path)
    assert old is not None
    with pytest.raises(ResultError, match=r"cannot be removed \(.*\); remove it") as caught:
        writer.replace(old.context, old.lines)
    writer.close()
    assert caught.value.exit_status == 2
    assert in_the_way.name in str(caught.value)
    assert path.read_bytes() == content


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("overwrite", [False, True])
def test_full_disk_at_the_start(overwrite: bool) -> None:
    writer = ResultWriter.create(Path("/dev/full"), overwrite=overwrite)
    with pytest.raises(ResultError, match=r"/dev/full: the disk is full"):
        writer.write_context(make_context())
    writer.close()
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


def test_full_disk_on_the_way_keeps_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    writer = ResultWriter.create(path)
    writer.write_context(make_context())
    writer.write_line(json.dumps(make_gemm()))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 100, limits[1]))
    try:
        with pytest.raises(ResultError, match=r"a\.jsonl"):
            writer.write_line(json.dumps(make_gemm(1)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    writer.close()
    result = read(path)
    assert len(result.rows) == 1
    assert not result.torn


# ---- resuming ---------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", [1, 0, -300])
def test_resuming_goes_on_after_the_last_whole_line(tmp_path: Path, cut: int) -> None:
    path = write_result_file(tmp_path / "a.jsonl")
    data = path.read_bytes()
    path.write_bytes(data[: len(data) - 1 if cut == 1 else len(data) + cut])
    kept = len(read(path).rows)
    writer, old = ResultWriter.for_resuming(path)
    assert old == read(path)
    writer.continue_from(old)
    for position in range(kept, 3):
        writer.write_line(json.dumps(make_gemm(position)))
    writer.close()
    assert [row.position for row in read(path).rows] == [0, 1, 2]


@pytest.mark.parametrize("content", [b"", b'{"ty', b'{"type": "context", "schema": 1, "comm'])
def test_resuming_what_its_writer_never_began_begins_it(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    writer, old = ResultWriter.for_resuming(path)
    assert old is None
    assert writer.torn_context == (content != b"")
    writer.write_context(make_context())
    writer.close()
    assert read(path).rows == ()


@pytest.mark.parametrize("content", [b"\n", b"m,n,k", b'{"type": "row"', b'{"type": "context"}\n'])
def test_resuming_what_is_not_ours_leaves_it_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    for _ in range(2):  # the first attempt keeps nobody out
        with pytest.raises(ResultError, match=r"a\.jsonl"):
            ResultWriter.for_resuming(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("instead", [b"", b" ", b"\r"])
@pytest.mark.parametrize("rows", [0, 3])
def test_resuming_a_file_without_newlines_loses_no_row(
    tmp_path: Path, instead: bytes, rows: int
) -> None:
    path = write_result_file(tmp_path / "a.jsonl", rows)
    content = path.read_bytes().replace(b"\n", instead)
    path.write_bytes(content)
    if rows or instead == b"\r":
        with pytest.raises(ResultError, match="its lines do not end with a newline"):
            ResultWriter.for_resuming(path)
    else:  # a context that lacks only its newline
        writer, old = ResultWriter.for_resuming(path)
        assert old is not None
        assert not writer.torn_context
        writer.close()
    assert path.read_bytes() == content


def test_resuming_what_is_no_file(tmp_path: Path) -> None:
    for path in (Path("/dev/null"), tmp_path):
        with pytest.raises(ResultError, match=r"is not a regular file|is a folder"):
            ResultWriter.for_resuming(path)


def test_rows_are_in_their_order_wherever_they_stand(tmp_path: Path) -> None:
    path = write_result_file(tmp_path / "a.jsonl", rows=3)
    first, second, *others = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([first, *others, second]))
    assert [row.position for row in read(path).rows] == [0, 1, 2]


def old_file(**changes: Any) -> ResultFile:
    rows = (row_of_members(make_gemm(0)), row_of_members(make_gemm(1)))
    return ResultFile(Path("a"), make_context(**changes), rows, 1, False)


PROBLEMS = [make_gemm(position)["problem"] for position in range(3)]


def test_same_run_may_be_resumed() -> None:
    new = make_context(started="later", command=["gemm", "train", "-o", "x", "--resume"])
    assert first_difference(old_file(), new, PROBLEMS) is None


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"set": "inference_server"}, "the set was training, now it is inference_server"),
        ({"options": {"samples": "5"}}, "option samples was not given, now it is 5"),
        ({"backend": {"name": "cuda"}}, "the backend was cpu, now it is cuda"),
        ({"device": {"name": "Another"}}, "the device was Example CPU, now it is Another"),
        ({"threads": 4}, "the number of threads was 2, now it is 4"),
        ({"libraries": {"onednn": {"version": "3.3"}}}, "library onednn was 3.2.0"),
        ({"version": "0.2.0"}, "deepbench was 0.1.0, now it is 0.2.0"),
        (
            {"build": {"revision": "2dfc", "modified": False}},
            "the revision of deepbench was 1cfb0545f0e1d2c3b4a5968778695a4b, now it is 2dfc",
        ),
        (
            {"build": {**make_context()["build"], "binaries": {"core": {"build_id": "77"}}}},
            "the build of deepbench's core was 49e20707bcce, now it is 77",
        ),
        (
            {"build": {**make_context()["build"], "kernel_sources": {"digest": "3f"}}},
            "the digest of the kernel sources was not given, now it is 3f",
        ),
        ({"rows": 4}, "the number of rows was 3, now it is 4"),
        ({"plan": "other"}, "the remaining problems differ"),
    ],
)
def test_first_difference_is_named(changes: dict[str, Any], named: str) -> None:
    difference = first_difference(old_file(), make_context(**changes), PROBLEMS)
    assert named in (difference or "")


def test_a_fleet_goes_on_with_the_devices_it_had() -> None:
    def context_of_fleet(*uuids: str | None, machine: str = "n0") -> dict[str, Any]:
        devices = [{"index": i, "name": "X100", "uuid": uuid} for i, uuid in enumerate(uuids)]
        return {"ranks": {"count": 2, "machines": ["n0", machine], "devices": devices}}

    def difference_to_fleet_file(now: dict[str, Any]) -> str | None:
        return first_difference(
            old_file(**context_of_fleet("G-0", "G-1")), make_context(**now), PROBLEMS
        )

    assert difference_to_fleet_file(context_of_fleet("G-0", "G-1")) is None
    changed = "the device of rank 1 was X100 G-1 of n0, now it is X100 "
    assert difference_to_fleet_file(context_of_fleet("G-0", "G-2")) == changed + "G-2 of n0"
    assert (
        difference_to_fleet_file(context_of_fleet("G-0", "G-1", machine="n1"))
        == changed + "G-1 of n1"
    )
    assert difference_to_fleet_file(context_of_fleet("G-0", None)) == changed + "1 of n0"
    before = {"ranks": {"count": 2, "machines": ["n0", "n0"]}}  # a file of an older deepbench
    assert (
        first_difference(old_file(**before), make_context(**context_of_fleet("a", "b")), PROBLEMS)
        is None
    )


def test_other_problems_are_named() -> None:
    others = [PROBLEMS[0], "gemm m=1", PROBLEMS[2]]
    difference = first_difference(old_file(), make_context(), others)
    assert difference == f"row 1 was '{PROBLEMS[1]}', now it is 'gemm m=1'"
    assert "position 1" in (first_difference(old_file(), make_context(), PROBLEMS[:1]) or "")


def test_row_that_no_worker_answered_has_every_key() -> None:
    problem = 'gemm m=2 n=3 k=4 application="A b"'
    line = _core.failed_row(
        problem, position=3, status="failed", reason="the worker crashed: SIGSEGV",
        worker="crashed", backend="cpu", device=1, device_name="Example CPU",
    )  # fmt: skip
    members = json.loads(line)
    assert set(members) == set(make_gemm()) - KEYS_OF_THE_PLAN
    row = parse_row(line.encode())
    assert (row.position, row.op, row.application) == (3, "gemm", "A b")
    assert row.problem == "gemm m=2 n=3 k=4 trans_a=n trans_b=n precision=float"
    assert row.attributes["n"] == 3
    assert (row.work.flops, row.device.index, row.device.name) == (48.0, 1, "Example CPU")
    assert (row.status, row.reason) == ("failed", "the worker crashed: SIGSEGV")
    assert row.observed == {"worker": "crashed"}
    for name in ("algorithm", "regime", "statistics", "rates", "verification", "stages_ns"):
        assert members[name] is None, name


def test_row_of_a_worker_that_still_runs_names_no_end() -> None:
    line = _core.failed_row("gemm m=2 n=3 k=4", position=0, status="failed", reason="nonsense")
    members = json.loads(line)
    assert members["observed"] is None
    assert members["device"] == {"index": None, "name": None}
    assert members["backend"] is None


def test_failed_row_refuses_what_makes_no_row() -> None:
    with pytest.raises(_core.InvalidProblem, match="'q'"):
        _core.failed_row("gemm m=2 n=3 k=4 q=5", position=0, status="failed", reason="")
    with pytest.raises(ValueError, match="no status is called 'broken'"):
        _core.failed_row("gemm m=2 n=3 k=4", position=0, status="broken", reason="")


def test_rows_take_little_more_memory_than_their_file(tmp_path: Path) -> None:
    """As dictionaries, rows took eight times as much as the file, which is limited to 1 GiB."""
    rows = [make_gemm(i, m=i + 1, samples_ns=[1e5 + i + k / 8 for k in range(30)])
            for i in range(300)]  # fmt: skip
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in (make_context(rows=300), *rows)))
    read(path)  # what is loaded once does not count
    tracemalloc.start()
    try:
        result = read(path)
        gc.collect()  # what earlier tests left in cycles may be kept until now
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(result.rows) == 300
    assert used < 4 * path.stat().st_size
