"""The figures that benchmarks/ takes out of tables and traces, on made-up ones."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from deepbench._core import Problem
from deepbench.accept.families import COMPUTE, SUSTAINED_CLOCKS, chosen_rows
from deepbench.accept.reference import read_reference
from deepbench.problems.selection import select
from deepbench.results import read
from example_rows import make_context, make_gemm, row_of_members
from source_tree import ROOT

FOLDER = ROOT / "benchmarks"


@pytest.fixture(autouse=True)
def make_benchmarks_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))


def write_table(folder: Path, name: str, *rows: dict[str, Any], **context: Any) -> None:
    lines = [make_context(rows=len(rows), **context), *rows]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / f"{name}.jsonl").write_text(text)


def write_wall_seconds(folder: Path, seconds: dict[str, float]) -> None:
    times = {name: {"seconds": one, "device": "GPU-1"} for name, one in seconds.items()}
    (folder / "wall_seconds.json").write_text(json.dumps(times))


def timed_gemm(position: int, median_ns: float, **changes: Any) -> dict[str, Any]:
    row = make_gemm(position, **changes)
    row["statistics"]["median_ns"] = median_ns
    row["stages_ns"] = {
        "prepare": 2e6, "verify": 3e6, "measure": 45e6, "ceilings": 9e9, "other": 1e6,
        "device": 24e6, "rest": 20e6,
    }  # fmt: skip
    return row


def printed_section(folder: Path, section: str, capsys: pytest.CaptureFixture[str]) -> str:
    import device_figures  # type: ignore[import-not-found]

    sys.argv = ["device_figures.py", str(folder), section]
    assert device_figures.main() == 0
    return capsys.readouterr().out


RANKS = ("--devices", "--ranks")  # options that say how many take part


def test_tables_of_a_processor_run_on_it_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also on a machine with a GPU, which `deepbench` would choose."""
    import device_tables  # type: ignore[import-not-found]

    measured: dict[str, list[str]] = {}

    def measure_table(name: str, words: list[str], folder: Path, limit_s: float) -> bool:
        assert folder.is_dir()
        measured[name] = words
        return True

    monkeypatch.setattr(device_tables, "measure_table", measure_table)
    command = ["device_tables.py", "--backend", "cpu"]
    monkeypatch.setattr(sys, "argv", [*command, "--folder", str(tmp_path / "new")])
    assert device_tables.main() == 0
    assert list(measured) == list(device_tables.CPU_TABLES)
    assert all(words[-2:] == ["--backend", "cpu"] for words in measured.values())
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit):
        device_tables.main()
    assert "--backend cpu needs --folder" in capsys.readouterr().err


