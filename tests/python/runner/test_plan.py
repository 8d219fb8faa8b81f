"""The planning of rows from a selection: sets, sweeps, default precisions, --quick and --cache
both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from backend_facts import planning_facts
from deepbench import _core
from deepbench.cli import command
from deepbench.cli.options import OPTIONS, run_options
from deepbench.errors import UsageError
from deepbench.problems.precision_defaults import default_precision
from deepbench.problems.problem_arguments import operation
from deepbench.problems.selection import select, select_files
from deepbench.report.markdown import context_caption
from deepbench.runner.context import device_text
from deepbench.runner.plan import PlannedRow, digest, hang_limit_s, plan, without_long_calls
from deepbench.runner.run_options import RunOptions
from deepbench.runner.time_estimate import Expectation, Speeds
from example_rows import HELLO
from scripted_run import ScriptedRows, run_scripted


def planned_rows(
    op: str, *arguments: str, backend: str = "cpu", device: dict[str, Any] | None = None
) -> list[PlannedRow]:
    line = command.parse_arguments(arguments, OPTIONS)
    options = run_options(line)
    facts = planning_facts(backend) if backend in ("cpu", "cuda") else {}
    hello = {
        **HELLO,
        "backend": {"name": backend},
        "device": device or HELLO["device"],
        "planning": facts,
    }
    return plan(select(op, line.words, options.corrected), options, hello)


def parse_run_options(*arguments: str) -> RunOptions:
    return run_options(command.parse_arguments(arguments, OPTIONS))


def precisions_of(planned: list[PlannedRow]) -> set[object]:
    return {row.attributes["precision"] for row in planned}


def test_no_set_is_training() -> None:
    planned = planned_rows("gemm")
    assert len(planned) == 160
    assert [row.position for row in planned] == list(range(160))
    assert planned[0].problem == "gemm m=1760 n=16 k=1760 trans_a=n trans_b=n precision=float"
    assert planned[0].application == "DeepSpeech"
    assert planned == planned_rows("gemm", "training")


@pytest.mark.parametrize(
    ("op", "words", "count"),
    [
        ("conv", ["training"], 3 * 94),
        ("conv", ["training", "phase=fwd"], 94),
        ("rnn", ["train"], 3 * 53),
        ("conv", ["inference"], 107),
        ("sparse_gemm", ["inference"], 24),
        ("all", ["device"], 13 + 16 + 3 + 8),
    ],
)
def test_rows_of_a_set(op: str, words: list[str], count: int) -> None:
    assert len(planned_rows(op, *words)) == count


def test_phases_that_a_backend_has_in_one_call_are_one_row() -> None:
    def planned_phases(*words: str, joint: dict[str, str]) -> list[object]:
        line = command.parse_arguments(words, OPTIONS)
        hello = {**HELLO, "backend": {"name": "cpu", "joint_phases": joint}}
        planned = plan(select("rnn", line.words, False), run_options(line), hello)
        return [row.attributes["phase"] for row in planned]

    assert planned_phases("train", joint={"rnn": "bwd"}) == ["fwd", "bwd"] * 53
    assert planned_phases("train", joint={"conv": "bwd"}) == ["fwd", "bwd_data", "bwd_weights"] * 53
    assert planned_phases("train", joint={"rnn": "bwd", "conv": "bwd"}) == ["fwd", "bwd"] * 53
    # A phase that is named is used unchanged.
    assert planned_phases("train", "phase=bwd_data", joint={"rnn": "bwd"}) == ["bwd_data"] * 53


def test_joint_phases_are_those_of_each_line(tmp_path: Path) -> None:
    suite = tmp_path / "mixed.txt"
    conv, rnn = "conv w=4 h=4 c=1 n=1 k=1 s=1 r=1", "rnn cell=gru hidden=8 batch=1 timesteps=2"
    suite.write_text(f"# phases: fwd bwd_data\n{rnn}\n{conv}\n{rnn} phase=bwd_data\n")
    hello = {**HELLO, "backend": {"name": "cpu", "joint_phases": {"rnn": "bwd"}}}
    planned = plan(select_files([str(suite)]), parse_run_options(), hello)
    phases = [row.attributes["phase"] for row in planned]
    assert phases == ["fwd", "bwd", "fwd", "bwd_data", "bwd_data"]


def test_device_sets_run_on_one_thread() -> None:
    assert parse_run_options().for_set("inference_device").rows == {"threads": "1"}
    assert parse_run_options("--threads", "3").for_set("inference_device").rows == {"threads": "3"}
    assert parse_run_options().for_set("inference_server").rows == {}
    assert parse_run_options().for_set(None).rows == {}


@pytest.mark.parametrize(
    ("options", "visits"),
    [
        ([], 3),
        (["--visits", "1"], 1),
        (["--visits", "5"], 5),
        *[(words.split(), 1) for words in ("--quick", "--samples 3", "--soak 9", "--once")],
        *[(words.split(), 1) for words in ("--in-process", "--ranks 2", "--devices 2")],
    ],
)
def test_rows_of_sets_have_three_visits_unless_told(options: list[str], visits: int) -> None:
    assert parse_run_options(*options).for_several_rows().visits == visits


def test_what_a_set_leaves_open_can_be_said_for_all_of_it() -> None:
    planned = planned_rows("conv", "inference", "int8", "x_type=u8", "y_type=s8")
    assert len(planned) == 107
    assert {row.attributes["x_type"] for row in planned} == {"u8"}
    assert {row.attributes["y_type"] for row in planned} == {"s8"}
    assert planned_rows("conv", "inference", "int8", "y_type=s32") == planned_rows(
        "conv", "inference", "int8"
    )
    assert {row.attributes["layout"] for row in planned_rows("conv", "layout=nhwc")} == {"nhwc"}
    # 'all' leaves operations without the key unchanged.
    everything = planned_rows("all", "device", "int8", "x_type=u8")
    assert {row.attributes.get("x_type") for row in everything} == {"u8", None}


def test_choices_are_not_refused_before_the_precision_is_known() -> None:
    line = command.parse_arguments(["inference", "y_type=s8"], OPTIONS)
    selection = select("conv", line.words, False)
    assert selection.title == "conv inference-server y_type=s8"
    assert len(plan(selection, run_options(line), None)) == 107
    hello = {**HELLO, "backend": {"name": "cuda"}, "planning": planning_facts("cuda")}
    planned = plan(selection, run_options(line), hello)
    assert {row.attributes["y_type"] for row in planned} == {"s8"}
    with pytest.raises(
        UsageError, match="y_type=s8: none of the selected problems has this attribute in float"
    ):
        plan(selection, run_options(line), {**HELLO, "backend": {"name": "cpu"}})


def test_corrected_set() -> None:
    assert planned_rows("all_reduce")[4].attributes["elements"] == 16777217
    assert planned_rows("all_reduce", "--corrected")[4].attributes["elements"] == 16777216
    assert planned_rows("gemm", "--corrected") == planned_rows("gemm")


@pytest.mark.parametrize(
    ("backend", "op", "words", "precision"),
    [
        ("cpu", "gemm", ["training"], "float"),
        ("cpu", "gemm", ["inference"], "float"),
        ("cuda", "gemm", ["training"], "half"),
        ("cuda", "gemm", ["inference"], "int8"),
        ("cuda", "rnn", ["inference"], "half"),
        ("cuda", "sparse_gemm", ["inference"], "float"),
        ("cuda", "gemm", ["m=1", "n=1", "k=1"], "half"),
        ("cuda", "gemm", ["training", "float"], "float"),
        ("cuda", "gemm", ["training", "precision=tf32"], "tf32"),
        ("cuda", "gemm", ["m=1", "n=1", "k=1", "precision=tf32"], "tf32"),
        ("simulator", "gemm", ["inference"], "float"),
    ],
)
def test_precision_that_nobody_named(
    backend: str, op: str, words: list[str], precision: str
) -> None:
    assert precisions_of(planned_rows(op, *words, backend=backend)) == {precision}


def test_default_precisions_are_facts_of_the_backend() -> None:
    cuda = {"planning": planning_facts("cuda")}
    assert default_precision(cuda, None, "conv") == "half"
    assert default_precision(cuda, "inference_device", "conv") == "int8"
    assert default_precision(cuda, "training", "operation of the future") == "float"
    new = {"planning": {"default_precisions": {"axpy": "half", "training.axpy": "tf32"}}}
    assert default_precision(new, "inference_server", "axpy") == "half"
    assert default_precision(new, None, "axpy") == "tf32"
    assert default_precision(None, None, "gemm") == "float"


@pytest.mark.parametrize(
    ("op", "words", "message"),
    [
        ("gemm", ["training", "m=1"], r"a set \(training\) and dimensions \(m\) are given"),
        ("gemm", ["training", "trans_a=t"], "trans_a: the problems of training/gemm set trans_a"),
        ("all", ["trans_a=t"], "trans_a: the problems of training/gemm set trans_a themselves"),
        (
            "conv",
            ["float", "x_type=u8"],
            "x_type=u8: none of the selected problems has this attribute in float",
        ),
        ("conv", ["int8", "x_type=u9"], "^x_type=u9: must be one of s8 u8$"),
        ("all", ["device", "kind=copy"], "kind: no operation of this set has it"),
        ("conv", ["layout=nhwc,nchw"], "a set takes one layout at a time"),
        ("gemm", ["m=1"], "gemm needs n="),
        ("gemm", ["m=1", "n=1", "k=1", "kk=1"], "no attribute 'kk'"),
        ("gemm", ["m=0", "n=1", "k=1"], "m=0"),
        ("gemm", ["m=99999999999999999999", "n=1", "k=1"], "64 bits"),
        ("gemm", ["training", "precision=haf"], "gemm has no precision 'haf'"),
        ("gemm", ["training", "precision=half,float"], "takes one precision at a time"),
        ("sparse_gemm", ["training"], "sparse_gemm has no set training; it has inference-server"),
        ("sparse_gemm", ["train", "phase=fwd"], "has no set training; it has inference-server"),
        ("memory", ["training"], "memory has no sets"),
        ("memory", ["bytes=3"], "bytes=3"),
        ("memory", ["kind=reed"], "kind=reed"),
        ("memory", ["size=3"], "memory"),
        ("all", ["m=1"], "'all' runs sets"),
    ],
)
def test_what_cannot_be(op: str, words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        planned_rows(op, *words)


# ---- memory -----------------------------------------------------------------------------------


def test_memory_sweep_fits_each_level() -> None:
    planned = planned_rows("memory")
    sizes = [16 << 10, 512 << 10, 16 << 20, 128 << 20]
    assert [row.attributes["bytes"] for row in planned] == sizes * 3
    kinds = [row.attributes["kind"] for row in planned]
    assert kinds == ["read"] * 4 + ["write"] * 4 + ["copy"] * 4
    assert len(planned_rows("memory", "kind=copy")) == 4
    assert len(planned_rows("memory", "bytes=4096")) == 1


def test_memory_sweep_goes_to_a_device_of_its_own_memory_and_back() -> None:
    gpu = {"name": "Example GPU", "last_level_cache_bytes": 64 << 20}
    kinds = [row.attributes["kind"] for row in planned_rows("memory", device=gpu)]
    assert kinds == [kind for kind in ("read", "write", "copy", "h2d", "d2h") for _ in range(2)]
    assert len(planned_rows("memory", "kind=copy,d2h", device=gpu)) == 4


def kinds_and_sizes(device: dict[str, Any]) -> tuple[list[str], list[int]]:
    """The kinds and the sizes of the memory sweep."""
    lines = operation("memory").default_problems(device)
    problems = [_core.Problem.parse(line).attributes for line in lines]
    kinds = dict.fromkeys(str(attributes["kind"]) for attributes in problems)
    sizes = dict.fromkeys(int(attributes["bytes"]) for attributes in problems)
    assert len(lines) == len(kinds) * len(sizes)
    return list(kinds), list(sizes)


def test_sweep_of_a_device_that_says_little() -> None:
    assert kinds_and_sizes({}) == (["read", "write", "copy"], [32 << 20, 256 << 20])
    facts = {"cache.l1_bytes": None, "last_level_cache_bytes": 8192}
    assert kinds_and_sizes(facts) == (["read", "write", "copy", "h2d", "d2h"], [4096, 32768])


# ---- quick and cold ---------------------------------------------------------------------------


def test_quick_is_a_tenth_and_every_application() -> None:
    everything, some = planned_rows("gemm"), planned_rows("gemm", "--quick")
    assert 16 <= len(some) <= 26
    assert {row.application for row in some} == {row.application for row in everything}
    assert [row.problem for row in some][:2] == [everything[0].problem, everything[10].problem]
    assert [row.position for row in some] == list(range(len(some)))


def test_quick_of_several_operations_has_each_of_them_and_every_application() -> None:
    """An application in several suites of a set needs one problem, not one in each suite."""
    everything, some = planned_rows("all", "mlperf"), planned_rows("all", "mlperf", "--quick")
    assert {row.op for row in some} == {row.op for row in everything}
    applications = {one.name for row in everything if row.counts for one in row.counts.applications}
    assert applications == {
        one.name for row in some if row.counts for one in row.counts.applications
    }
    assert len(some) < len(everything) / 10 + len(applications) + len({row.op for row in some})


def test_quick_keeps_the_phases_of_a_problem_together() -> None:
    phases = [row.attributes["phase"] for row in planned_rows("conv", "--quick")]
    assert phases == ["fwd", "bwd_data", "bwd_filter"] * (len(phases) // 3)


def test_quick_skips_long_calls_on_slow_devices_alone() -> None:
    planned = planned_rows("gemm", "ai-matrix-micro")
    on_two_cores = Expectation(Speeds.from_estimates({"flops_per_s.gemm": 5e10}), threads=2)
    kept, skipped = without_long_calls(planned, on_two_cores.call_s)
    assert sorted([*(row.problem for row in kept), *(row.problem for row in skipped)]) == sorted(
        row.problem for row in planned
    )
    assert {row.flops > 1e11 for row in skipped} == {True}
    assert [row.position for row in kept] == list(range(len(kept)))
    assert 0 < len(kept) < len(planned) / 4
    accelerator = Expectation(
        Speeds.from_estimates({"flops_per_s.gemm": 5e13, "bytes_per_s": 1e12})
    )
    assert without_long_calls(planned, accelerator.call_s) == (planned, [])


def test_quick_skips_calls_that_move_much_too() -> None:
    """256 experts of DeepSeek-V3 are 15 GB in float, with few FLOPs for a few tokens."""
    planned = planned_rows("grouped_gemm", "llm")
    on_two_cores = Expectation(Speeds.from_estimates({"flops_per_s.gemm": 5e10}), threads=2)
    _, skipped = without_long_calls(planned, on_two_cores.call_s)
    assert any(row.flops < 1e11 and "groups=256" in row.problem for row in skipped)
    assert all(row.flops > 1e11 or row.bytes > 1e10 for row in skipped)


def test_quick_names_what_it_skips(tmp_path: Path) -> None:
    long = [f"gemm m=5000 n=5000 k={k}" for k in (5000, 6000, 7000, 8000)]
    suite = tmp_path / "mine.txt"
    suite.write_text("\n".join([*long[:3], 'gemm m=1 n=1 k=1 application="x"', long[3]]))
    _, out, said = run_scripted(ScriptedRows(), "run", str(suite), "--quick")
    assert "--quick skips 1 row whose calls are expected to take more than 1 s: gemm m=5000" in said
    assert len(out.splitlines()) > 1
    suite.write_text(long[0])
    with pytest.raises(UsageError, match="--quick skips all problems; leave it out"):
        run_scripted(ScriptedRows(), "run", str(suite), "--quick")


def test_quick_leaves_single_problems_alone() -> None:
    assert len(planned_rows("gemm", "m=1", "n=1,2,3", "k=1", "--quick")) == 3


def test_quick_rows_take_two_seconds_unless_told() -> None:
    assert "time_limit" not in parse_run_options().rows
    assert parse_run_options("--quick").rows["time_limit"] == "2"
    assert parse_run_options("--quick", "--time-limit", "9").rows["time_limit"] == "9"


def test_cache_both_is_two_rows() -> None:
    planned = planned_rows("gemm", "m=1", "n=1,2", "k=1", "--cache", "both")
    assert [row.options for row in planned] == ["", "cache=cold", "", "cache=cold"]
    assert [row.position for row in planned] == [0, 1, 2, 3]
    assert planned[0].line.endswith("precision=float ; position=0")
    assert planned[1].line.endswith("precision=float ; cache=cold position=1")


def test_power_both_is_two_rows() -> None:
    planned = planned_rows("gemm", "m=1", "n=1", "k=1", "--cache", "both", "--power", "both")
    assert [row.options for row in planned] == [
        "",
        "power=sustained",
        "cache=cold",
        "cache=cold power=sustained",
    ]
    assert [row.power for row in planned] == ["rested", "sustained"] * 2
    assert [row.work.sustained for row in planned] == [False, True] * 2


def test_line_carries_the_application() -> None:
    (row,) = planned_rows("gemm", "m=1", "n=1", "k=1", 'application=a; "b"')
    assert row.line.endswith(' application="a; \\"b\\"" ; position=0')


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["gemm", "--constant", "q"], "--constant: gemm has no operand 'q' that may be constant; "),
        (["gemm", "--constant", "c"], "it has a b"),
        (["conv", "--constant", "x"], "conv has no operand 'x' that may be constant; it has w"),
        (["rnn", "--constant", "b"], "rnn has no operand 'b' that may be constant; it has u"),
        (["sparse_gemm", "device", "--constant", "a"], "may be constant; it has none"),
        (["gemm", "--constant", "a,B"], "gemm has no operand 'B'"),
        (["gemm", "--constant", "a,,b"], "gemm has no operand ''"),
        (["memory", "--constant", "a"], "memory has no operand 'a' that may be constant; it has "),
    ],
)
def test_constant_operands_exist(words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        planned_rows(*words)


def test_constant_operands_are_those_of_any_operation_of_a_run() -> None:
    assert len(planned_rows("all", "device", "--constant", "a,b")) == 13 + 16 + 3 + 8


# ---- files ------------------------------------------------------------------------------------


def test_files_run_in_order(tmp_path: Path) -> None:
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text("# constant: a\ngemm m=1 n=2 k=3\nmemory kind=copy bytes=4096\n")
    two.write_text("# default: precision=half\ngemm m=4 n=5 k=6\n")
    planned = plan(select_files([str(one), str(two)]), parse_run_options(), HELLO)
    assert [row.op for row in planned] == ["gemm", "memory", "gemm"]
    assert planned[2].attributes["precision"] == "half"
    assert [row.options for row in planned] == ["constant=a", "constant=a", ""]


def test_constant_operands_of_a_file_exist(tmp_path: Path) -> None:
    suite = tmp_path / "one.txt"
    suite.write_text("# constant: a weights\ngemm m=1 n=2 k=3\n")
    with pytest.raises(UsageError, match=r"one.txt:1: '# constant:' gemm has no operand 'weights'"):
        plan(select_files([str(suite)]), parse_run_options(), None)


def test_constant_operands_are_those_of_their_own_file(tmp_path: Path) -> None:
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text("gemm m=1 n=2 k=3\n")
    two.write_text("# constant: a\nmemory kind=copy bytes=4096\n")
    with pytest.raises(UsageError, match=r"two.txt:1: '# constant:' memory has no operand 'a'"):
        plan(select_files([str(one), str(two)]), parse_run_options(), None)


def test_files_take_a_precision(tmp_path: Path) -> None:
    suite = tmp_path / "my.txt"
    suite.write_text(
        "# default: precision=float\ngemm m=1 n=1 k=1\ngemm m=2 n=1 k=1 precision=int8\n"
    )
    planned = plan(select_files([str(suite), "half"]), parse_run_options(), HELLO)
    assert [row.attributes["precision"] for row in planned] == ["half", "int8"]
    assert (
        plan(select_files(["fp16", str(suite)]), parse_run_options(), HELLO)[0].attributes[
            "precision"
        ]
        == "half"
    )
    with pytest.raises(UsageError, match="two precisions, half and float: give one"):
        select_files([str(suite), "half", "float"])
    with pytest.raises(UsageError, match="run needs a suite file"):
        select_files(["half"])
    with pytest.raises(UsageError, match="'m=3': run takes files and a precision"):
        select_files([str(suite), "m=3"])


def test_mistakes_in_files_name_file_and_line(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.txt", tmp_path / "bad.txt"
    good.write_text("gemm m=1 n=2 k=3\n")
    bad.write_text("\ngemm m=1 n=2 k=3\ngemm m=1 n=2 q=3\n")
    with pytest.raises(UsageError, match=r"bad\.txt:3: gemm has no attribute 'q'"):
        plan(select_files([str(good), str(bad)]), parse_run_options(), None)
    with pytest.raises(UsageError, match="no such file"):
        select_files([str(tmp_path / "none")])


# ---- limits and identity -----------------------------------------------------------------------


def test_hang_limit_grows_with_what_is_asked() -> None:
    small, large = planned_rows("gemm", "m=1", "n=1", "k=1")[0], planned_rows("gemm")[5 - 1]
    assert hang_limit_s(small, parse_run_options()) == pytest.approx(90, abs=1)
    assert hang_limit_s(small, parse_run_options("--time-limit", "1")) == pytest.approx(36, abs=1)
    assert hang_limit_s(large, parse_run_options()) > hang_limit_s(small, parse_run_options()) + 4
    assert hang_limit_s(small, parse_run_options("--algorithm", "best")) > 350
    # Seen to take a minute, where threads of other work stopped each step's.
    recurrent = ["cell=gru", "hidden=2816", "batch=1", "timesteps=1500", "precision=bfloat16"]
    assert (
        hang_limit_s(planned_rows("rnn", *recurrent)[0], parse_run_options("--time-limit", "0.2"))
        > 60
    )
    wide = ["m=200000", "n=1", "k=200000", "sparsity=0.99999"]
    assert hang_limit_s(planned_rows("sparse_gemm", *wide)[0], parse_run_options()) > 400
    assert hang_limit_s(small, parse_run_options("--once")) == float("inf")
    assert hang_limit_s(small, parse_run_options("--once", "--hang-limit", "5")) == 5


def test_digest_tells_plans_apart() -> None:
    assert digest(planned_rows("gemm")) == digest(planned_rows("gemm", "training"))
    others = [
        planned_rows("gemm", "half"),
        planned_rows("gemm", "--cache", "cold"),
        planned_rows("gemm")[:-1],
    ]
    assert len({digest(planned_rows("gemm")), *map(digest, others)}) == 4


def test_the_device_says_that_its_times_are_simulated() -> None:
    context = {"device": {"name": "NPU"}, "backend": {"name": "npu", "simulated_time": True}}
    assert device_text(context) == "NPU (npu, simulated time)"


def test_one_thread_is_singular() -> None:
    for count, said in ((1, "1 thread"), (2, "2 threads")):
        context = {"device": {"name": "AMD EPYC"}, "backend": {"name": "cpu"}, "threads": count}
        assert device_text(context) == f"AMD EPYC (cpu, {said})"
        assert context_caption(context).startswith(f"AMD EPYC, backend cpu, {said}, ")
