"""The comparison with PyTorch: which calls are compared, and what their kernels and times show."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from source_tree import ROOT

GEMM = "gemm m=1024 n=384 k=1024 trans_a=t trans_b=n precision=half"
TRACE = ROOT / "tests/samples/traces/torch-2.11.0-h100-graph.json.gz"


@pytest.fixture(autouse=True)
def make_benchmarks_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))


# ---- kernels in traces -------------------------------------------------------------------------


def kernel(name: str, ts: float, dur: float, grid: int = 8) -> dict[str, Any]:
    """An event as torch's profiler writes it."""
    arguments = {"stream": 7, "correlation": 1, "grid": [grid, 1, 1], "block": [128, 1, 1]}
    return {"ph": "X", "cat": "kernel", "name": name, "ts": ts, "dur": dur, "args": arguments}


def exported(events: list[dict[str, Any]]) -> dict[str, Any]:
    launch = {"ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "ts": 1, "dur": 9}
    others = [{"ph": "M", "name": "process_name", "ts": 0}, launch]
    return {"schemaVersion": 1, "traceEvents": [*others, *events]}


def test_kernels_of_a_row() -> None:
    """Batches of two calls with two kernels each; the reduction comes late in the file."""
    import against_profiler as profiler  # type: ignore[import-not-found]
    from kernel_causes import kernels_of  # type: ignore[import-not-found]

    gemms, reductions = [], []
    for batch in range(4):
        begin = 100.0 * batch
        gemms += [kernel("stamp", begin, 1, 132), kernel("gemm", begin + 10, 6.0),
                  kernel("gemm", begin + 30, 8.0), kernel("stamp", begin + 50, 1, 132)]  # fmt: skip
        reductions += [kernel("reduce", begin + at, 2.0, 2) for at in (20, 40)]
    events = profiler.events_on_device(exported([*gemms, *reductions]))
    batches = profiler.whole_batches(profiler.split_into_batches(events), 2)
    assert len(batches) == 2
    found = kernels_of([event for batch in batches for event in batch], 2 * len(batches))
    assert found.names == ("gemm", "reduce")
    assert found.launches == ("8x1x1 of 128x1x1", "2x1x1 of 128x1x1")
    assert found.us == 9.0


def test_work_ahead_of_a_graph_is_no_part_of_a_call() -> None:
    from kernel_causes import kernels_of

    once = [kernel("fill", 0, 50.0), {"cat": "gpu_memset", "name": "Memset", "dur": 1.0}]
    found = kernels_of([*once, *(kernel("relu", at, 1.5) for at in range(20))], 20)
    assert (found.names, found.us) == (("relu",), 1.5)
    assert kernels_of(once, 20) is None
    assert kernels_of([], 20) is None


def test_kernels_of_a_recorded_graph() -> None:
    import against_profiler as profiler
    from kernel_causes import kernels_of

    with gzip.open(TRACE, "rt") as file:
        found = kernels_of(profiler.events_on_device(json.load(file)), 1)
    assert len(found.names) == 7
    assert found.names[0].startswith("sm80_xmma_fprop_implicit_gemm_f32f32_")
    assert found.launches[0] == "1x64x1 of 64x1x1"
    assert found.us == pytest.approx(28.033)


# ---- causes ------------------------------------------------------------------------------------


def kernels(us: float, *names: str, launch: str = "8x1x1 of 128x1x1") -> Any:
    from kernel_causes import Kernels

    return Kernels(names, (launch,) * len(names), us)


def compared(us: float, torch_us: float, **facts: Any) -> Any:
    """By default both sides have the same kernel, which takes the same time."""
    from kernel_causes import Compared

    same = {"kernels": kernels(10, "gemm"), "torch_kernels": kernels(10, "gemm")}
    return Compared("gemm", 1, us, us, torch_us, **{**same, **facts})


def cause_of(one: Any) -> str:
    from kernel_causes import verdict_on

    return str(verdict_on(one).cause)


@pytest.mark.parametrize(
    ("us", "torch_us", "number", "cause"),
    [
        (104.9, 100, 1, "equal names"),
        (95.1, 100, 1, "equal names"),
        (106, 100, 1, "unexplained"),
        (94, 100, 1, "unexplained"),
        (2.5, 2.0, 1, "equal names"),
        (2.6, 2.0, 1, "unexplained"),
        (2.6, 2.0, 2, "equal names"),
    ],
)
def test_equal_names_agree_within_limits(
    us: float, torch_us: float, number: int, cause: str
) -> None:
    same = kernels(10, *["gemm"] * number)
    assert cause_of(compared(us, torch_us, kernels=same, torch_kernels=same)) == cause


def test_differences_of_equal_names() -> None:
    from kernel_causes import verdict_on

    slower = kernels(12, "gemm", launch="4x1x1 of 128x1x1")
    one = compared(12, 10, kernels=slower)
    assert verdict_on(one).cause == "launch"
    assert verdict_on(one).evidence == "4x1x1 of 128x1x1 / PyTorch: 8x1x1 of 128x1x1"
    assert cause_of(replace(one, kernels=replace(slower, us=10.9))) == "unexplained"
    assert cause_of(compared(12, 10, mhz=1500, torch_mhz=1800)) == "clock"
    assert cause_of(compared(12, 10, mhz=1800, torch_mhz=1500)) == "unexplained"
    assert cause_of(compared(10.6, 10, mhz=1940, torch_mhz=1980)) == "unexplained"
    assert cause_of(replace(compared(12, 10), before_us=9, after_us=15)) == "repeatability"
    assert cause_of(replace(compared(12, 10), before_us=11, after_us=13)) == "unexplained"


def test_causes_of_other_names() -> None:
    from kernel_causes import verdict_on

    other = compared(12, 10, kernels=kernels(12, "void first<8>(int)"),
                     torch_kernels=kernels(10, "second"))  # fmt: skip
    assert verdict_on(other).cause == "algorithm"
    assert verdict_on(other).evidence == "first / PyTorch: second"
    assert cause_of(replace(other, padding="c=8")) == "layout"
    converting = kernels(12, "cudnn::nchwToNhwcKernel<half>", "second")
    assert cause_of(replace(other, kernels=converting)) == "layout"
    two = replace(other, kernels=kernels(12, "first", "reduce"))
    assert verdict_on(two).cause == "number of kernels"
    assert verdict_on(two).evidence == "2 and 1; first + reduce / PyTorch: second"


def test_a_difference_that_the_kernels_do_not_have_is_unexplained() -> None:
    from kernel_causes import verdict_on

    other = compared(12, 10, kernels=kernels(10.9, "first"), torch_kernels=kernels(10, "second"))
    assert verdict_on(other).cause == "unexplained"
    assert "under the profiler 10.900 / PyTorch: 10.000 us" in verdict_on(other).evidence
    assert cause_of(replace(other, before_us=10.4, after_us=10.4)) == "algorithm"
    more = kernels(10, "first", "reduce")  # gaps between kernels are part of the call alone
    assert cause_of(replace(other, kernels=more)) == "number of kernels"
    assert cause_of(replace(other, kernels=more, before_us=8, after_us=8)) == "unexplained"


def test_what_is_missing_is_unexplained() -> None:
    from kernel_causes import Compared, verdict_on

    known = compared(10, 10)
    no_call = replace(known, torch_us=None, reason="torch: no call")
    assert verdict_on(no_call) == verdict_on(Compared("x", 1, 1.0, reason="torch: no call"))
    assert verdict_on(no_call).evidence == "torch: no call"
    untraced = replace(known, torch_kernels=None)
    assert verdict_on(untraced).evidence == "the trace has no kernels of the call"
    assert cause_of(untraced) == "unexplained"


def test_a_summary_weighs_by_time_and_count() -> None:
    from kernel_causes import ProblemShare, summarize

    many = replace(compared(10, 10), count=6)
    slower = compared(11, 10, mhz=1000, torch_mhz=1100)
    other = compared(20, 10, kernels=kernels(20, "first"))
    odd = replace(other, kernels=None, before_us=9.0, after_us=9.0)
    found = summarize([many, slower, other, odd])
    assert found.equal == ProblemShare(2, 0.71)
    assert (found.agreeing, found.median_ratio, found.median_excess_us) == (1, 1.05, 0.5)
    assert found.causes == {"clock": ProblemShare(1, 0.11), "algorithm": ProblemShare(1, 0.2)}
    assert found.unexplained == ProblemShare(1, 0.09)
    assert not found.is_good
    assert replace(found, unexplained=ProblemShare(1, 0.05)).is_good
    assert not replace(found, unexplained=ProblemShare(1, 0.05), without_time=1).is_good
    assert not replace(
        found, unexplained=ProblemShare(0, 0), median_ratio=1.06, median_excess_us=9
    ).is_good
    near = replace(found, unexplained=ProblemShare(0, 0), median_ratio=1.06, median_excess_us=0.4)
    assert near.is_good


def test_a_workload_without_equal_names_shows_nothing() -> None:
    from kernel_causes import Compared, summarize

    found = summarize([compared(12, 10, kernels=kernels(12, "first"))])
    assert found.median_ratio is None
    assert found.unexplained.problems == 0
    assert not found.is_good
    nothing = summarize([Compared("x", 1, reason="before: unsupported")])
    assert (nothing.without_time, nothing.unexplained.problems, nothing.is_good) == (1, 1, False)


# ---- calls -------------------------------------------------------------------------------------


def test_rows_make_pytorchs_calls() -> None:
    from pytorch_calls import rows_on_pytorchs_terms  # type: ignore[import-not-found]

    from deepbench import _core

    assert rows_on_pytorchs_terms(GEMM) == [
        (f"{GEMM} epilogue=bias", "workspace=1048576 pad=no"),
        (f"{GEMM} epilogue=bias", "workspace=1048576"),
    ]
    vector = GEMM.replace("n=384", "n=1")
    assert rows_on_pytorchs_terms(vector)[0] == (vector, "library=cublas pad=no")
    conv = "conv w=7 h=7 c=3 n=1 k=8 s=1 r=1 precision=half"
    assert rows_on_pytorchs_terms(conv)[0] == (conv, "workspace=1073741824 pad=no")
    relu = "activation kind=relu elements=64 precision=half"
    for other in (relu, f"{GEMM} batch=4"):
        assert rows_on_pytorchs_terms(other) == [(other, "")]
    for problem in (GEMM, vector, conv, relu):
        for words, _ in rows_on_pytorchs_terms(problem):
            assert _core.Problem.parse(words).op == problem.split()[0]


def test_options_are_those_of_the_runner() -> None:
    from measure_both_sides import time_row  # type: ignore[import-not-found]

    from deepbench import _core

    runner = _core.Runner("cpu", "ceilings=no samples=3", [])
    product = "gemm m=32 n=8 k=16 trans_a=t precision=float epilogue=bias"
    row = time_row(runner, f"{product} ; workspace=1048576 pad=no")
    assert (row["status"], row["padding"]) == ("ok", "")
    assert row["ns"] > 0
    assert time_row(runner, f"{product} ; verify=no samples=3")["status"] == "ok"


@pytest.mark.parametrize(
    ("problem", "shape"),
    [
        (GEMM, (384, 1024)),
        (GEMM.replace("n=384", "n=1"), (1, 1024)),
        (
            "conv w=14 h=10 c=8 n=2 k=16 s=3 r=3 pad_w=1 pad_h=1 stride_w=2 stride_h=2",
            (2, 16, 5, 7),
        ),
        ("norm kind=batch rows=12 columns=8 phase=inference", (1, 8, 12, 1)),
        ("norm kind=layer rows=12 columns=8 phase=inference", (12, 8)),
        ("norm kind=rms rows=12 columns=8 phase=inference", (12, 8)),
        ("activation kind=gelu elements=96", (96,)),
        ("softmax rows=3 columns=8", (3, 8)),
        ("elementwise kind=add rows=3 columns=8", (3, 8)),
        ("elementwise kind=swiglu rows=3 columns=8", (3, 8)),
        ("elementwise kind=rotary rows=3 columns=64 dim=16", (3, 4, 16)),
        (
            "pool kind=max n=2 c=4 h=8 w=8 r=3 s=3 pad_h=1 pad_w=1 stride_h=2 stride_w=2",
            (2, 4, 4, 4),
        ),
        ("pool kind=average n=2 c=4 h=7 w=7 r=7 s=7", (2, 4, 1, 1)),
        ("embedding rows=64 dim=8 lookups=1 batch=5", (5, 8)),
        (
            "attention batch=1 heads=8 kv_heads=2 seq_q=6 seq_kv=6 dim=16 mask=bottom_right",
            (1, 8, 6, 16),
        ),
        (
            "attention batch=1 heads=8 kv_heads=2 seq_q=1 seq_kv=9 dim=16 mask=bottom_right",
            (1, 8, 1, 16),
        ),
    ],
)
def test_calls_have_the_shape_of_the_output(problem: str, shape: tuple[int, ...]) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    from pytorch_calls import call_of

    assert tuple(call_of(problem, "cpu")().shape) == shape


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (GEMM.replace("trans_a=t", "trans_a=n"), "trans_a=n"),
        (f"{GEMM} batch=4", "batch=4"),
        ("lrn n=1 c=8 h=3 w=3 size=3", "lrn"),
        ("attention batch=1 heads=8 seq_q=4 seq_kv=9 dim=16 mask=bottom_right", "seq_q=4"),
        ("norm kind=batch rows=12 columns=8 phase=training", "phase=training"),
        ("gemm m=32 n=32 k=32 trans_a=t precision=int8", "int8"),
    ],
)
def test_calls_that_pytorch_does_not_make(problem: str, reason: str) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    from pytorch_calls import call_of

    with pytest.raises(ValueError, match=reason):
        call_of(problem, "cpu")


