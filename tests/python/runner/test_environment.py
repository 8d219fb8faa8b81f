"""The description of the host, and the search for the backends of other packages."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.abc import MetaPathFinder
from importlib.metadata import Distribution
from pathlib import Path

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


def test_a_machine_is_told_apart_by_its_firmware_else_by_its_system(tmp_path: Path) -> None:
    def write(name: str, text: str) -> str | None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
        return environment.machine_identity({}, tmp_path)

    assert environment.machine_identity({}, tmp_path) is None
    assert write("etc/machine-id", "uninitialized") is None
    system = write("etc/machine-id", "0123456789abcdef" * 2)
    assert system is not None
    assert re.fullmatch("os-[0-9a-f]{16}", system)
    assert "0123456789abcdef" not in system
    assert write("sys/class/dmi/id/board_serial", "4711") == system  # too short to be hidden
    both = write("sys/class/dmi/id/product_uuid", "4C4C4544-0042")
    assert both is not None
    assert re.fullmatch("dmi-[0-9a-f]{16}", both)
    product = write("sys/class/dmi/id/board_serial", "Default String")
    assert len({both, product, write("sys/class/dmi/id/board_serial", "4712")}) == 3
    assert write("sys/class/dmi/id/board_serial", "None") == product


def test_a_variable_keeps_the_identity_of_the_machine_out(monkeypatch: pytest.MonkeyPatch) -> None:
    number = "0123456789abcdef" * 2
    monkeypatch.setattr(
        environment, "read_text", lambda path: number if path.name == "machine-id" else ""
    )
    name = "DEEPBENCH_NO_MACHINE_IDENTITY"
    assert environment.host_context({name: ""})["machine"] is not None
    assert environment.host_context({name: "1"})["machine"] is None


@pytest.mark.parametrize(
    "number",
    [
        "00000000-0000-0000-0000-000000000000",
        "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
        "03000200-0400-0500-0006-000700080009",
        "Default string",
        "To be filled by O.E.M.",
        "To Be Filled By O.E.M.",
        "NONE",
        "Not Specified",
        "System Serial Number",
    ],
)
def test_placeholders_of_the_firmware_are_no_identity(tmp_path: Path, number: str) -> None:
    file = tmp_path / "sys/class/dmi/id/product_uuid"
    file.parent.mkdir(parents=True)
    file.write_text(f"{number}\n")
    assert environment.machine_identity({}, tmp_path) is None


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


def test_places_of_libraries_that_are_missing_are_warned_of(tmp_path: Path) -> None:
    names = {"DEEPBENCH_CPU_LIBRARY_PATH": f"{tmp_path}::/no/such", "LD_LIBRARY_PATH": "/no/such"}
    (warning,) = environment.host_warnings({"environment": names})
    assert warning == "DEEPBENCH_CPU_LIBRARY_PATH names /no/such, where nothing is"


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Installs a package with these backends, in a folder of Python's path that comes first."""

    def install_package(*values: str, folder: str = "packages", info: str = "other-1.dist-info",
                        group: str = libraries.ENTRY_POINT_GROUP) -> Path:  # fmt: skip
        facts = tmp_path / folder / info
        facts.mkdir(parents=True)
        (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1\n")
        lines = [f"[{group}]", *(f"e{place} = {value}" for place, value in enumerate(values))]
        (facts / "entry_points.txt").write_text("\n".join(lines))
        monkeypatch.syspath_prepend(str(facts.parent))
        return facts.parent

    return install_package


PLUGIN = Path("libdeepbench_other.so")  # a test puts both into its own folder
MISNAMED = Path("other.so")


def plugin_of_entry_point() -> Path:
    return PLUGIN


@pytest.fixture
def folder_of_plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, file in (("PLUGIN", PLUGIN), ("MISNAMED", MISNAMED)):
        monkeypatch.setattr(sys.modules[__name__], name, tmp_path / file)
    return tmp_path


def test_backends_of_other_packages(folder_of_plugins: Path, install: Callable[..., Path]) -> None:
    PLUGIN.touch()
    install(f"{__name__}:plugin_of_entry_point", f"{__name__}:PLUGIN")
    warnings: list[str] = []
    assert libraries.plugin_paths(warnings.append) == [str(PLUGIN)]
    assert warnings == []


def test_a_relative_path_of_another_package_is_not_looked_for_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, install: Callable[..., Path]
) -> None:
    monkeypatch.chdir(tmp_path)
    PLUGIN.touch()
    install(f"{__name__}:PLUGIN")
    warnings: list[str] = []
    assert libraries.plugin_paths(warnings.append) == []
    assert "libdeepbench_other.so: the path is relative" in warnings[0]


