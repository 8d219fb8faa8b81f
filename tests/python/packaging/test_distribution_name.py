"""The distribution's name, and that no text tells anyone to install another project's package."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from deepbench import installation
from source_tree import ROOT

FOLDERS = (".ci", "benchmarks", "docs", "examples", "python", "results", "src", "tests", "tools")
SUFFIXES = {"", ".c", ".cpp", ".cu", ".h", ".hpp", ".js", ".md", ".html", ".py", ".sh", ".toml"}
THIS_FILE = Path(__file__).resolve()
# Quotes and line ends between the parts of a string in source text do not hide a command.
FOREIGN = re.compile(r"pip3?\W+install\b(?:[\s\"']+-\S+)*[\s\"'\\n]+deepbench\b(?!-kernels)")


def text_files() -> list[Path]:
    inside = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    files = [*ROOT.glob("*.md"), *ROOT.glob("*.toml"), *inside]
    return [p for p in files if p.is_file() and p.suffix in SUFFIXES and p != THIS_FILE]


@pytest.mark.parametrize(
    "text",
    [
        "pip install NAME",
        "pip install -U NAME",
        "pip install 'NAME[report]'",
        "take pip install \"\n            \"'NAME[xlsx]', or",
        "`pip install NAME`",
    ],
)
def test_a_text_that_installs_another_project_is_recognized(text: str) -> None:
    assert FOREIGN.search(text.replace("NAME", "deepbench"))
    assert not FOREIGN.search(text.replace("NAME", "deepbench-kernels"))


def test_no_text_installs_another_project() -> None:
    files = text_files()
    assert len(files) > 800
    wrong = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in files
        for match in FOREIGN.finditer(path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert not wrong, wrong


def test_the_installed_distribution_has_this_name() -> None:
    assert importlib.metadata.metadata(installation.DISTRIBUTION)["Name"] == "deepbench-kernels"


class FakeDistribution:
    """A distribution that was installed from a folder, as pip records it."""

    def __init__(self, record: object) -> None:
        self._record = record
        self.requires = importlib.metadata.requires(installation.DISTRIBUTION)

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self._record is None else json.dumps(self._record)


def install_record(monkeypatch: pytest.MonkeyPatch, record: object) -> None:
    installed = FakeDistribution(record)
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: installed)


@pytest.mark.parametrize(
    ("information", "command"),
    [({}, "pip install '.[report]'"), ({"editable": True}, "pip install -e '.[report]'")],
)
def test_the_checkout_that_was_installed_is_completed_by_its_extra(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, information: object, command: str
) -> None:
    folder = tmp_path / "a checkout"
    folder.mkdir()
    install_record(monkeypatch, {"url": folder.as_uri(), "dir_info": information})
    monkeypatch.chdir(folder)
    assert installation.install_command("report") == command
    monkeypatch.chdir(tmp_path)
    assert installation.install_command("report") == "pip install 'vl-convert-python>=1.9'"


@pytest.mark.parametrize(
    "record",
    [None, [], {}, {"url": 1, "dir_info": {}}, {"url": "https://example.org", "dir_info": {}},
     {"url": "file:///deepbench.whl", "archive_info": {}}],
)  # fmt: skip
def test_elsewhere_the_packages_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, record: object
) -> None:
    """A stranger's folder is no checkout, whatever its pyproject.toml says: '.[report]' would run
    what the folder holds."""
    install_record(monkeypatch, record)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "deepbench-kernels"\n')
    monkeypatch.chdir(tmp_path)
    assert installation.install_command("report") == "pip install 'vl-convert-python>=1.9'"
    assert installation.install_command("xlsx") == "pip install 'XlsxWriter>=3.1'"
    assert installation.install_command("cu13").endswith("nvidia-cudnn-cu13 nvidia-nccl-cu13")


def test_without_metadata_the_source_folder_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(installation, "DISTRIBUTION", "deepbench-that-is-absent")
    monkeypatch.chdir(tmp_path)
    assert installation.install_command("report") == (
        "pip install '.[report]' in the source folder of deepbench-that-is-absent"
    )


def test_env_warns_of_a_distribution_of_the_other_name(tmp_path: Path) -> None:
    def warnings(variables: dict[str, str]) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-m", "deepbench", "env", "--format", "json"],
            capture_output=True, text=True, timeout=600, check=True, cwd=tmp_path,
            env={**os.environ, **variables},
        )  # fmt: skip
        return [text for text in json.loads(done.stdout)["warnings"] if "distribution" in text]

    folder = tmp_path / "packages"
    (folder / "deepbench-0.1.0.dist-info").mkdir(parents=True)
    (folder / "deepbench-0.1.0.dist-info/METADATA").write_text(
        "Metadata-Version: 2.1\nName: deepbench\nVersion: 0.1.0\n"
    )
    assert warnings({}) == []
    (warning,) = warnings({"PYTHONPATH": str(folder)})
    assert "'deepbench' 0.1.0 is installed beside deepbench-kernels" in warning
    assert "pip uninstall deepbench" in warning


def test_the_cuda_backend_names_the_packages_of_the_extras() -> None:
    """python_packages.cpp repeats what the extras cu12 and cu13 list."""
    source = (ROOT / "src/cuda/python_packages.cpp").read_text()
    project = (ROOT / "pyproject.toml").read_text()
    extras = set(re.findall(r"cuda-toolkit\[([a-z,]+)\]", project))
    assert extras == set(re.findall(r'toolkit_parts\("([a-z,]+)"', source))
    for name in re.findall(r'separate_package\("(\w+)"', source):
        assert f'"nvidia-{name}-cu12"' in project
        assert f'"nvidia-{name}-cu13"' in project