def test_models_have_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are measured by name only, and each selects its set."""
    import device_tables

    measured: dict[str, tuple[str, ...]] = {}

    def measure_table(name: str, words: list[str], folder: Path, limit_s: float) -> bool:
        measured[name] = tuple(words)
        return True

    monkeypatch.setattr(device_tables, "measure_table", measure_table)
    command = ["device_tables.py", "--folder", str(tmp_path), *device_tables.MODELS]
    monkeypatch.setattr(sys, "argv", command)
    assert device_tables.main() == 0
    assert measured == {
        name: (*words, "--backend", "cuda") for name, words in device_tables.MODELS.items()
    }
    assert not device_tables.MODELS.keys() & device_tables.TABLES.keys()
    commands = device_tables.MODELS.items()
    assert {name: select(op, words, corrected=False).set for name, (op, *words) in commands} == {
        "llm_bfloat16": "llm",
        "mlperf_half": "mlperf",
        "mlperf_v0_5_half": "mlperf-v0.5",
        "lrn_float": "ai-matrix-layers",
    }


def recorded_tables(monkeypatch: pytest.MonkeyPatch, script: ModuleType) -> dict[str, list[str]]:
    """The words of each table that the script asks for, by name. Nothing is measured."""
    measured: dict[str, list[str]] = {}
    monkeypatch.setattr(
        script,
        "measure_table",
        lambda name, words, folder, limit_s: bool(measured.setdefault(name, words)),
    )
    return measured


def test_tables_of_several_devices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import collective_tables  # type: ignore[import-not-found]
    from collective_sweeps import SWEEP  # type: ignore[import-not-found]
    from collectives_page import COMPARED  # type: ignore[import-not-found]

    measured = recorded_tables(monkeypatch, collective_tables)
    command = ["collective_tables.py", "--folder", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", [*command, "--devices", "2"])
    assert collective_tables.main() == 0
    published = {path.stem for path in (ROOT / "results/h200x2").glob("*.jsonl")}
    assert measured.keys() == published
    for name in measured.keys() - {"fleet_all_half_quick"}:
        assert any(pattern.fullmatch(name) for pattern in (SWEEP, COMPARED)), name
    for words in measured.values():
        assert "2" in (words[words.index(name) + 1] for name in words if name in RANKS)
    monkeypatch.setattr(sys, "argv", [*command, "--devices", "1"])
    with pytest.raises(SystemExit):
        collective_tables.main()
    assert "--devices must be at least 2" in capsys.readouterr().err


def test_acceptance_tables_have_what_accept_compares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import acceptance_tables  # type: ignore[import-not-found]

    measured = recorded_tables(monkeypatch, acceptance_tables)
    command = ["acceptance_tables.py", "--folder", str(tmp_path), "--machine", "a"]
    monkeypatch.setattr(sys, "argv", [*command, "--devices", "2"])
    assert acceptance_tables.main() == 0
    assert {(name, words[0], words[-1]) for name, words in measured.items()} == {
        (f"a_device{device}_{name}", word, device)
        for device in "01"
        for name, word in (("memory", "memory"), ("calls", "run"))
    }
    # Each precision has a call that is fast enough to precede what one device measured.
    reference = read_reference(["h200"])
    lines = acceptance_tables.CALLS.read_text().splitlines()
    calls = {str(Problem.parse(line)) for line in lines if not line.startswith("#")}
    rates = {
        (row.entry.attributes["precision"], row.power): row.rate
        for row in sorted(reference.rows, key=lambda row: row.rate)
        if row.entry.problem in calls
    }
    chosen = chosen_rows(reference, 225, 1)
    for family in (COMPUTE, SUSTAINED_CLOCKS):
        for row in chosen[family]:
            best = rates[row.entry.attributes["precision"], row.power]
            assert best >= 0.8 * row.rate, row.entry.problem
    monkeypatch.setattr(sys, "argv", [*command, "--devices", "0"])
    with pytest.raises(SystemExit):
        acceptance_tables.main()
    assert "--devices must be at least 1" in capsys.readouterr().err


def test_tables_keep_the_candidates_that_a_search_compared(tmp_path: Path) -> None:
    import device_tables

    searched, plain = timed_gemm(0, 1e5), timed_gemm(1, 1e5)
    kept: list[dict[str, Any]] = [
        {"candidate": None, "screened_ns": 2e5, "compared_ns": []},
        {"candidate": "quick", "screened_ns": 1e5, "compared_ns": [1.5e5, 1.25e5]},
        {"candidate": "wrong", "refused": "its results are wrong"},
    ]
    screened = {"candidate": "slow", "screened_ns": 4e5, "compared_ns": []}
    searched["algorithm"] |= {"candidates": 4, "tried": [*kept[:2], screened, *kept[2:]]}
    write_table(tmp_path, "gemm_best", searched, plain)
    file = tmp_path / "gemm_best.jsonl"
    context, _, other = file.read_bytes().splitlines()
    device_tables.thin_candidates(file)
    assert file.read_bytes().splitlines()[::2] == [context, other]
    [row, _] = read(file).rows
    assert row.members["algorithm"] == {**searched["algorithm"], "tried": kept}
    assert [path.name for path in tmp_path.iterdir()] == ["gemm_best.jsonl"]


def test_best_against_default(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [timed_gemm(0, 1e5), timed_gemm(1, 1e5)]
    for row in rows:
        row["algorithm"] |= {"default_ns": 4e5, "default_name": "own", "name": "quick"}
    rows[1]["conversion"] = {"operand": "a", "ns": 3e5, "constant": True}
    write_table(tmp_path, "gemm_inference_int8", timed_gemm(0, 3e5), timed_gemm(1, 3e5))
    write_table(tmp_path, "gemm_inference_int8_best", *rows)
    write_wall_seconds(tmp_path, {"gemm_inference_int8": 10, "gemm_inference_int8_best": 30})
    text = printed_section(tmp_path, "best", capsys)
    assert "call 4.000, with conversion 2.000, 2 not default, 0 of 2 slower (goal 6.0" in text
    assert "against gemm_inference_int8: 3.000; 3.0 times its wall time (goal 4)" in text


@pytest.mark.parametrize("name", ["overheads", "cold_cache_counters", "command_runs"])
def test_benchmarks_start_runs_without_history(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The commands run a script that prints the variable, instead of deepbench."""
    import cold_cache_counters  # type: ignore[import-not-found]
    import command_runs  # type: ignore[import-not-found]
    import overheads  # type: ignore[import-not-found]

    script = tmp_path / "python"
    script.write_text(f'#!/bin/sh\necho "<$DEEPBENCH_HISTORY_DIR>" > {tmp_path}/seen\n')
    script.chmod(0o755)
    monkeypatch.setenv("DEEPBENCH_HISTORY_DIR", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(script))
    monkeypatch.setattr(cold_cache_counters, "NCU", (str(script),))
    {
        "overheads": lambda: overheads.time_command_s([str(script)]),
        "cold_cache_counters": lambda: cold_cache_counters.median_counter("x", (), "hot"),
        "command_runs": lambda: command_runs.run_to_file(tmp_path / "rows.jsonl"),
    }[name]()
    assert (tmp_path / "seen").read_text() == "<>\n"


