"""Chrome traces of torch.profiler: recorded ones, and ones made of events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deepbench.traces import TraceError, read_trace
from trace_samples import (
    GPU,
    GPU_GRAPH,
    GPU_LOG,
    STACK,
    TORCH,
    kernel,
    lines_of,
    operator,
    product_operator,
    read_sample,
    write_trace,
)

PRODUCT = "gemm m=6 n=5 k=7 trans_a=n trans_b=n precision=float"
CONVOLUTION: dict[str, Any] = {
    "Input_Dims": [[2, 8, 14, 16], [12, 4, 5, 3], [], [], [], [], [], [], []],
    "Input_type": ["float", "float", "", "", "", "", "", "", ""],
    "Concrete_Inputs": ["", "", "", "[1, 2]", "[2, 1]", "[1, 1]", "False", "[0, 0]", "2"],
}


def left_out(path: Path) -> dict[str, str]:
    return {one.name: one.reason for one in read_trace(path).left_out}


# ---- recorded traces -----------------------------------------------------------------------------


def test_the_calls_of_a_recorded_program_are_read() -> None:
    """The program is tests/samples/traces/record_torch.py."""
    first = "conv w=16 h=16 c=3 n=4 k=16 s=3 r=3 pad_w=1 pad_h=1 stride_w=2 stride_h=2"
    grouped = "conv w=8 h=8 c=16 n=4 k=32 s=5 r=3 pad_w=2 pad_h=1 groups=4"
    moved = "conv w=12 h=10 c=6 n=1 k=4 s=3 r=3 pad_w=1 pad_h=1 stride_w=2 stride_h=2"
    nchw = "layout=nchw precision=float"
    small = "precision=float x1"
    assert lines_of(read_sample(TORCH)) == [
        # the training step and the forward pass after it
        f"{first} phase=fwd {nchw} x2",
        f"{grouped} phase=fwd {nchw} x2",
        "gemm m=64 n=4 k=2048 trans_a=t trans_b=n precision=float x2",
        "gemm m=10 n=4 k=64 trans_a=t trans_b=n precision=float x2",
        f"gemm m=64 n=10 k=4 trans_a=n trans_b=t {small}",
        f"gemm m=64 n=4 k=10 trans_a=n trans_b=n {small}",
        f"gemm m=2048 n=4 k=64 trans_a=n trans_b=n {small}",
        f"gemm m=2048 n=64 k=4 trans_a=n trans_b=t {small}",
        f"{grouped} phase=bwd_data {nchw} x1",
        f"{grouped} phase=bwd_filter {nchw} x1",
        f"{first} phase=bwd_filter {nchw} x1",
        # the single calls; a product with a batch of one is the first of them
        f"{PRODUCT} x2",
        f"gemm m=5 n=6 k=7 trans_a=t trans_b=t {small}",
        f"gemm m=9 n=4 k=5 trans_a=n trans_b=n {small}",
        f"gemm m=6 n=6 k=7 trans_a=n trans_b=n {small}",
        "gemm m=6 n=5 k=7 trans_a=n trans_b=n precision=half x1",
        "gemm m=6 n=5 k=7 trans_a=n trans_b=n precision=bfloat16 x1",
        f"gemm m=5 n=3 k=4 trans_a=n trans_b=n batch=2 {small}",
        f"gemm m=5 n=3 k=4 trans_a=n trans_b=n {small}",
        f"conv w=9 h=1 c=4 n=1 k=6 s=3 r=1 dilation_w=2 phase=fwd {nchw} x1",
        f"conv w=7 h=6 c=4 n=1 k=6 s=2 r=3 d=5 t=3 phase=fwd {nchw} x1",
        f"{moved} phase=bwd_data {nchw} x1",
        f"{moved} phase=fwd {nchw} x1",
        f"{moved} phase=bwd_filter {nchw} x1",
        "conv w=8 h=8 c=3 n=2 k=4 s=3 r=3 pad_w=1 pad_h=1 phase=fwd layout=nhwc precision=float x1",
    ]


def test_what_a_recorded_program_calls_besides_is_listed() -> None:
    reasons = {one.name: one.reason for one in read_sample(TORCH).left_out}
    assert "aten::bmm" not in reasons
    assert reasons["aten::mm"] == "deepbench has no precision for double"
    assert reasons["aten::matmul"] == "deepbench has no product with a vector"
    assert reasons["aten::_log_softmax"] == ""


def test_annotations_and_modules_name_the_applications() -> None:
    named = [name for one in read_sample(TORCH).problems for name in one.applications]
    assert named[:4] == ["features", "features", "aten::addmm", "aten::mm"]
    modules = {
        one.words.split(" pad")[0].split(" trans")[0]: list(one.applications)
        for one in read_sample(STACK).problems
    }
    assert modules == {
        "conv w=16 h=16 c=3 n=4 k=16 s=3 r=3": ["Conv2d_0"],
        "conv w=8 h=8 c=16 n=4 k=32 s=5 r=3": ["Conv2d_1"],
        "gemm m=64 n=4 k=2048": ["Linear_0"],
        "gemm m=10 n=4 k=64": ["Linear_1"],
        # gradients have the module of the forward call
        "gemm m=64 n=10 k=4": ["Linear_1"],
        "gemm m=64 n=4 k=10": ["Linear_1"],
        "gemm m=2048 n=4 k=64": ["Linear_0"],
        "gemm m=2048 n=64 k=4": ["Linear_0"],
    }


def test_the_times_of_a_recorded_trace_add_up() -> None:
    recording = read_sample(TORCH)
    left_out_ns = sum(one.sum_ns for one in recording.left_out)
    assert recording.read_ns + left_out_ns == pytest.approx(recording.total_ns)
    assert all(one.min_ns <= one.sum_ns / one.times <= one.max_ns for one in recording.problems)
    shared = [one.words for one in recording.problems if one.shares_calls]
    assert len(shared) == 4  # two calls compute both gradients


def test_the_log_of_cublaslt_confirms_the_products_of_a_trace() -> None:
    """Both were recorded of one program on an H100. They agree on dimensions, transpositions and
    precisions, of which the trace states TF32 by the names of kernels alone."""
    trace, log = read_sample(GPU), read_sample(GPU_LOG)
    of_trace = [one for one in trace.problems if one.problem.op == "gemm"]
    assert {str(one.problem): one.count for one in of_trace} == {
        str(one.problem): one.count for one in log.problems
    }
    assert len(of_trace) == 17
    assert [one.problem.attributes.get("batch") for one in of_trace].count(8) == 1
    precisions = {one.problem.attributes["precision"] for one in of_trace}
    assert precisions == {"float", "tf32", "half", "bfloat16", "fp8_e4m3"}
    assert trace.device == "NVIDIA H100 80GB HBM3"
    assert [one.name for one in (*trace.left_out, *log.left_out) if one.reason] == []


def test_the_kernels_of_a_recorded_trace_add_up() -> None:
    recording = read_sample(GPU)
    assert recording.read_ns + sum(one.sum_ns for one in recording.left_out) == pytest.approx(
        recording.total_ns
    )
    assert 0.5 < recording.read_ns / recording.total_ns < 0.6
    assert all(one.times == one.count for one in recording.problems)


def test_a_recorded_replay_of_a_graph_is_refused() -> None:
    with pytest.raises(TraceError, match="holds replays of CUDA graphs alone"):
        read_sample(GPU_GRAPH)


# ---- operators around others ---------------------------------------------------------------------


def test_a_caller_and_what_it_calls_count_once(tmp_path: Path) -> None:
    inner = product_operator(10, 5)
    outer = operator("aten::linear", 8, 9, Input_Dims=[[5, 7], [6, 7]], Input_type=["float"] * 2)
    recording = read_trace(write_trace(tmp_path / "a.json", [inner, outer]))
    assert lines_of(recording) == [f"{PRODUCT} x1"]
    assert recording.read_ns == 5000
    assert [(one.name, one.sum_ns) for one in recording.left_out] == [
        ("operators around the calls that were read", 4000)
    ]


def test_a_linear_operator_alone_is_a_product(tmp_path: Path) -> None:
    shapes = {"Input_Dims": [[2, 5, 7], [6, 7]], "Input_type": ["float", "float"]}
    strided = {**shapes, "Input_Strides": [[35, 7, 1], [7, 1]]}
    alone = [operator("aten::linear", 0, 9, **shapes), operator("aten::linear", 10, 9, **strided)]
    recording = read_trace(write_trace(tmp_path / "a.json", alone))
    assert lines_of(recording) == ["gemm m=6 n=10 k=7 trans_a=t trans_b=n precision=float x2"]


REPEATED = "deepbench has no product whose operand serves several results of a batch"
BATCHED = [
    ("aten::bmm", [[4, 5, 7], [4, 7, 6]], [[35, 7, 1], [42, 6, 1]], "n n batch=4"),
    ("aten::bmm", [[4, 5, 7], [4, 7, 6]], [[35, 7, 1], [42, 1, 7]], "t n batch=4"),
    ("aten::bmm", [[4, 5, 7], [4, 7, 6]], None, "n n batch=4"),
    ("aten::matmul", [[2, 3, 5, 7], [2, 3, 7, 6]], None, "n n batch=6"),
    ("aten::bmm", [[1, 5, 7], [1, 7, 6]], None, "n n"),
    # one matrix for all, by its strides or by its sizes
    ("aten::bmm", [[4, 5, 7], [4, 7, 6]], [[0, 7, 1], [42, 6, 1]], None),
    ("aten::matmul", [[4, 5, 7], [1, 7, 6]], None, None),
    ("aten::matmul", [[5, 7], [4, 7, 6]], None, None),
]


@pytest.mark.parametrize(("name", "sizes", "strides", "found"), BATCHED)
def test_products_in_batches(
    tmp_path: Path, name: str, sizes: list[Any], strides: list[Any] | None, found: str | None
) -> None:
    one = product_operator(9, 5, name=name, Input_Dims=sizes, Input_Strides=strides)
    recording = read_trace(write_trace(tmp_path / "a.json", [product_operator(0, 5), one]))
    if found is None:
        assert [left.reason for left in recording.left_out] == [REPEATED]
        return
    trans_a, trans_b, *batch = found.split()
    words = " ".join(["gemm m=6 n=5 k=7", f"trans_a={trans_a} trans_b={trans_b}", *batch])
    assert lines_of(recording)[-1].startswith(f"{words} precision=float x")
    assert recording.read_calls == 2


def test_what_runs_at_the_same_time_on_another_thread_is_no_part(tmp_path: Path) -> None:
    events = [operator("aten::linear", 0, 90, thread=2), product_operator(10, 5),
              product_operator(15, 5)]  # fmt: skip
    recording = read_trace(write_trace(tmp_path / "a.json", events))
    assert lines_of(recording) == [f"{PRODUCT} x2"]
    assert recording.total_ns == 100_000


def test_a_convolution_stands_for_what_it_calls(tmp_path: Path) -> None:
    nested = [
        operator("aten::convolution", 0, 30, **CONVOLUTION),
        operator("aten::_convolution", 5, 20, **CONVOLUTION),
        operator("aten::cudnn_convolution", 10, 10, **CONVOLUTION),
    ]
    recording = read_trace(write_trace(tmp_path / "a.json", nested))
    words = "conv w=16 h=14 c=8 n=2 k=12 s=3 r=5 pad_w=1 pad_h=2 stride_w=2 groups=2 phase=fwd"
    assert lines_of(recording) == [f"{words} precision=float x1"]
    assert recording.read_ns == 30_000


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("aten::cudnn_convolution", ["", "", "[2, 1]", "[1, 2]", "[1, 1]", "2"]),
        ("aten::mkldnn_convolution", ["", "", "", "[2, 1]", "[1, 2]", "[1, 1]", "2"]),
        ("aten::cudnn_convolution_relu", ["", "", "", "[1, 2]", "[2, 1]", "[1, 1]", "2"]),
    ],
)
def test_places_of_arguments_differ_between_operators(
    tmp_path: Path, name: str, values: list[str]
) -> None:
    shown = {**CONVOLUTION, "Concrete_Inputs": values}
    recording = read_trace(write_trace(tmp_path / "a.json", [operator(name, 0, 1, **shown)]))
    words = "conv w=16 h=14 c=8 n=2 k=12 s=3 r=5 pad_w=1 pad_h=2 stride_w=2 groups=2 phase=fwd"
    assert lines_of(recording) == [f"{words} precision=float x1"]


# ---- kernels -------------------------------------------------------------------------------------


def test_the_time_of_a_call_is_that_of_its_kernels(tmp_path: Path) -> None:
    events = [
        product_operator(0, 500, External_id=1),
        operator("aten::relu", 600, 500, External_id=2),
        kernel("gemm_kernel", 900, 20, External_id=1, correlation=11),
        kernel("splitk_kernel", 920, 10, External_id=1, correlation=12),
        kernel("relu_kernel", 930, 60, External_id=2, correlation=13),
        kernel("of_nobody", 990, 10, correlation=14),
    ]
    properties = [{"name": "NVIDIA H100"}]
    recording = read_trace(write_trace(tmp_path / "a.json", events, deviceProperties=properties))
    assert recording.device == "NVIDIA H100"
    assert recording.read_ns == 30_000
    assert recording.total_ns == 100_000
    assert {one.name: one.sum_ns for one in recording.left_out} == {
        "aten::relu": 60_000,
        "of_nobody": 10_000,
    }


@pytest.mark.parametrize(
    ("name", "precision"),
    [
        ("sm80_xmma_gemm_f32f32_tf32f32_f32_nn", "tf32"),
        ("cutlass_80_tensorop_s1688gemm_128x64_nn", "tf32"),
        ("ampere_sgemm_32x32_sliced1x4_nn", "float"),
    ],
)
def test_names_of_kernels_state_tf32(tmp_path: Path, name: str, precision: str) -> None:
    events = [product_operator(0, 5, External_id=1), kernel(name, 9, 2, External_id=1)]
    recording = read_trace(write_trace(tmp_path / "a.json", events))
    assert [one.problem.attributes["precision"] for one in recording.problems] == [precision]


E4M3, E5M2 = "c10::Float8_e4m3fn", "c10::Float8_e5m2"


def test_products_of_two_types_of_8_bits(tmp_path: Path) -> None:
    """PyTorch's second operand is deepbench's first, which fp8_e5m2 has as e5m2."""
    operands = [(E4M3, E4M3), (E4M3, E5M2), (E5M2, E4M3), (E5M2, E5M2)]
    events = [
        {**product_operator(10 * place, 5, Input_type=list(types)), "name": "aten::_scaled_mm"}
        for place, types in enumerate(operands)
    ]
    recording = read_trace(write_trace(tmp_path / "a.json", events))
    read = [one.problem.attributes["precision"] for one in recording.problems]
    assert read == ["fp8_e4m3", "fp8_e5m2"]
    assert [one.reason for one in recording.left_out] == [
        f"deepbench has no precision for {E5M2} and {E4M3} in this order",
        f"deepbench has no precision for {E5M2}",
    ]


def test_replayed_graphs_have_names_only(tmp_path: Path) -> None:
    launch = {**operator("cudaGraphLaunch", 0, 9, correlation=5), "cat": "cuda_runtime"}
    replay = [launch, kernel("gemm_kernel", 10, 75, correlation=5)]
    with pytest.raises(TraceError, match=r"replays of CUDA graphs alone: .* record the capture"):
        read_trace(write_trace(tmp_path / "a.json", replay))
    events = [*replay, product_operator(90, 5, External_id=1),
              kernel("gemm_kernel", 95, 25, External_id=1, correlation=6)]  # fmt: skip
    recording = read_trace(write_trace(tmp_path / "b.json", events))
    assert recording.read_ns / recording.total_ns == 0.25
    assert [one.name for one in recording.left_out] == ["kernels of replayed CUDA graphs"]


# ---- what is missing or wrong --------------------------------------------------------------------


def test_traces_without_shapes_name_the_cure(tmp_path: Path) -> None:
    event = product_operator(0, 5)
    event["args"] = {}
    with pytest.raises(TraceError, match=r"has 2 products .* without shapes; .*record_shapes=True"):
        read_trace(write_trace(tmp_path / "a.json", [event, {**event, "ts": 9}]))


def test_a_trace_of_an_old_version_has_fewer_lists(tmp_path: Path) -> None:
    """PyTorch 1.8 called the category Operator, and recorded neither strides nor values."""
    old = [
        product_operator(0, 5, Input_Strides=None, Concrete_Inputs=None),
        operator("aten::conv2d", 10, 9, **CONVOLUTION),
        operator("aten::convolution", 11, 7, **{**CONVOLUTION, "Concrete_Inputs": None}),
    ]
    events = [{**one, "cat": "Operator"} for one in old]
    path = write_trace(tmp_path / "a.json", events)
    path.write_text(json.dumps(json.loads(path.read_text())["traceEvents"]))  # a list alone
    assert lines_of(read_trace(path)) == [f"{PRODUCT} x1"]
    assert "stride and padding are not in the trace" in left_out(path)["aten::convolution"]


def test_convolutions_without_values_name_the_cause(tmp_path: Path) -> None:
    shown = {**CONVOLUTION, "Concrete_Inputs": []}
    events = [operator("aten::convolution", 0, 1, **shown), product_operator(2, 1)]
    reasons = left_out(write_trace(tmp_path / "a.json", events))
    assert "stride and padding are not in the trace" in reasons["aten::convolution"]


def test_times_and_work_beyond_all_limits_are_left_out(tmp_path: Path) -> None:
    huge = {**CONVOLUTION, "Input_Dims": [[1, 2, 10**9, 10**9], [2, 1, 5 * 10**8, 5 * 10**8]]}
    events = [product_operator(0, 5), product_operator(10, 1e12),
              operator("aten::convolution", 2e12, 1, **huge)]  # fmt: skip
    recording = read_trace(write_trace(tmp_path / "a.json", events))
    assert lines_of(recording) == [f"{PRODUCT} x1"]
    assert {one.name: one.reason for one in recording.left_out} == {
        "aten::mm": "its time is more than ten days",
        "aten::convolution": "the number of operations does not fit 64 bits",
    }


WRONG: list[Any] = [None, True, -1, 1e400, "x", [], {}, [[]], [None, None], [["x"], ["y"]],
                    [[-5, 7], [7, 6]], [[2**70, 7], [7, 6]], [[5.0, 7.0], [7, 6]], [[5, 7]],
                    [[5, 7], [8, 6]], [[True, 7], [7, 6]], [[0, 7], [7, 6]], [[7], [7]],
                    [[1] * 9, [1] * 9], [[2**62, 2**62], [2**62, 2**62]]]  # fmt: skip


@pytest.mark.parametrize("member", ["Input_Dims", "Input_type"])
@pytest.mark.parametrize("value", WRONG)
def test_wrong_shapes_and_types_are_left_out(tmp_path: Path, member: str, value: Any) -> None:
    events = [product_operator(0, 5), product_operator(9, 5, **{member: value})]
    recording = read_trace(write_trace(tmp_path / "a.json", events))
    assert lines_of(recording) == [f"{PRODUCT} x1"]
    (one,) = recording.left_out
    assert one.name == "aten::mm"
    assert one.reason.isprintable()
    assert one.reason


@pytest.mark.parametrize("value", [*WRONG, [[0, 0], [0, 0]], [[1, 1], [1, 1]]])
def test_wrong_strides_count_as_contiguous(tmp_path: Path, value: Any) -> None:
    path = write_trace(tmp_path / "a.json", [product_operator(0, 5, Input_Strides=value)])
    assert lines_of(read_trace(path)) == [f"{PRODUCT} x1"]


@pytest.mark.parametrize("member", ["ph", "cat", "name", "pid", "tid", "ts", "dur", "args"])
@pytest.mark.parametrize("value", [None, True, -1, 10**300, "x", [], {"a": 1}, 2.5])
def test_wrong_members_of_events_lose_the_event_alone(
    tmp_path: Path, member: str, value: Any
) -> None:
    events = [product_operator(20, 5), {**product_operator(0, 5), member: value}]
    recording = read_trace(write_trace(tmp_path / "a.json", events))
    assert recording.problems[0].count in (1, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"traceEvents": [{"ph": "X"', "is not JSON, or is cut short"),
        ("{]", "is not JSON, or is cut short"),
        ('{"traceEvents": {}}', "has no list traceEvents"),
        ('{"a": 1}', "has no list traceEvents"),
        ("[]", "has no operators of PyTorch; record it with .*record_shapes=True"),
        ("[" * 100_000, "is nested too deeply"),
        ('{"traceEvents": [' + "1" * 5000 + "]}", "is not JSON"),
        ('{"traceEvents": [], "a": "\xff"}', "has no operators of PyTorch"),
    ],
)
def test_texts_that_are_no_traces(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(TraceError, match=message) as error:
        read_trace(path)
    assert str(error.value).startswith(f"{path}: ")
    assert str(error.value).isprintable()


def test_many_nested_events(tmp_path: Path) -> None:
    count = 50_000
    events = [operator("aten::linear", i, 2 * count - 2 * i, Input_Dims=[]) for i in range(count)]
    events.append(product_operator(count, 0.5))
    assert lines_of(read_trace(write_trace(tmp_path / "a.json", events))) == [f"{PRODUCT} x1"]