# ---- measuring and comparing -------------------------------------------------------------------


def test_one_failure_leaves_the_other_answers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The device and both sides are made up; PyTorch has no call for the second problem."""
    import measure_both_sides as both

    def fail_for_second(name: str) -> Callable[..., dict[str, Any]]:
        def answer(torch: object, problem: str) -> dict[str, Any]:
            if problem == "second":
                raise ValueError(f"{name}:\nno call")
            return {"us": 10.0}

        return answer

    cuda = SimpleNamespace(init=lambda: None, empty_cache=lambda: None)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    monkeypatch.setattr(both, "create_runner", lambda options: None)
    monkeypatch.setattr(both, "first_row", lambda runner, problem: {"line": problem, "ns": 1e4})
    monkeypatch.setattr(both, "time_row", lambda runner, line: {"line": line, "ns": 1e4})
    monkeypatch.setattr(both, "kernels_of_row", lambda runner, row: {"us": 9.0})
    monkeypatch.setattr(both, "time_call", fail_for_second("time"))
    monkeypatch.setattr(both, "kernels_of_call", fail_for_second("trace"))
    both.measure(["first", "second"])
    *answers, libraries = map(json.loads, capsys.readouterr().out.splitlines())
    keys = [(answer["problem"], *answer.keys() - {"problem"}) for answer in answers]
    assert keys == [
        ("first", "before"), ("first", "torch"), ("first", "after"),
        ("second", "before"), ("second", "reason"), ("second", "after"),
        ("first", "kernels"), ("first", "torch_kernels"),
        ("second", "kernels"), ("second", "reason"),
    ]  # fmt: skip
    assert answers[4]["reason"] == "torch: time: no call"
    assert libraries == {"libraries": []}


def test_a_row_without_padding_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    import measure_both_sides as both

    def answer_only_padded(runner: object, line: str) -> dict[str, Any]:
        if "pad=no" in line or GEMM not in line:
            return {"status": "unsupported", "reason": "no engine"}
        return {"status": "ok", "line": line}

    monkeypatch.setattr(both, "time_row", answer_only_padded)
    assert both.first_row(None, GEMM)["line"] == f"{GEMM} epilogue=bias ; workspace=1048576"
    with pytest.raises(RuntimeError, match=r"^unsupported: no engine$"):
        both.first_row(None, GEMM.replace("half", "float"))


def test_the_loaded_libraries() -> None:
    from measure_both_sides import loaded_libraries

    line = "7f00-7f01 r-xp 00000000 08:01 1234   "
    paths = ("/x/libcublasLt.so.13", "/x/libcublasLt.so.13", "/y/libcudnn.so.9", "/y/libc.so.6")
    maps = "".join(f"{line}{path}\n" for path in paths)
    maps += "7f00-7f01 rw-p 00000000 00:00 0\n7ff0-7ff1 rw-p 00000000 00:00 0   [stack]\n"
    assert loaded_libraries(maps) == ["/x/libcublasLt.so.13", "/y/libcudnn.so.9"]


SCRIPT = """
import json, os, sys
names = {"names": ["gemm"], "launches": ["8x1x1"], "us": 10.0}
row = {"status": "ok", "ns": 1e4, "mhz": 1500.0, "padding": ""}
row["library"] = os.environ["CUBLASLT_WORKSPACE_SIZE"]
print("a library's remark")
for problem in sys.stdin.read().splitlines():
    for key, value in {"before": row, "torch": {"us": 10.0}, "after": row}.items():
        print(json.dumps({"problem": problem, key: value}))
    for key in ("kernels", "torch_kernels"):
        print(json.dumps({"problem": problem, key: names}))