def test_means_count_a_problem_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A problem of two applications is two rows."""
    rows = [timed_gemm(0, 1e5), timed_gemm(1, 1e5), timed_gemm(2, 1e5)]
    figures = (("one", 2e5), ("one", 8e5), ("other", 1e5))
    for row, (problem, default_ns) in zip(rows, figures, strict=True):
        row["problem"] = problem
        row["algorithm"] |= {"default_ns": default_ns, "speedup": default_ns / 1e5}
    write_table(tmp_path, "conv_inference_half_best", *rows)
    assert "interleaved 2.000, call 2.000, with" in printed_section(tmp_path, "best", capsys)


def test_wall_times_name_their_device(tmp_path: Path) -> None:
    from row_figures import WallTime, record_wall_time, wall_times  # type: ignore[import-not-found]

    assert wall_times(tmp_path) == {}
    record_wall_time(tmp_path, "memory", WallTime(5.2, "GPU-1"))
    record_wall_time(tmp_path, "gemm", WallTime(13.8, None))
    assert json.loads((tmp_path / "wall_seconds.json").read_text()) == {
        "memory": {"seconds": 5.2, "device": "GPU-1", "beside": 0},
        "gemm": {"seconds": 13.8, "device": None, "beside": 0},
    }
    assert wall_times(tmp_path)["memory"] == WallTime(5.2, "GPU-1")


def test_choices_are_counted_by_id(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two layouts of one implementation have one name."""
    rows = [timed_gemm(0, 1e5), timed_gemm(1, 1e5)]
    for row, candidate in zip(rows, ("nhwc:own", None), strict=True):
        row["algorithm"] |= {"default_ns": 2e5, "default_name": "own", "name": "own",
                             "candidate": candidate}  # fmt: skip
    write_table(tmp_path, "conv_inference_half_best", *rows)
    assert " 1 not default, 0 of 2 slower" in printed_section(tmp_path, "best", capsys)


def test_a_choice_that_is_slower_is_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [timed_gemm(0, 1e5), timed_gemm(1, 1e5)]
    for row, default_ns in zip(rows, (0.99e5, 1e5), strict=True):
        row["algorithm"] |= {"default_ns": default_ns, "default_name": "own", "name": "own"}
    write_table(tmp_path, "conv_inference_half_best", *rows)
    assert "0 not default, 1 of 2 slower" in printed_section(tmp_path, "best", capsys)


