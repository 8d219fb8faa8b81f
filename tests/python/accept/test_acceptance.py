"""deepbench accept on machines that the fake backend emulates: good ones, and ones with a fault."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import threading
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from acceptance_files import write_devices
from command_line import DEEPBENCH, TIMEOUT_S, deepbench, run_command
from example_rows import make_context, make_gemm
from polling import wait_until
from report_files import result_file_text

FACTORS = (0.99, 0.995, 1.0, 1.005, 1.01)  # of the devices of the reference
DEVICE = """
emit describe_device name Fake
emit describe_device energy 1
emit describe_device power_limit_w 700
emit describe_device ecc_corrected_errors 2
emit describe_device ecc_uncorrected_errors 0
emit describe_device throttle_events 3
mhz 1500
"""
RESTED = """
gemm m=64 n=64 k=64 precision=float
memory kind=read bytes=1048576
memory kind=read bytes=268435456
memory kind=h2d bytes=1048576
"""
# Another problem, so that a script can slow down a sustained load alone.
SUSTAINED = "gemm m=96 n=64 k=64 precision=float\n"

Accept = Callable[..., tuple[int, str]]


@pytest.fixture(scope="session")
def files(plugin: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """What a good machine measures, rested and sustained."""
    folder = tmp_path_factory.mktemp("reference")
    for name, text, words in (
        ("rested", RESTED, ()),
        ("sustained", SUSTAINED, ("--power", "sustained", "--energy")),
    ):
        (folder / f"{name}.txt").write_text(text)
        done = deepbench(
            "run", f"{name}.txt", "--backend", "fake", "--visits", "1", "--no-ceilings",
            "-o", f"{name}.jsonl", *words, folder=folder,
            DEEPBENCH_BACKEND_PATH=str(plugin), DEEPBENCH_FAKE_SCRIPT=DEVICE,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    return folder / "rested.jsonl", folder / "sustained.jsonl"


@pytest.fixture
def accept(
    plugin: Path,
    files: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Accept:
    """Accepts a machine with a script against five devices; returns the status and what is said."""
    monkeypatch.setenv("DEEPBENCH_BACKEND_PATH", str(plugin))
    reference = write_devices(tmp_path / "reference", files, FACTORS)

    def run(
        script: str, *words: str, against: str = str(reference), device: str = DEVICE
    ) -> tuple[int, str]:
        monkeypatch.setenv("DEEPBENCH_FAKE_SCRIPT", device + script)
        status, out, err = run_command(
            capsys, "accept", "--against", against, "--backend", "fake", "--minutes", "0.1", *words
        )
        return status, out or err

    return run


def alarms(text: str) -> list[str]:
    """The families that raised an alarm."""
    found = (line.partition(": ")[2] for line in text.splitlines() if line.startswith("alarm: "))
    return [alarm.partition(":")[0] for alarm in found]


class Cells(HTMLParser):
    """The texts of the cells of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.feed(page)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_a_good_machine_passes(accept: Accept, tmp_path: Path) -> None:
    page, kept = tmp_path / "page.html", tmp_path / "kept"
    status, text = accept("", "--report", str(page), "--keep", str(kept))
    assert status == 0, text
    assert text.startswith("PASS: Fake, against ")
    assert "one good machine in a hundred" in text
    families = ("compute", "memory", "cache", "host links", "sustained clocks", "energy")
    for family in families:
        [line] = [one for one in text.splitlines() if one.startswith(f"{family} ")]
        assert line.split()[-2:] == ["5", "within"]
    cells = Cells(page.read_text()).texts
    assert {"deepbench accept", "rows", "Course of the soaks", "throttling events"} <= set(cells)
    assert cells.count("700") == 2  # the power limit of the reference and here
    assert cells.count("1500, 1500") == len(families)  # clocks in the reference and here
    rows = [json.loads(line) for file in kept.glob("*.jsonl") for line in file.open()]
    assert {row["problem"] for row in rows if row["type"] == "row"} >= {
        "memory kind=h2d bytes=1048576"
    }


