"""The description of the host, and the search for the backends of other packages."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from deepbench import libraries
from deepbench.runner import environment


def test_host_is_described() -> None:
    host = environment.host_context()
    json.dumps(host)
    assert host["cpus"] >= 1  # type: ignore[operator]
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", str(host["python"]))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", environment.timestamp())


def test_a_host_that_tells_nothing_is_described_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(environment, "read_text", lambda path: "")
    monkeypatch.setattr(environment, "_CPU", tmp_path)
    host = environment.host_context()
    assert host["quota_cpus"] is None
    assert host["memory_bytes"] is None
    assert host["governor"] is None


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({"cpu.max": "150000 100000"}, 1.5),
        ({"cpu.max": "max 100000"}, None),
        ({"cpu.max": "nonsense"}, None),
        ({"cpu/cpu.cfs_quota_us": "200000", "cpu/cpu.cfs_period_us": "100000"}, 2.0),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ({"cpu/cpu.cfs_quota_us": "200000", "cpu/cpu.cfs_period_us": "0"}, None),
    ],
)
def test_quota(monkeypatch: pytest.MonkeyPatch, files: dict[str, str], quota: float | None) -> None:
    def read_fake_file(path: Path) -> str:
        return files.get(str(path.relative_to("/sys/fs/cgroup")), "")

    monkeypatch.setattr(environment, "read_text", read_fake_file)
    assert environment.cpu_quota() == quota


def test_relevant_variables() -> None:
    found = environment.relevant_variables({"OMP_NUM_THREADS": "2", "HOME": "/", "LD_PRELOAD": "x"})
    assert found == {"LD_PRELOAD": "x", "OMP_NUM_THREADS": "2"}


def test_secrets_are_redacted() -> None:
    found = environment.relevant_variables({"DEEPBENCH_RANKS_SECRET": "s3cret", "MASTER_ADDR": "a"})
    assert found == {"DEEPBENCH_RANKS_SECRET": "(redacted)", "MASTER_ADDR": "a"}


def test_variables_that_change_arithmetic_are_warned_of() -> None:
    context = {"environment": {"NVIDIA_TF32_OVERRIDE": "1", "OMP_NUM_THREADS": "2"}}
    (warning,) = environment.host_warnings(context)
    assert warning.startswith("NVIDIA_TF32_OVERRIDE=1 in the environment changes the arithmetic")


def set_entry_points(monkeypatch: pytest.MonkeyPatch, *values: str) -> None:
    found = [
        EntryPoint(f"e{i}", value, libraries.ENTRY_POINT_GROUP) for i, value in enumerate(values)
    ]

    def entry_points(**selection: Any) -> list[EntryPoint]:
        assert selection == {"group": "deepbench.backends"}
        return found

    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)


PLUGIN = Path("libdeepbench_other.so")  # a test puts both into its own folder
MISNAMED = Path("other.so")


def plugin_of_entry_point() -> Path:
    return PLUGIN


@pytest.fixture
def folder_of_plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, file in (("PLUGIN", PLUGIN), ("MISNAMED", MISNAMED)):
        monkeypatch.setattr(sys.modules[__name__], name, tmp_path / file)
    return tmp_path


def test_backends_of_other_packages(
    folder_of_plugins: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    PLUGIN.touch()
    set_entry_points(monkeypatch, f"{__name__}:plugin_of_entry_point", f"{__name__}:PLUGIN")
    warnings: list[str] = []
    assert libraries.plugin_paths(warnings.append) == [str(PLUGIN)]
    assert warnings == []


def test_a_relative_path_of_another_package_is_not_looked_for_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    PLUGIN.touch()
    set_entry_points(monkeypatch, f"{__name__}:PLUGIN")
    warnings: list[str] = []
    assert libraries.plugin_paths(warnings.append) == []
    assert "libdeepbench_other.so: the path is relative" in warnings[0]


def test_a_place_of_another_package_without_a_backend_is_a_warning(
    folder_of_plugins: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(MISNAMED).touch()
    set_entry_points(monkeypatch, f"{__name__}:PLUGIN", f"{__name__}:MISNAMED")
    warnings: list[str] = []
    assert libraries.plugin_paths(warnings.append) == []
    assert [text.partition(": ")[2] for text in warnings] == [
        f"{PLUGIN}: no such file or folder",
        f"{MISNAMED}: a backend's file must be called libdeepbench_NAME.so",
    ]


def test_broken_package_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    set_entry_points(monkeypatch, "no.such.module:x", "sys:nothing", "math:pi")
    warnings: list[str] = []
    assert libraries.plugin_paths(warnings.append) == []
    assert len(warnings) == 3
    assert "'e0' (no.such.module:x)" in warnings[0]


def test_import_is_light() -> None:
    """Importing deepbench, and its command line, loads none of the slow packages."""
    code = (
        "import sys, deepbench, deepbench.cli, deepbench.worker.protocol;"
        "print([name for name in ('numpy', 'click', 'rich', 'argparse', 'deepbench._core')"
        " if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_pipe_needs_no_rich() -> None:
    code = (
        "import sys; from deepbench.cli import main; main(['list']); main(['gemm', '--help']);"
        "print([name for name in ('numpy', 'rich') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_public_names_exist() -> None:
    import deepbench

    for name in deepbench.__all__:
        assert getattr(deepbench, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = deepbench.nothing