def test_sets_of_all_operations_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"{op}_training_half" for op in ("gemm", "conv", "rnn")]
    for name in names:
        write_table(tmp_path, name, timed_gemm(0, 1e5))
    write_wall_seconds(tmp_path, dict.fromkeys(names[:2], 10.5))
    assert "goal 90" not in printed_section(tmp_path, "sets", capsys)
    write_wall_seconds(tmp_path, dict.fromkeys(names, 10.5))
    text = printed_section(tmp_path, "sets", capsys)
    assert "gemm + conv + rnn, training_half: 31.5 s (goal 90)" in text
    write_table(tmp_path, names[0], timed_gemm(0, 1e5), device={"uuid": "GPU-2"})
    text = printed_section(tmp_path, "sets", capsys)
    assert "training_half: 31.5 s, a sum over 2 devices (goal 90)" in text


def test_repeats_and_costs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_table(
        tmp_path, "gemm_training_half", timed_gemm(0, 5e3), timed_gemm(1, 1e5), timed_gemm(2, 1e5)
    )
    write_table(
        tmp_path,
        "gemm_training_half_2",
        timed_gemm(0, 9e3),
        timed_gemm(1, 1.005e5),
        timed_gemm(2, 1.1e5),
    )
    text = printed_section(tmp_path, "repeat", capsys)
    assert "2 runs, 2 rows over 10 us: 50.0 % within 1 %" in text
    assert "largest 10.00 %" in text
    assert "gemm_training_half         7.0 ms per row" in printed_section(tmp_path, "cost", capsys)


def test_cold_against_hot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_table(tmp_path, "gemm_training_half", timed_gemm(0, 1e4), timed_gemm(1, 1e5))
    write_table(tmp_path, "gemm_training_half_cold", timed_gemm(0, 2e4), timed_gemm(1, 1e5))
    text = printed_section(tmp_path, "cold", capsys)
    assert "x 2.000" in text
    assert "1 of 2 over 1.02" in text


def test_steps_of_layers() -> None:
    import rnn_steps  # type: ignore[import-not-found]
    from command_runs import Run  # type: ignore[import-not-found]

    from deepbench import _core

    rows = [
        row_of_members(timed_gemm(0, 1e5)),
        row_of_members(timed_gemm(1, 1e5, status="unsupported")),
        row_of_members(timed_gemm(3, 1e5, status="incorrect")),
    ]
    assert rnn_steps.column_cells(Run(1.0, {}, rows), 4, 50) == [
        "2.00",
        "-",
        "not run",
        "incorrect",
    ]
    for cell, hidden, batch in (*rnn_steps.TRAINING, *rnn_steps.INFERENCE):
        line = f"rnn cell={cell} hidden={hidden} batch={batch} timesteps={rnn_steps.STEPS}"
        assert _core.Problem.parse(line).op == "rnn"


def traced_kernels(*names: str) -> list[dict[str, object]]:
    return [{"cat": "kernel", "name": name, "dur": len(name)} for name in names]


def test_kernels_of_one_call() -> None:
    import against_profiler as profiler  # type: ignore[import-not-found]

    clock = FOLDER.parent / "src/cuda/kernels/clock.cu"
    assert f" {profiler.STAMP}(" in clock.read_text()
    call = ("gemm", "reduce")
    batch = traced_kernels("stamp", *call * 2, "stamp")
    shuffled = traced_kernels("end_anyhow", "stamp", *call, "stamp")
    events = (
        traced_kernels("fill_elements") + (shuffled + batch) * 3 + traced_kernels("scan_elements")
    )
    found = profiler.split_into_batches(events)
    assert [len(batch) for batch in found] == [2, 4] * 3
    assert profiler.median_of_one_call(found, 2) == {"us": 10.0, "kernels": 2, "reason": None}
    for calls in (None, 3):
        assert profiler.median_of_one_call(found, calls)["us"] == 0
    assert profiler.median_of_one_call([], 2)["reason"] == "no batch of 2 calls in the trace"
    odd = [*found, *profiler.split_into_batches(traced_kernels("stamp", *call * 4, "stamp"))]
    assert profiler.median_of_one_call(odd, 2)["kernels"] == 2