def test_a_machine_that_tells_no_errors_passes_without_them(accept: Accept) -> None:
    untold = "".join(line for line in DEVICE.splitlines(keepends=True) if "ecc_c" not in line)
    status, text = accept("", device=untold)
    assert status == 3
    assert "missing: neither backend nor system tells the count of corrected" in text
    status, text = accept("", "--without", "errors, throttling", device=untold)
    assert status == 0
    assert text.splitlines()[0].endswith(", without errors")
    assert "without: neither backend nor system tells the count of corrected" in text


def test_a_device_at_nine_tenths_of_its_clock_fails(accept: Accept) -> None:
    status, text = accept("mhz 1350\nwhen op=gemm model 1111 900 100 1000")
    assert status == 1
    assert alarms(text) == [
        f"{family} of device 0" for family in ("compute", "sustained clocks", "energy")
    ]


def test_a_power_cap_of_four_fifths_fails(accept: Accept) -> None:
    """A capped device keeps its clock while it rests between batches, and not under load."""
    status, text = accept(
        "emit describe_device power_limit_w 560\nflags 2\n"
        "when op=gemm m=96 mhz 1200\nwhen op=gemm m=96 model 1250 800 100 1000"
    )
    assert status == 1
    assert "sustained clocks of device 0" in alarms(text)
    assert "compute of device 0" not in alarms(text)
    assert "power_limit_w is 560, in the reference 700" in text


def test_a_narrow_host_link_fails(accept: Accept) -> None:
    status, text = accept("when kind=h2d time 4097")
    assert status == 1
    assert alarms(text) == ["host links of device 0"]


def test_a_slow_neighbor_among_four_fails(
    accept: Accept, files: tuple[Path, Path], tmp_path: Path
) -> None:
    products = write_devices(tmp_path / "products", files[:1], FACTORS, "gemm")
    script = "devices 4\nwhen rank=2 model 1100 900 100 1000"
    status, text = accept(script, against=str(products))
    assert status == 1
    assert alarms(text) == ["compute of device 2"]
    assert "rank 2 (" in text
    assert "links between devices: the reference has no rows of it" in text