"""


def write_measuring_script(folder: Path, monkeypatch: pytest.MonkeyPatch, rest: str) -> None:
    import against_pytorch as against  # type: ignore[import-not-found]

    script = folder / "measure.py"
    script.write_text(SCRIPT + rest)
    monkeypatch.setattr(against, "MEASURE", script)


def test_a_workload_is_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import against_pytorch as against

    write_measuring_script(tmp_path, monkeypatch, 'print(json.dumps({"libraries": ["/x/a.so"]}))')
    result = against.compare_workload("bert_large half")
    out = capsys.readouterr().out
    assert "left out: embedding (not measured: other)" in out
    assert "equal names: 9 problems, 100.0% of the time; median quotient 1.000, +0.000 us" in out
    assert "unexplained: 0 problems, 0.0% of the time; 0 without a time\nwithin the goal" in out
    assert "libraries: /x/a.so, the same for both sides" in out
    assert (result["is_good"], result["libraries"], result["failure"]) == (True, ["/x/a.so"], "")
    assert len(result["problems"]) == 9
    first = json.loads(json.dumps(result))["problems"][0]
    assert (first["count"], first["us"], first["cause"]) == (49, 10.0, "equal names")
    assert first["row"]["library"] == "1024"


def test_what_ends_early_is_incomplete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import against_pytorch as against

    ending = 'print(\'{"problem": "cut\', end="", flush=True)\nos.kill(os.getpid(), 9)\n'
    write_measuring_script(tmp_path, monkeypatch, ending)
    result = against.compare_workload("bert_large half")
    assert (result["is_good"], result["failure"]) == (False, "exit status -9")
    monkeypatch.setattr(against, "WORKLOAD_LIMIT_S", 0.5)
    (tmp_path / "measure.py").write_text("import time\ntime.sleep(60)\n")
    assert against.compare_workload("bert_large half")["failure"] == "not done after 0.5 s"
    failed = against.compare_workload("no_such_model")
    assert (failed["workload"], failed["is_good"]) == ("no_such_model", False)
    assert "no_such_model" in failed["failure"]
    assert "unexplained: 9 problems" in capsys.readouterr().out


def test_libraries_of_both_sides() -> None:
    from against_pytorch import text_of_libraries

    lt = ["/x/libcublasLt.so.13", "/y/libcublasLt.so.13"]
    assert text_of_libraries([*lt, "/x/libcudnn.so.9"]).endswith(
        "; both sides differ in libcublasLt"
    )
    assert text_of_libraries(lt[:1]) == "/x/libcublasLt.so.13, the same for both sides"
    assert text_of_libraries([]) == "unknown"


def test_the_exit_status_and_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import against_pytorch as against

    file, device = tmp_path / "out.json", {"PyTorch": "2.11.0", "device": "made up"}
    monkeypatch.setattr(sys, "argv", ["against_pytorch.py", "one", "two", "--json", str(file)])
    monkeypatch.setattr(against, "device_facts", lambda: None)
    assert against.main() == 2
    monkeypatch.setattr(against, "device_facts", lambda: device)
    good: dict[str, bool] = {"one": True, "two": True}
    monkeypatch.setattr(
        against, "compare_workload", lambda name: {"workload": name, "is_good": good[name]}
    )
    assert against.main() == 0
    good["one"] = False
    assert against.main() == 1
    assert json.loads(file.read_text()) == {
        **device, "workloads": [{"workload": "one", "is_good": False},
                                {"workload": "two", "is_good": True}]
    }  # fmt: skip
    assert "PyTorch 2.11.0, device made up" in capsys.readouterr().out
