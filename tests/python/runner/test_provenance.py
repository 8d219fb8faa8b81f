"""What a result file says about the build, the options and the caches of compiled code."""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
from pathlib import Path

import pytest

from deepbench import _core
from deepbench.cli import command
from deepbench.cli.options import OPTIONS, run_options
from deepbench.results.build import revision_text, version_text
from deepbench.runner import provenance
from deepbench.runner.build_id import build_id
from deepbench.runner.run_options import RunOptions
from required_tools import require_program
from source_tree import ROOT

# Options that decide where rows go and how they are shown.
OF_OUTPUT = {"output", "overwrite", "format", "columns", "price", "against", "history"}


def options_of(*words: str) -> RunOptions:
    return run_options(command.parse_arguments(list(words), OPTIONS))


def note(order: str, name: bytes, kind: int, value: bytes, alignment: int = 4) -> bytes:
    def padded(part: bytes) -> bytes:
        return part + bytes(-len(part) % alignment)

    begin = struct.pack(f"{order}III", len(name), len(value), kind)
    return padded(begin + name) + padded(value)


def elf_file(order: str, notes: bytes, alignment: int = 4) -> bytes:
    """A 64-bit file with a segment of another kind and one of notes."""
    letter = b"\1" if order == "<" else b"\2"
    header = b"\x7fELF\2" + letter + bytes(26) + struct.pack(f"{order}Q", 64)
    header += bytes(14) + struct.pack(f"{order}HH", 56, 2) + bytes(6)
    begin = 64 + 2 * 56
    segments = struct.pack(f"{order}IIQQQQQQ", 1, 0, 0, 0, 0, 1 << 40, 0, 4096)
    segments += struct.pack(f"{order}IIQQQQQQ", 4, 0, begin, 0, 0, len(notes), 0, alignment)
    return header + segments + notes


@pytest.mark.parametrize("order", ["<", ">"], ids=["little endian", "big endian"])
@pytest.mark.parametrize("alignment", [4, 8])
def test_build_id_is_read_from_the_notes(tmp_path: Path, order: str, alignment: int) -> None:
    notes = [
        note(order, b"GNU\0", 5, b"property", alignment),
        note(order, b"Go\0", 3, b"of another tool", alignment),
        note(order, b"GNU\0", 3, bytes.fromhex("00ff49e2"), alignment),
    ]
    path = tmp_path / "libx.so"
    path.write_bytes(elf_file(order, b"".join(notes), alignment))
    assert build_id(path) == "00ff49e2"
    path.write_bytes(elf_file(order, b"".join(notes[:2]), alignment))
    assert build_id(path) is None


def test_build_id_is_that_of_the_linker() -> None:
    require_program("readelf")
    done = subprocess.run(["readelf", "-n", _core.__file__], capture_output=True, text=True)
    shown = re.search(r"Build ID: ([0-9a-f]+)", done.stdout)
    assert build_id(_core.__file__) == (shown and shown.group(1))


def test_a_file_without_build_id_has_none(tmp_path: Path) -> None:
    whole = elf_file("<", note("<", b"GNU\0", 3, b"12345678"))
    path = tmp_path / "libx.so"
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert build_id(path) is None
    path.write_text("INPUT(libx.so.1)")
    os.mkfifo(tmp_path / "pipe")
    for other in (path, tmp_path / "pipe", tmp_path, tmp_path / "missing", None, "a\0b"):
        assert build_id(other) is None


def test_binaries_and_libraries_have_build_ids(tmp_path: Path) -> None:
    path = tmp_path / "libx.so"
    path.write_bytes(elf_file("<", note("<", b"GNU\0", 3, b"\x12")))
    binaries = provenance.build_facts({"path": str(path)})["binaries"]
    assert binaries["backend"] == {"path": str(path), "build_id": "12"}
    assert binaries["bindings"]["path"] == _core.__file__
    assert set(provenance.build_facts({})["binaries"]) == {"bindings", "core"}
    libraries = {
        "x": {"version": "1", "path": str(path)},
        "kernels": {"version": "1", "path": "built in"},
        "y": {"reason": "not found"},
    }
    assert provenance.with_build_ids(libraries) == {
        **libraries,
        "x": {"version": "1", "path": str(path), "build_id": "12"},
    }
    assert provenance.with_build_ids(None) == {}


def test_sources_that_are_compiled_during_a_run_have_a_digest(tmp_path: Path) -> None:
    def digest_of(folder: Path) -> str | None:
        facts = provenance.build_facts({"kernel_sources": str(folder)})["kernel_sources"]
        assert facts["path"] == str(folder)
        return facts["digest"]

    assert "kernel_sources" not in provenance.build_facts({})
    assert digest_of(tmp_path / "missing") is None
    assert digest_of(tmp_path) is None
    digests = set()
    for name, text in (("a.cu", "1"), ("a.cu", "2"), ("b.h", ""), ("b.h", "1")):
        (tmp_path / name).write_text(text)
        digests.add(digest_of(tmp_path))
    assert len(digests) == 4
    assert None not in digests
    os.mkfifo(tmp_path / "pipe")
    assert digest_of(tmp_path) in digests
    with (tmp_path / "huge.h").open("wb") as file:
        file.truncate(1 << 30)
    assert digest_of(tmp_path) is None


