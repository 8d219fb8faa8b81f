"""No file of the working directory is executed or loaded: no module, plugin or library, whatever
its name."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from fake_plugin import build_fake_backend
from rank_processes import LIMIT_S, QUICK, rank_environment
from required_tools import require_program

GEMM = ("gemm", "m=8", "n=8", "k=8", *QUICK)
RANKS = ("all_reduce", "elements=100", "--backend", "cpu", "--ranks", "2", *QUICK)


class HostileFolder:
    """A working directory in which everything leaves a mark when it is run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "work"
        self.folder.mkdir()
        self._marks = folder / "marks"
        self._marks.mkdir()
        self._write_trap_modules()
        self._write_trap_package()
        self._write_trap_plugin()
        self._write_trap_library()

    @property
    def executed_traps(self) -> list[str]:
        return sorted(mark.name for mark in self._marks.iterdir())

    def write_trap_module(self, name: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        mark = str(self._marks / name.replace("/", "."))
        path.write_text(f"open({mark!r}, 'w').close()\nraise ImportError('it ran')\n")

    def _write_trap_modules(self) -> None:
        """Writes a module for every name that Python has not loaded when deepbench starts."""
        known = subprocess.run(
            [sys.executable, "-c", "import runpy, sys; print(*sys.modules)"],
            capture_output=True, text=True, check=True,
        ).stdout.split()  # fmt: skip
        assert not {"json", "signal", "subprocess"} & set(known)
        others = {"numpy", "rich", "_deepbench_editable", "sitecustomize", "usercustomize"}
        for name in {*sys.stdlib_module_names, *others} - {*known, *sys.builtin_module_names}:
            self.write_trap_module(f"{name}.py")

    def _write_trap_package(self) -> None:
        for name in ("__init__", "cli", "worker", "_core"):
            self.write_trap_module(f"deepbench/{name}.py")

    def _write_trap_plugin(self) -> None:
        facts = self.folder / "evil-1.0.dist-info"
        facts.mkdir()
        (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
        (facts / "entry_points.txt").write_text("[deepbench.backends]\nevil = evil:path\n")
        self.write_trap_module("evil.py")

    def _write_trap_library(self) -> None:
        compiler = require_program("cc", "gcc")
        source = self.folder / "mark.c"
        mark = json.dumps(str(self._marks / "library"))
        source.write_text(
            "#include <stdio.h>\n"
            "__attribute__((constructor)) static void run(void)"
            f'{{ fclose(fopen({mark}, "w")); }}\n'
        )
        library = self.folder / "nvidia/cu13/lib/libcudart.so.13"
        library.parent.mkdir(parents=True)
        command = [compiler, "-shared", "-fPIC", "-o", str(library), str(source)]
        subprocess.run(command, check=True)
        for name in ("libdeepbench_evil.so", "libdeepbench_cpu.so", "libmkl_rt.so.2"):
            shutil.copy(library, self.folder / name)

    def run(self, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """A command within it, which must succeed."""
        variables.setdefault("PYTHONDONTWRITEBYTECODE", "1")
        done = subprocess.run(
            [sys.executable, *command], capture_output=True, text=True, timeout=LIMIT_S,
            cwd=self.folder, env=rank_environment(**variables), stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done


@pytest.fixture
def hostile_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HostileFolder:
    for variable in ("PYTHONPATH", "PYTHONSAFEPATH", "LD_LIBRARY_PATH"):
        monkeypatch.delenv(variable, raising=False)
    return HostileFolder(tmp_path)


@pytest.fixture
def installed_script(tmp_path: Path) -> str:
    """The `deepbench` command, as an installer writes it."""
    file = tmp_path / "bin" / "deepbench"
    file.parent.mkdir()
    file.write_text("import sys\nfrom deepbench.cli import main\nsys.exit(main())\n")
    return str(file)


def test_what_the_folder_holds_would_run(hostile_folder: HostileFolder) -> None:
    """Each trap works: what follows shows something."""
    for statement in ("import json", "import evil", "import ctypes", "import deepbench._core"):
        code = f"import sys; sys.path.insert(0, ''); sys.meta_path[:0] = []\n{statement}"
        subprocess.run(
            [sys.executable, "-S", "-c", code], cwd=hostile_folder.folder, capture_output=True
        )
    code = "import ctypes; ctypes.CDLL('./nvidia/cu13/lib/libcudart.so.13')"
    isolated = [sys.executable, "-I", "-c", code]
    subprocess.run(isolated, cwd=hostile_folder.folder, check=True)
    assert {"json.py", "evil.py", "ctypes.py", "library", "deepbench.__init__.py"} <= {
        *hostile_folder.executed_traps
    }


@pytest.mark.parametrize(
    "words",
    [GEMM, (*GEMM, "--in-process"), ("env", "--format", "json"), RANKS,
     ("gemm", "m=8", "n=8", "k=8", "--backend", "cpu", "--ranks", "2", *QUICK)],
    ids=["gemm", "in_process", "env", "all_reduce", "fleet"],
)  # fmt: skip
def test_the_command_runs_nothing_of_the_working_directory(
    hostile_folder: HostileFolder, installed_script: str, words: tuple[str, ...]
) -> None:
    done = hostile_folder.run(installed_script, *words)
    assert hostile_folder.executed_traps == []
    assert "evil" not in done.stdout + done.stderr


@pytest.mark.parametrize("words", [GEMM, ("env",), RANKS], ids=["gemm", "env", "all_reduce"])
def test_python_m_runs_nothing_of_the_working_directory(
    hostile_folder: HostileFolder, words: tuple[str, ...]
) -> None:
    """Nothing of the working directory runs, except a package that is itself called deepbench:
    `python -m deepbench` looks for it there first, so this test removes it."""
    shutil.rmtree(hostile_folder.folder / "deepbench")
    done = hostile_folder.run("-m", "deepbench", *words)
    assert hostile_folder.executed_traps == []
    assert "evil" not in done.stdout + done.stderr


def test_a_worker_that_is_started_by_hand_runs_nothing_of_it(hostile_folder: HostileFolder) -> None:
    shutil.rmtree(hostile_folder.folder / "deepbench")
    done = hostile_folder.run("-m", "deepbench.worker", "cpu")
    assert json.loads(done.stdout)["type"] == "hello"
    assert hostile_folder.executed_traps == []


def test_ranks_that_others_started_run_nothing_of_it(
    hostile_folder: HostileFolder, installed_script: str
) -> None:
    from rank_processes import RankProcesses

    ranks = RankProcesses(2)
    words = [word for word in RANKS if word not in ("--ranks", "2")]
    place = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(ranks.port)}
    processes = [
        subprocess.Popen(
            [sys.executable, installed_script, *words], cwd=hostile_folder.folder,
            env=rank_environment(**place, RANK=str(rank)), stdout=subprocess.DEVNULL,
        )
        for rank in (0, 1)
    ]  # fmt: skip
    assert [process.wait(LIMIT_S) for process in processes] == [0, 0]
    assert hostile_folder.executed_traps == []


# ---- what the user names -------------------------------------------------------------------------


def package_with_backend(folder: Path) -> None:
    """An installed package that brings the backend mine."""
    facts = folder / "mine-1.0.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[deepbench.backends]\nmine = mine:path\n")
    (folder / "mine.py").write_text(
        "from pathlib import Path\n"
        "path = str(Path(__file__).absolute().with_name('libdeepbench_mine.so'))\n"
    )
    build_fake_backend(folder / "libdeepbench_mine.so")


@pytest.mark.parametrize("entry", ["packages", "{}/packages", "./packages:"])
def test_pythonpath_is_the_users(tmp_path: Path, installed_script: str, entry: str) -> None:
    """Relative or not, the command and its workers find the same in it."""
    package_with_backend(tmp_path / "packages")
    words = ("gemm", "m=8", "n=8", "k=8", "--backend", "mine", *QUICK)
    for command in ([installed_script], ["-m", "deepbench"]):
        done = subprocess.run(
            [sys.executable, *command, *words, "--format", "json"], capture_output=True, text=True,
            cwd=tmp_path, env=rank_environment(PYTHONPATH=entry.format(tmp_path)), timeout=LIMIT_S,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert f"{tmp_path}/packages/libdeepbench_mine.so" in done.stdout


def test_the_working_directory_in_pythonpath_is_meant(
    tmp_path: Path, installed_script: str
) -> None:
    package_with_backend(tmp_path / "packages")
    for command in ([installed_script], ["-m", "deepbench"]):
        done = subprocess.run(
            [sys.executable, *command, "env"], capture_output=True, text=True,
            cwd=tmp_path / "packages", env=rank_environment(PYTHONPATH="."), timeout=LIMIT_S,
        )  # fmt: skip
        assert "backend mine" in done.stdout, done.stderr


def test_a_folder_of_pythonpath_stays_where_the_working_directory_is_gone(tmp_path: Path) -> None:
    package_with_backend(tmp_path / "packages")
    code = "import os, sys; os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone');"
    code += "os.execv(sys.executable, [sys.executable, '-m', 'deepbench', 'env'])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path,
        env=rank_environment(PYTHONPATH=str(tmp_path / "packages")), timeout=LIMIT_S,
    )  # fmt: skip
    assert "backend mine" in done.stdout, done.stderr


def test_workers_leave_out_what_the_command_was_told_to_leave_out(
    hostile_folder: HostileFolder, installed_script: str
) -> None:
    for flag in ("-I", "-E"):
        hostile_folder.run(flag, installed_script, *GEMM, PYTHONPATH=str(hostile_folder.folder))
    assert hostile_folder.executed_traps == []


# ---- which deepbench a worker is -----------------------------------------------------------------


def test_a_worker_is_of_its_parents_package(tmp_path: Path) -> None:
    """Wherever the parent found it: here in a folder that is not on the worker's path."""
    import deepbench.worker

    package = tmp_path / "found" / "deepbench"
    other = tmp_path / "other" / "deepbench"
    for folder in (package, other):
        (folder / "worker").mkdir(parents=True)
        for name in ("__init__.py", "worker/__init__.py"):
            (folder / name).touch()
        (folder / "worker" / "protocol.py").write_text(
            textwrap.dedent("""
                import sys, deepbench
                def run_worker():
                    print(deepbench.__file__, __file__, *sys.argv[1:], sep="\\n")
            """)
        )
    assert deepbench.worker.__file__
    start = Path(deepbench.worker.__file__).with_name("__main__.py")
    shutil.copy(start, package / "worker")
    done = subprocess.run(
        [sys.executable, "-S", str(package / "worker" / "__main__.py"), "words"],
        capture_output=True, text=True, check=True, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(other.parent)},
    )  # fmt: skip
    protocol = package / "worker" / "protocol.py"
    assert done.stdout.splitlines() == [str(package / "__init__.py"), str(protocol), "words"]