def test_a_slow_link_between_devices_fails(
    accept: Accept, files: tuple[Path, Path], plugin: Path, tmp_path: Path
) -> None:
    done = deepbench(
        "all_reduce", "elements=100000", "precision=float", "--devices", "2", "--backend", "fake",
        "-o", "links.jsonl", folder=tmp_path,
        DEEPBENCH_BACKEND_PATH=str(plugin), DEEPBENCH_FAKE_SCRIPT=f"{DEVICE}devices 2",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    every = write_devices(tmp_path / "every", [tmp_path / "links.jsonl", *files], FACTORS)
    status, text = accept("devices 2\nwhen op=all_reduce time 6000", against=str(every))
    assert status == 1
    assert alarms(text) == ["links between devices"]
    assert "missing: " not in text
    judged = [line.split() for line in text.splitlines() if line.endswith(" within")]
    assert {(words[0], words[-9]) for words in judged} == {
        (family, device)
        for family in ("compute", "memory", "cache", "host", "sustained", "energy")
        for device in "01"
    }


def test_a_device_that_disappears_fails(accept: Accept) -> None:
    status, text = accept("when kind=h2d fail prepare device_lost the bus is silent")
    assert status == 1
    assert "a device is lost: " in text
    assert "soak: it was not made" in text


def test_a_device_that_no_longer_answers_fails(
    accept: Accept, plugin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The backend is gone once the first row has been timed, and no further worker starts."""
    backend, log = tmp_path / plugin.name, tmp_path / "log"
    shutil.copy(plugin, backend)
    monkeypatch.setenv("DEEPBENCH_BACKEND_PATH", str(backend))

    def remove_backend() -> None:
        wait_until(lambda: log.exists() and "time_batch" in log.read_text())
        backend.unlink()

    remover = threading.Thread(target=remove_backend)
    remover.start()
    status, text = accept(f"log {log}")
    remover.join()
    assert status == 1
    assert "a device is lost: " in text
    assert "sustained clocks of device 0: " in text


def test_a_missing_library_and_spread_make_it_incomplete(
    accept: Accept, files: tuple[Path, Path], tmp_path: Path
) -> None:
    context, *rows = files[0].read_text().splitlines()
    asked = {**json.loads(context), "options": {"library": "gone"}}
    file = tmp_path / "other_library.jsonl"
    file.write_text("\n".join([json.dumps(asked), *rows, ""]))
    status, text = accept("libraries fake gone\nabsent gone it was sold", against=str(file))
    assert status == 3
    assert text.startswith("INCOMPLETE: ")
    assert "no reference spread of compute, memory" in text
    assert "it was sold" in text
    assert "memory of device 0: memory kind=read bytes=268435456 was not measured" in text


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_is_no_verdict(
    accept: Accept, files: tuple[Path, Path], tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    page.symlink_to("/dev/full")
    products = write_devices(tmp_path / "products", files[:1], FACTORS, "gemm")
    status, text = accept("", "--report", str(page), against=str(products))
    assert status == 2
    assert text.startswith("INCOMPLETE: ")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--minutes", "0"], "--minutes '0': must be a number above 0"),
        (["--minutes", "-5"], "--minutes '-5': must be a number above 0"),
        (["--report", "page.pdf"], "must be named PAGE.html or PAGE.md"),
        (["--report", "no/page.html"], "there is no folder 'no'"),
        (["--keep", "/"], "File exists; name a new folder"),
        (["--devices", "0,0"], "must name each device once"),
        (["--overwrite"], "--overwrite needs --report FILE"),
        (["gemm"], "accept takes no word, not 'gemm'"),
        (["--without", "energy,driver"], "--without 'driver': must be one of compute, memory, "),
    ],
)
def test_bad_usage_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, words: list[str], error: str
) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text(result_file_text([make_gemm()], make_context()))
    status, out, err = run_command(capsys, "accept", "--against", str(file), *words)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert error in err


@pytest.mark.parametrize("is_symbolic", [True, False])
@pytest.mark.parametrize("against", ["mine.jsonl", "."])
def test_the_report_never_replaces_the_reference(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    against: str,
    is_symbolic: bool,
) -> None:
    monkeypatch.chdir(tmp_path)
    file, link = Path("mine.jsonl"), Path("page.html")
    file.write_text(result_file_text([make_gemm()], make_context()))
    before = file.read_bytes()
    (link.symlink_to if is_symbolic else link.hardlink_to)(file)
    words = ("--against", against, "--report", "page.html", "--overwrite")
    status, out, err = run_command(capsys, "accept", *words)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "--report 'page.html': is also an input; choose another output" in err
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("against", "error"),
    [
        ("v100", "published figures were measured by other rules"),
        ("nowhere.jsonl", "nowhere.jsonl: there is no such file"),
        (",", "accept needs a reference: --against NAMES"),
    ],
)
def test_references_that_cannot_be_used(
    capsys: pytest.CaptureFixture[str], against: str, error: str
) -> None:
    status, out, err = run_command(capsys, "accept", "--against", against)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert error in err


def test_another_kind_of_device_is_refused(accept: Accept, tmp_path: Path) -> None:
    """Nothing stays of it, so that the corrected command may name the same folder."""
    status, text = accept("emit describe_device name Other", "--keep", str(tmp_path / "kept"))
    assert status == 2
    assert text.count("\n") == 1
    assert "device 0 is Other, and the reference is of Fake" in text
    assert not (tmp_path / "kept").exists()


def test_a_full_disk_of_the_kept_files_is_no_verdict(
    plugin: Path, files: tuple[Path, Path], tmp_path: Path
) -> None:
    """A limit of the size of files stands for the disk."""
    limit = (4096, resource.getrlimit(resource.RLIMIT_FSIZE)[1])
    done = subprocess.run(
        [*DEEPBENCH, "accept", "--against", str(files[0]), "--backend", "fake", "--minutes", "0.1",
         "--keep", "kept"],
        capture_output=True, text=True, timeout=TIMEOUT_S, cwd=tmp_path,
        env={**os.environ, "DEEPBENCH_BACKEND_PATH": str(plugin), "DEEPBENCH_FAKE_SCRIPT": DEVICE},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        "may not grow further (ulimit -f); every row written before is kept"
        in done.stderr.splitlines()[-1]
    )
