"""Files from strangers: whatever a result file or a suite holds, a line says what is wrong with it
and where, and nothing of it runs. What of it is shown: test_untrusted_output.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from deepbench import references
from deepbench.cli import main
from deepbench.results import ResultError, read, strict_json
from example_rows import make_context, make_gemm, members
from fake_plugin import build_fake_backend
from required_tools import require_program

ROW = json.dumps({**make_gemm(1), "observed": {"mine": "HERE"}, "application": "NAME"})


def with_value(value: str) -> str:
    """The row with a value where the schema says nothing."""
    return ROW.replace('"HERE"', value)


def with_time(value: str) -> str:
    return ROW.replace('"median_ns": 100000.0', f'"median_ns": {value}')


HOSTILE: dict[str, tuple[str | bytes, str]] = {
    "NaN": (with_value("NaN"), "observed.mine is not a finite number"),
    "Infinity": (with_time("Infinity"), "statistics.median_ns is not a finite number"),
    "-Infinity": (with_time("-Infinity"), "median_ns is not a finite number"),
    "a large time": (with_time("1e400"), "statistics.median_ns is not a finite number"),
    "a large number": (with_value("1e400"), "observed.mine is not a finite number"),
    "a number of many digits": (
        with_value("9" * 400 + ".0"), "observed.mine is not a finite number"
    ),
    "a negative time": (with_time("-1"), "statistics.median_ns is -1, less than 0"),
    "a negative sample": (
        ROW.replace('"samples_ns": [100000.0', '"samples_ns": [-0.5'),
        "samples_ns[0] is -0.5, less than 0",
    ),
    "beyond 64 bits": (
        with_value(str(2**64)), "observed.mine is 18446744073709551616, which is out"
    ),
    "an attribute beyond 64 bits": (
        ROW.replace('"m": 1760', f'"m": {-(2**64)}'),
        "attributes.m is -18446744073709551616, which is out of range",
    ),
    "a number of a million digits": (with_value("1" * 1_000_000), ""),
    "a count with a point": (ROW.replace('"n": 30', '"n": 30.5'), "statistics.n is 30.5, not int"),
    "nested": (
        with_value("[" * 40 + "]" * 40), "observed.mine: a value within it is out of range or nes"
    ),
    "nested deeper": (
        with_value('{"a":' * 400 + "1" + "}" * 400), "observed.mine: a value within it"
    ),
    "nested as deeply as it gets": (with_value("[" * 100_000 + "]" * 100_000), "nested too deeply"),
    "nested in the place of a word": (
        ROW.replace('"ok"', "[" * 700 + "]" * 700), "status is [[["
    ),
    "a key twice": (ROW.replace('"status": ', '"status": 1, "status": '), 'the key "status" is th'),
    "a key twice within": (with_value('{"a": 1, "a": 2}'), 'the key "a" is there twice'),
    "a long line": (ROW + " " * strict_json.MAX_LINE_BYTES, "the line has 16,7"),
    "half a character": (ROW.replace("NAME", "\\ud800"), "half of a surrogate pair"),
    "half a character in a key": (with_value('{"\\udfff": 1}'), "half of a surrogate pair"),
    "half a character in bytes": (ROW.encode().replace(b"NAME", b"\xed\xa0\x80"), "is not JSON"),
    "an escaped NUL": (ROW.replace("NAME", "x\\u0000"), "a text has a NUL"),
    "a NUL": (ROW.encode().replace(b"NAME", b"\0"), "is not JSON"),
    "not UTF-8": (ROW.encode().replace(b"NAME", b"\xff"), "is not JSON"),
    "a number": ("1", "the line is 1, not object"),
    "a list": (f"[{ROW}]", "not object"),
    "a text for a row": (json.dumps(ROW), "not object"),
    "a position before the first": (ROW.replace('"position": 1', '"position": -1'), "position is"),
    "a yes for a number": (with_time("true"), "statistics.median_ns is true, not number or null"),
    "a text for a time": (with_time('"1"'), 'statistics.median_ns is "1", not number or null'),
    "two values": (ROW + ROW, "is not JSON"),
    "a status of its own": (ROW.replace('"ok"', '"fine"'), 'status is "fine", not one of "ok"'),
}  # fmt: skip


def write_third_line(path: Path, line: str | bytes, end: bytes = b"\n") -> Path:
    """A file whose third line it is."""
    data = line if isinstance(line, bytes) else line.encode()
    lines = [json.dumps(make_context()).encode(), json.dumps(make_gemm()).encode(), data]
    path.write_bytes(b"\n".join(lines) + end)
    return path


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_line_is_refused_where_it_stands(case: str, tmp_path: Path) -> None:
    line, message = HOSTILE[case]
    path = write_third_line(tmp_path / "a.jsonl", line)
    with pytest.raises(ResultError) as caught:
        read(path)
    said = str(caught.value)
    assert said.startswith(f"{path}:3: ")
    assert message in said
    assert len(said) < len(str(path)) + 250
    assert said.isprintable()


@pytest.mark.parametrize("case", ["NaN", "a key twice", "half a character", "nested"])
def test_a_last_line_is_torn_only_where_it_is_no_json(case: str, tmp_path: Path) -> None:
    """A last line that is valid JSON with a hostile value is an error, and not an incomplete line
    that is left out with a warning."""
    with pytest.raises(ResultError, match=r"a\.jsonl:3: "):
        read(write_third_line(tmp_path / "a.jsonl", HOSTILE[case][0], end=b""))


@pytest.mark.parametrize("case", ["NaN", "a key twice", "an escaped NUL", "beyond 64 bits"])
def test_a_hostile_context_is_refused(case: str, tmp_path: Path) -> None:
    value = {"NaN": "NaN", "a key twice": '{"a": 1, "a": 1}', "an escaped NUL": '"\\u0000"'}
    context = json.dumps(make_context(mine="HERE"))
    path = tmp_path / "a.jsonl"
    path.write_text(context.replace('"HERE"', value.get(case, str(2**64))) + "\n")
    with pytest.raises(ResultError, match=r"a\.jsonl:1: "):
        read(path)


def test_a_second_context_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(2 * (json.dumps(make_context()) + "\n" + json.dumps(make_gemm()) + "\n"))
    with pytest.raises(ResultError, match=r"a\.jsonl:3: is a second context"):
        read(path)


@pytest.mark.parametrize(
    "command", [("show", "FILE"), ("compare", "FILE", "FILE2"),
                ("gemm", "m=8", "n=8", "k=8", "-o", "FILE", "--resume"),
                ("gemm", "m=8", "n=8", "k=8", "--against", "FILE")]
)  # fmt: skip
def test_every_command_says_so(
    command: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad, good = tmp_path / "bad.jsonl", tmp_path / "good.jsonl"
    write_third_line(bad, HOSTILE["a key twice"][0])
    write_third_line(good, json.dumps(make_gemm(1)))
    before = bad.read_bytes()
    names = {"FILE": str(bad), "FILE2": str(good)}
    assert main([names.get(word, word) for word in command]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f'deepbench: error: {bad}:3: the key "status" is there twice\n'
    assert bad.read_bytes() == before


def test_what_an_error_quotes_has_an_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.jsonl"
    long = "x" * 1_000_000
    for context in (make_context(schema=2, version=long), make_context(command=[long], set=long)):
        path.write_text(json.dumps(context) + "\n")
        assert main(["gemm", "m=8", "n=8", "k=8", "-o", str(path), "--resume"]) == 2
        err = capsys.readouterr().err
        assert str(path) in err
        assert len(err) < 2100


def test_compressed_files_are_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(
        (Path(references.__file__).parent / references.available()[0].file).read_bytes()
    )
    with pytest.raises(ResultError, match="is compressed; unpack it first"):
        read(path)


# ---- what stands in a file is not opened, loaded or run ------------------------------------------


@pytest.fixture
def trap_library(tmp_path: Path) -> Iterator[Path]:
    """A library that leaves a mark when it is loaded."""
    compiler = require_program("cc", "gcc")
    mark = tmp_path / "mark"
    source, library = tmp_path / "trap.c", tmp_path / "libdeepbench_trap.so"
    source.write_text(
        "#include <stdio.h>\n__attribute__((constructor)) static void spring(void) "
        f'{{ FILE* file = fopen("{mark}", "w"); if (file) fclose(file); }}\n'
    )
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    yield library
    assert not mark.exists()


def test_libraries_that_a_file_names_are_not_loaded(trap_library: Path, tmp_path: Path) -> None:
    context = make_context(
        set=None,
        backend={"name": str(trap_library), "path": str(trap_library)},
        libraries={"onednn": {"version": "3.2.0", "path": str(trap_library)}},
        environment={"LD_PRELOAD": str(trap_library), "DEEPBENCH_BACKEND_PATH": str(trap_library)},
        host={"environment": {"LD_PRELOAD": str(trap_library)}},
        options={"library": str(trap_library)},
        command=["gemm", "--backend", str(trap_library)],
        device={"name": f"$(touch {trap_library.parent}/mark)"},
    )
    path = tmp_path / "a.jsonl"
    row = make_gemm(0, backend=str(trap_library), library=str(trap_library))
    path.write_text(f"{json.dumps(context)}\n{json.dumps(row)}\n")
    for command in (
        ["show", str(path)], ["compare", str(path), str(path)],
        ["gemm", "m=8", "n=8", "k=8", "-o", str(path), "--resume"],
    ):  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-m", "deepbench", *command],
            capture_output=True, text=True, timeout=600, cwd=tmp_path,
        )  # fmt: skip
        assert "Traceback" not in done.stderr
    assert "--resume with another run: option library was" in done.stderr


SUITE_LINES = {
    "gemm m=8 n=8 k=8 library=./evil.so": "gemm has no attribute 'library'",
    "gemm m=8 n=8 k=8 backend=./evil.so": "gemm has no attribute 'backend'",
    "gemm m=8 n=8 k=8 ; library=evil": "';' is not of the form key=value",
    "gemm m=8 n=8 k=8 position=3": "gemm has no attribute 'position'",
    "../../evil m=8": "no operation is called '../../evil'",
    "gemm m=1e400 n=8 k=8": "m=1e400 is not an integer",
    "gemm m=nan n=8 k=8": "m=nan is not an integer",
    "gemm m=-1 n=8 k=8": "m=-1: must be at least 1",
    "gemm m=18446744073709551616 n=8 k=8": "m=18446744073709551616 does not fit 64 bits",
    "gemm m=9000000000000000000 n=8 k=8": "2 m n k does not fit 64 bits",
    "gemm m=8 m=8 n=8 k=8": "'m' is given twice",
    "gemm m=\u0661 n=8 k=8": "m=\u0661 is not an integer",
    "memory kind=copy bytes=9223372036854775804": "must be at most 1000000000000000",
    "sparse_gemm m=8 n=8 k=8 sparsity=inf": "sparsity=inf is not a number",
    "# default: library=evil\ngemm m=8 n=8 k=8": "names library, which no operation has",
    "gemm m=8 n=8 k=8 application=\x1b]0;x\x07": "invisible character U+001B",
    "gemm m=8 n=8 k=8 application=\u202ex": "invisible character U+202E",
}


@pytest.mark.parametrize("line", SUITE_LINES)
def test_a_hostile_suite_is_refused_where_it_stands(
    line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "suite.txt"
    path.write_text(f"{line}\n")
    assert main(["run", str(path), "-o", str(tmp_path / "out.jsonl")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"deepbench: error: {path}:1: ")
    assert SUITE_LINES[line] in err
    assert err.count("\n") == 1
    assert not (tmp_path / "out.jsonl").exists()


def test_an_application_is_a_name_whatever_it_says(tmp_path: Path) -> None:
    plugin = build_fake_backend(tmp_path / "libdeepbench_fake.so")
    names = ['x" ; library=other ; "', "../../up", "--help", "$(touch x)", "; check=yes", "a\\"]
    suite, out = tmp_path / "suite.txt", tmp_path / "out"
    out.mkdir()
    quoted = (name.replace("\\", "\\\\").replace('"', '\\"') for name in names)
    suite.write_text("".join(f'gemm m=8 n=8 k=8 application="{name}"\n' for name in quoted))
    done = subprocess.run(
        [sys.executable, "-m", "deepbench", "run", str(suite), "--backend", str(plugin),
         "--samples", "2", "-o", "rows.jsonl"],
        capture_output=True, text=True, timeout=600, cwd=out,
        env=os.environ | {"DEEPBENCH_FAKE_SCRIPT": "libraries one other"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = members(read(out / "rows.jsonl").rows)
    assert [row["application"] for row in rows] == names
    assert {(row["library"] or "").split()[0] for row in rows} == {"one"}
    assert sorted(path.name for path in tmp_path.rglob("*")) == sorted(
        ["libdeepbench_fake.so", "out", "rows.jsonl", "suite.txt"]
    )