def test_a_place_of_another_package_without_a_backend_is_a_warning(
    folder_of_plugins: Path, install: Callable[..., Path]
) -> None:
    Path(MISNAMED).touch()
    install(f"{__name__}:PLUGIN", f"{__name__}:MISNAMED")
    warnings: list[str] = []
    assert libraries.plugin_paths(warnings.append) == []
    assert [text.partition(": ")[2] for text in warnings] == [
        f"{PLUGIN}: no such file or folder",
        f"{MISNAMED}: a backend's file must be called libdeepbench_NAME.so",
    ]


def test_broken_package_is_a_warning(install: Callable[..., Path]) -> None:
    install("no.such.module:x", "sys:nothing", "math:pi")
    warnings: list[str] = []
    assert libraries.plugin_paths(warnings.append) == []
    assert len(warnings) == 3
    assert "'e0' (no.such.module:x)" in warnings[0]


@pytest.mark.parametrize(
    ("folder", "info"),
    [
        ("packages", "Other-1.DIST-INFO"),
        ("packages", "other.egg-info"),
        ("other-1.egg", "EGG-INFO"),
    ],
)
def test_every_kind_of_installed_package_is_found(
    folder_of_plugins: Path, install: Callable[..., Path], folder: str, info: str
) -> None:
    PLUGIN.touch()
    install(f"{__name__}:PLUGIN", folder=folder, info=info)
    assert libraries.plugin_paths() == [str(PLUGIN)]


def test_a_backend_of_a_package_in_an_archive_is_found(
    folder_of_plugins: Path, install: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    PLUGIN.touch()
    packages = install(f"{__name__}:PLUGIN")
    archive = shutil.make_archive(str(packages), "zip", packages)
    shutil.rmtree(packages)
    monkeypatch.setattr(sys, "path", [*sys.path, archive])
    assert libraries.plugin_paths() == [str(PLUGIN)]


def test_a_path_of_python_may_hold_what_is_no_text(
    folder_of_plugins: Path, install: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    PLUGIN.touch()
    packages = install(f"{__name__}:PLUGIN")
    others = [place for place in sys.path if place != str(packages)]
    monkeypatch.setattr(sys, "path", [*others, packages])
    assert libraries.plugin_paths() == [str(PLUGIN)]


def test_a_backend_that_a_finder_of_packages_knows_is_found(
    folder_of_plugins: Path, install: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    PLUGIN.touch()
    packages = install(f"{__name__}:PLUGIN")
    sys.path.remove(str(packages))

    class Finder(MetaPathFinder):
        def find_distributions(self, context: object) -> Iterator[Distribution]:
            return iter([Distribution.at(packages / "other-1.dist-info")])

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    assert libraries.plugin_paths() == [str(PLUGIN)]


def test_the_search_for_backends_is_light_where_no_package_has_one(
    install: Callable[..., Path],
) -> None:
    code = (
        "import sys; sys.path[:0] = sys.argv[1:]; sys.modules.pop('importlib.metadata', None);"
        "from deepbench import libraries;"
        "print(libraries.plugin_paths(), 'importlib.metadata' in sys.modules)"
    )
    light = install("math:pi", group="other.backends")
    heavy = install("math:pi", folder="more")
    for folders, said in (([light], "[] False"), ([light, heavy], "[] True")):
        done = subprocess.run(
            [sys.executable, "-c", code, *folders], capture_output=True, text=True
        )
        assert done.stdout.strip() == said, done.stderr


def test_import_is_light() -> None:
    """Importing deepbench, and its command line, loads none of the slow packages."""
    code = (
        "import sys, deepbench, deepbench.cli, deepbench.worker.protocol;"
        "print([name for name in ('numpy', 'click', 'rich', 'argparse', 'deepbench._core')"
        " if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_worker_is_light() -> None:
    code = (
        "import sys; known = {*sys.modules}; import deepbench.worker.protocol;"
        "print({'inspect', 'importlib.metadata'} & ({*sys.modules} - known))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_list_needs_no_reader_of_results() -> None:
    code = (
        "import sys; from deepbench.cli import main; main(['list']);"
        "print('deepbench.results' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


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
