"""deepbench env prints what any backend says, in lines that cannot steer the terminal."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import command_line
from deepbench.cli import env
from deepbench.runner import inspection

# Whatever a backend may try in a description: colors, another title, lines of its own, the control
# characters of eight bits, a change of direction, bytes that are not UTF-8.
EVIL = "a\x1b[31m\x1b]0:title\x07\r\x0bb\x9b2J\u202e\u2028c\udcff"


def run_env(
    plugin: Path, script: str, *options: str, timeout_s: float = 60
) -> subprocess.CompletedProcess[str]:
    return command_line.deepbench(
        "env",
        *options,
        timeout_s=timeout_s,
        DEEPBENCH_BACKEND_PATH=str(plugin),
        DEEPBENCH_FAKE_SCRIPT=script,
    )


def lines_of_fake(text: str) -> list[str]:
    """The lines that tell of the fake backend, without its name and path."""
    return text.partition("\nbackend fake  ")[2].partition("\n\n")[0].splitlines()[1:]


def is_printable(text: str) -> bool:
    return all(letter.isprintable() or letter == "\n" for letter in text)


def test_large_sizes_and_times_are_repeated_in_larger_units(plugin: Path) -> None:
    script = (
        "emit describe_device cache.l2_bytes 2097152\nemit describe_device small_bytes 512\n"
        "emit describe_device row_limit_ns 10000000000"
    )
    lines = lines_of_fake(run_env(plugin, script).stdout)
    assert "    cache.l2_bytes: 2097152 (2.0 MiB)" in lines
    assert "    small_bytes: 512" in lines
    assert "    row_limit_ns: 10000000000 (10.00 s)" in lines


def test_free_texts_are_printed_in_one_line(plugin: Path) -> None:
    script = (
        f"emit describe library.x.version {EVIL}\nemit describe library.x.path {EVIL}\n"
        f"absent y {EVIL}\nemit describe warning.a {EVIL}\nemit describe_device isa {EVIL}"
    )
    done = run_env(plugin, script)
    assert done.returncode == 0
    assert is_printable(done.stdout + done.stderr)
    lines = lines_of_fake(done.stdout)
    assert [line for line in lines if "title" in line] == [
        f"    isa: {SHOWN}",
        f"  library y: absent: {SHOWN}",
        f"  library x {SHOWN}  {SHOWN}",
        f"  warning: {SHOWN}",
    ]
    assert "\x1b" not in run_env(plugin, script, "--format", "json").stdout


SHOWN = "a\ufffd[31m\ufffd]0:title\ufffd b\ufffd2J\ufffd\ufffdc\ufffd"


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (
            f"emit describe_device name {EVIL}",
            "backend fake: describe_device: the device's name has a control character",
        ),
        (
            "emit describe_device name x*100000000",
            "backend fake: describe_device: the device's name has more than 256 characters",
        ),
        (
            "emit describe library.\udcff.version 1",
            "backend fake: describe: a library's name is not UTF-8",
        ),
        (
            f"emit environment NAME {EVIL}",
            "backend fake: environment: the variable NAME has a control character",
        ),
        (
            "flood describe 1000000 x",
            "backend fake: describe: it emits more than 1000 values",
        ),
        (
            "flood describe_device 1000 x*100000",
            "backend fake: describe_device: it emits more than 128 KiB of values",
        ),
        (
            "devices 2147483647",
            "device_count: the backend gave an impossible answer: 2147483647 devices",
        ),
        (
            "devices -1",
            "device_count: the backend gave an impossible answer: -1 devices",
        ),
        (
            "emit describe_device memory_bytes 18446744073709551615",
            "describe_device: the backend gave an impossible answer: "
            "memory_bytes=9223372036854775807",
        ),
        (
            "devices 1000\nflood describe_device 30 x*4000",
            "backend fake: describe_device: its devices tell more than 4 MiB",
        ),
        (f"fail describe failed {EVIL}", f"describe: {SHOWN}"),
    ],
)
def test_a_refused_backend_costs_one_line(plugin: Path, script: str, reason: str) -> None:
    done = run_env(plugin, script)
    assert done.returncode == 0
    assert is_printable(done.stdout + done.stderr)
    assert lines_of_fake(done.stdout)[0] == f"  cannot be used: {reason}"
    assert "backend cpu" in done.stdout


def test_files_whose_names_cannot_be_printed_are_passed_over(plugin: Path, tmp_path: Path) -> None:
    for name in ("a\udcff", "a\x1b[31m", "good"):
        (tmp_path / f"libdeepbench_{name}.so").symlink_to(plugin)
    done = run_env(tmp_path, "")
    assert done.returncode == 0
    assert is_printable(done.stdout + done.stderr)
    assert "backend good" in done.stdout
    assert "backend a" not in done.stdout


def test_a_backend_that_never_stops_is_stopped(
    plugin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspection, "_TIMEOUT_S", 2.0)
    monkeypatch.setenv("DEEPBENCH_FAKE_SCRIPT", "flood describe endless x*1000")
    assert inspection.inspect_backend(str(plugin)) == {
        "reason": "the worker cannot start: no answer within 2.0 s, so the worker was stopped"
    }


def test_facts_of_a_result_are_printed_in_lines() -> None:
    """Whatever the core lets pass, the lines do not depend on it."""
    evil = EVIL.replace("\udcff", "") + "\n"
    facts = {
        "version": "1", "package": "p", "include_dir": "i", "deepbench_run": "r",
        "build": {"revision": evil},
        "host": {evil: evil, "nested": {evil: evil}},
        "warnings": [evil],
        "backends": [
            {
                "name": evil, "path": evil, "reason": evil,
                "devices": [{"index": 0, evil: evil}],
                "libraries": {evil: {"version": evil, "path": evil, "found_by": evil}},
                "environment": {evil: evil},
                "warnings": [evil],
            }
        ],
    }  # fmt: skip
    text = env._facts_text(json.loads(json.dumps(facts)))
    assert is_printable(text)
    assert len(text.splitlines()) == text.count("\n") + 1 == 18