def test_long_calls_are_held_against_the_profiler_in_cycles() -> None:
    import against_profiler as profiler

    def unprofiled_answer(us: float, mhz: float | None = 1500) -> dict[str, object]:
        return {"ns": us * 1e3, "mhz": mhz, "reason": None}

    def profiled_answer(us: float, mhz: float = 1500) -> dict[str, object]:
        return {"us": us, "kernels": 1, "mhz": mhz, "reason": None}

    kernels = [profiled_answer(19.0), profiled_answer(21.0)]
    assert profiler.compared_times_and_mark(
        [unprofiled_answer(22), unprofiled_answer(21), unprofiled_answer(30)], kernels
    ) == (22, 20, "")
    # Cycles 100, 102 and 120 thousand, of the profiled runs 90 and 99: at their mean of 950 MHz.
    fast = [unprofiled_answer(50, 2000), unprofiled_answer(102, 1000), unprofiled_answer(60, 2000)]
    slow = [profiled_answer(100.0, 900), profiled_answer(99.0, 1000)]
    ours_us, kernels_us, how = profiler.compared_times_and_mark(fast, slow)
    assert ours_us == pytest.approx(102 / 0.95)
    assert kernels_us == pytest.approx((90 + 99) / 2 / 0.95)
    assert how == ", same clock"
    assert (
        profiler.compared_times_and_mark([unprofiled_answer(51)] * 3, [profiled_answer(50.0)] * 2)[
            2
        ]
        == ", same clock"
    )
    assert (
        profiler.compared_times_and_mark([unprofiled_answer(51, None)] * 3, slow)[2]
        == ", clocks unknown"
    )
    assert profiler.reason_not_to_compare(fast, slow) == ""
    two = profiled_answer(100.0) | {"kernels": 2}
    assert (
        profiler.reason_not_to_compare(fast, [*slow, two])
        == "under the profiler, calls have different numbers of kernels: [1, 2]"
    )
    failed = {"ns": None, "mhz": None, "status": "unsupported", "reason": "no engine"}
    assert profiler.reason_not_to_compare([*fast, failed], slow) == "unsupported: no engine"
    nothing = {"us": 0.0, "kernels": 0, "mhz": None, "reason": "no batch"}
    assert profiler.reason_not_to_compare(fast, [nothing]) == "under the profiler: no batch"


def test_what_the_profiler_is_held_against() -> None:
    import against_profiler as profiler

    from deepbench import _core

    assert [len(problems) for problems in profiler.SETS.values()] == [20, 20, 20]
    assert profiler.problems_and_options(["conv", "seed=3"]) == (profiler.CONV, ["seed=3"])
    assert profiler.problems_and_options(["seed=3"]) == (profiler.GEMM, ["seed=3"])
    for problems in profiler.SETS.values():
        for problem in problems:
            assert _core.Problem.parse(problem).op == problem.split()[0]


def test_every_phase_of_every_model_has_a_line_of_coverage() -> None:
    from model_coverage import coverage_table  # type: ignore[import-not-found]

    from deepbench.workload import model_file

    lines = [[cell.strip() for cell in line.strip("|").split("|")]
             for line in coverage_table().splitlines()[2:]]  # fmt: skip
    models = {name: model_file.builtin(name) for name in model_file.available()}
    assert [line[:2] for line in lines] == [
        [f"`{name}`", phase] for name, model in models.items() for phase in model.phases
    ]
    shares = {(line[0].strip("`"), line[1]): line[2:] for line in lines}
    assert shares["resnet50", "fwd"][0] == "100 %"  # only convolutions and a product compute
    assert shares["resnet50", "train"][2].startswith("optimizer, ")
    assert all(kinds for _, size, kinds in shares.values() if size != "100 %")


@pytest.mark.parametrize(
    ("part", "whole", "text"), [(2, 2, "100 %"), (0, 0, "100 %"), (1, 3, "33.3 %"),
                                (1e9 - 1, 1e9, "99.9 %"), (0, 5, "0.0 %")]
)  # fmt: skip
def test_a_share_is_100_per_cent_only_of_the_whole(part: float, whole: float, text: str) -> None:
    from model_coverage import per_cent

    assert per_cent(part, whole) == text