def test_sources_of_a_size_that_is_not_theirs_are_not_read_to_their_end(tmp_path: Path) -> None:
    """A backend may name any folder, and files of /proc do not state a size."""
    empty, endless = tmp_path / "empty", tmp_path / "endless"
    empty.mkdir()
    endless.mkdir()
    (empty / "a.cu").write_text("")
    (endless / "a.cu").symlink_to("/proc/self/maps")
    first, second = (
        provenance.build_facts({"kernel_sources": str(folder)})["kernel_sources"]["digest"]
        for folder in (empty, endless)
    )
    assert first is not None
    assert first == second


@pytest.mark.parametrize(
    ("text", "revision", "shown"),
    [
        ('{"revision": "1cfb0545f0", "modified": false}', ("1cfb0545f0", False), "1cfb0545"),
        ('{"revision": "1cfb0545f0", "modified": true}', ("1cfb0545f0", True),
         "1cfb0545, modified"),
        ('{"revision": null, "modified": null}', (None, None), None),
        ("[]", (None, None), None),
        (None, (None, None), None),
    ],
)  # fmt: skip
def test_revision_is_what_the_build_recorded(
    tmp_path: Path,
    text: str | None,
    revision: tuple[str | None, bool | None],
    shown: str | None,
) -> None:
    file = tmp_path / "revision.json"
    if text is not None:
        file.write_text(text)
    facts = provenance.recorded_revision(file)
    assert (facts["revision"], facts["modified"]) == revision
    assert revision_text(facts) == shown
    of_version = "deepbench 0.1.0" if shown is None else f"deepbench 0.1.0 ({shown})"
    assert version_text({"version": "0.1.0", "build": facts}) == of_version
    assert version_text({"version": "published", "build": facts}) is None


def test_caches_of_compiled_code_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPBENCH_CACHE_DIR", str(tmp_path))
    (tmp_path / "kernels/sub").mkdir(parents=True)
    (tmp_path / "kernels/one").write_bytes(b"123")
    (tmp_path / "kernels/sub/two").write_bytes(b"12345")
    found = provenance.compile_caches({"HOME": str(tmp_path)})
    assert found == {
        "kernels": {"path": str(tmp_path / "kernels"), "files": 2, "bytes": 8},
        "driver": {"path": str(tmp_path / ".nv/ComputeCache"), "files": 0, "bytes": 0},
    }
    chosen = {"HOME": "/nowhere", "CUDA_CACHE_PATH": str(tmp_path / "kernels")}
    assert provenance.compile_caches(chosen)["driver"]["files"] == 2
    assert provenance.compile_caches({**chosen, "CUDA_CACHE_DISABLE": "1"})["driver"] is None
    (tmp_path / "kernels").chmod(0o777)
    assert provenance.compile_caches(chosen)["kernels"] is None
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked/kernels").symlink_to(ROOT)
    monkeypatch.setenv("DEEPBENCH_CACHE_DIR", str(tmp_path / "linked"))
    assert provenance.compile_caches(chosen)["kernels"] is None
    monkeypatch.setenv("DEEPBENCH_CACHE_DIR", "relative")
    assert provenance.compile_caches({}) == {"kernels": None, "driver": None}


def test_every_option_has_a_value() -> None:
    values = options_of().values()
    names = {option.flag.removeprefix("--").removeprefix("no-").replace("-", "_")
             for option in OPTIONS}  # fmt: skip
    assert names - OF_OUTPUT - set(values) == set()
    json.dumps(values)
    given = options_of("--samples", "5", "--no-pad", "--cache", "both", "--quick", "--ranks", "2",
                       "--power", "sustained", "--hang-limit", "90").values()  # fmt: skip
    changed = {name: value for name, value in given.items() if value != values[name]}
    assert changed == {
        "samples": "5", "pad": "no", "cache": "both", "quick": "yes", "ranks": "2",
        "power": "sustained", "hang_limit": "90", "time_limit": "2",
    }  # fmt: skip


def test_a_list_of_devices_begins_with_the_device() -> None:
    values = options_of("--devices", "3,1").values()
    assert (values["device"], values["devices"]) == ("3", "3,1")


def test_default_values_are_those_of_the_protocol() -> None:
    """The core's own tests compare it with the same page."""
    page = (ROOT / "docs/reference/protocol.md").read_text(encoding="utf-8")
    table = page.split("## Options")[1]
    documented = {}
    for line in table.splitlines():
        if line.startswith("| `"):
            name, _, default, _ = (cell.strip().strip("`") for cell in line.split("|")[1:5])
            documented[name] = default
    with pytest.raises(ValueError, match="there are device devices library") as refused:
        _core.check_options("unknown=1")
    assert set(str(refused.value).partition("; there are ")[2].split()) == set(documented)
    of_one_row = {"budget", "check", "first", "position", "visit"}
    of_rows = set(documented) - of_one_row
    in_words = {"library": "the backend's first", "devices": "", "constant": "none"}
    assert {name: documented[name] for name in in_words} == in_words
    values = options_of().values()
    assert {name: values[name] for name in of_rows} == {
        name: None if name in in_words else documented[name] for name in of_rows
    }
