"""The logs of oneDNN and cuBLASLt: recorded ones, and lines that are damaged or of other kinds."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from deepbench.traces import Recording, TraceError, read_trace
from trace_samples import lines_of, read_sample

GEMM = "gemm m=64 n=32 k=48"


def recording_of(folder: Path, *lines: str) -> Recording:
    path = folder / "a.log"
    path.write_text("\n".join(lines) + "\n")
    return read_trace(path)


# ---- oneDNN --------------------------------------------------------------------------------------


def test_the_problems_that_deepbench_ran_are_read_from_its_own_log() -> None:
    """The log has two lines of each primitive that deepbench called for these problems."""
    sides = "w=16 h=14 c=8 n=2 k=12 s=3 r=3"
    assert lines_of(read_sample("onednn-3.2.0.log")) == [
        f"{GEMM} trans_a=n trans_b=n precision=float x2",
        f"{GEMM} trans_a=t trans_b=n precision=float x2",
        f"{GEMM} trans_a=n trans_b=t precision=float x2",
        f"{GEMM} trans_a=t trans_b=t precision=float x2",
        f"{GEMM} trans_a=n trans_b=n precision=bfloat16 x2",
        f"{GEMM} trans_a=n trans_b=n precision=int8 b_type=u8 x2",
        "conv w=16 h=14 c=8 n=2 k=12 s=3 r=5 pad_w=1 pad_h=2 stride_w=2 dilation_h=2 groups=2 "
        "phase=fwd layout=nchw precision=float x2",
        f"conv {sides} pad_w=1 pad_h=1 phase=bwd_data layout=nhwc precision=float x2",
        f"conv {sides} pad_w=1 pad_h=1 phase=bwd_filter layout=nchw precision=float x2",
        f"conv {sides} d=6 t=3 phase=fwd layout=nchw precision=float x2",
        f"conv {sides} phase=fwd layout=nhwc precision=int8 x_type=u8 y_type=s8 x2",
        f"conv {sides} phase=fwd layout=nhwc precision=int8 x_type=u8 y_type=s32 x2",
    ]


def test_the_log_of_a_newer_version_is_read() -> None:
    """PyTorch's oneDNN wrote it in the format v1, running record_torch.py."""
    recording = read_sample("onednn-3.12.0.log")
    assert recording.source == "the log of oneDNN v3.12.0"
    first = "conv w=16 h=16 c=3 n=4 k=16 s=3 r=3 pad_w=1 pad_h=1 stride_w=2 stride_h=2"
    grouped = "conv w=8 h=8 c=16 n=4 k=32 s=5 r=3 pad_w=2 pad_h=1 groups=4"
    assert lines_of(recording) == [
        f"{first} phase=fwd layout=nchw precision=float x4",
        f"{grouped} phase=fwd precision=float x4",
        f"{grouped} phase=bwd_data precision=float x3",
        f"{grouped} phase=bwd_filter layout=nchw precision=float x3",
        f"{first} phase=bwd_filter layout=nchw precision=float x3",
        "conv w=8 h=8 c=3 n=2 k=4 s=3 r=3 pad_w=1 pad_h=1 phase=fwd layout=nhwc precision=float x1",
    ]
    (reorder,) = recording.left_out
    assert (reorder.name, reorder.calls, reorder.reason) == ("reorder", 42, "")
    assert recording.read_ns + reorder.sum_ns == pytest.approx(recording.total_ns)


def test_inner_products_are_linear_layers() -> None:
    """PyTorch's oneDNN wrote the log for a linear layer of 48 inputs and 64 outputs, the gradient
    of its input and that of its weights."""
    assert lines_of(read_sample("onednn-3.12.0-linear.log")) == [
        "gemm m=64 n=32 k=48 trans_a=t trans_b=n precision=float x1",
        "gemm m=48 n=32 k=64 trans_a=n trans_b=n precision=float x1",
        "gemm m=48 n=64 k=32 trans_a=n trans_b=t precision=float x1",
    ]


@pytest.mark.parametrize(
    ("weights", "propagation", "expected"),
    [
        ("ba", "forward_inference", "m=64 n=32 k=48 trans_a=n trans_b=n"),
        ("BA16a64b", "forward_training", "m=64 n=32 k=48 trans_a=n trans_b=n"),
        ("AB16b64a", "forward_training", "m=64 n=32 k=48 trans_a=t trans_b=n"),
        ("ba", "backward_data", "m=48 n=32 k=64 trans_a=t trans_b=n"),
        ("ba", "backward_weights", "m=64 n=48 k=32 trans_a=n trans_b=t"),
    ],
)
def test_layouts_of_inner_products(
    tmp_path: Path, weights: str, propagation: str, expected: str
) -> None:
    memory = f"src_f32::blocked:abcd:f0 wei_f32::blocked:{weights}:f0 dst_f32::blocked:ab:f0"
    fields = f"exec,cpu,inner_product,gemm:jit,{propagation},{memory},,,mb32ic12ih2iw2oc64,1"
    assert lines_of(recording_of(tmp_path, f"dnnl_verbose,{fields}")) == [
        f"gemm {expected} precision=float x1"
    ]


REPEATED = "deepbench has no product whose operand serves several results of a batch"
MEMORY = "src_f32::blocked:ab:f0 wei_f32::blocked:ba:f0 dst_f32::blocked:ab:f0"
MATMUL = f"exec,cpu,matmul,gemm:jit,undef,{MEMORY}"
PLAIN = f"{GEMM} trans_a=t trans_b=n precision=float x1"


@pytest.mark.parametrize(
    "line",
    [
        f"onednn_verbose,{MATMUL},,,32x48:48x64,0.5",
        f"onednn_verbose,{MATMUL},,,32x48:48x64:32x64,0.5",
        f"onednn_verbose,1234567.25,primitive,{MATMUL},attr-scratchpad:user,,32x48:48x64,0.5",
        f"onednn_verbose,v1,primitive,{MATMUL},,,32x48:48x64,0.5",
        f"onednn_verbose,v1,1234567.25,primitive,{MATMUL},,,32x48:48x64,0.5",
        f"dnnl_verbose,{MATMUL},,m32n64k48,0.5",
        f"dnnl_verbose,{MATMUL},,,b1m32n64k48,0.5",
        f"dnnl_verbose,{MATMUL},,,1x32x48:1x48x64:1x32x64,0.5\r",
    ],
)
def test_formats_of_all_versions(tmp_path: Path, line: str) -> None:
    recording = recording_of(tmp_path, "Epoch 1", line, "loss 0.5")
    assert lines_of(recording) == [PLAIN]
    assert recording.total_ns == 500_000


def test_products_of_onednn_in_batches(tmp_path: Path) -> None:
    memory = MATMUL.replace(":ab:", ":abc:").replace(":ba:", ":acb:")
    lines = [f"onednn_verbose,{memory},,,2x32x48:2x48x64,0.5",
             f"dnnl_verbose,{memory},,,b2m32n64k48,0.5"]  # fmt: skip
    assert lines_of(recording_of(tmp_path, *lines)) == [
        f"{GEMM} trans_a=t trans_b=n batch=2 precision=float x2"
    ]


def with_result_in(tag: str) -> str:
    return MATMUL.replace("dst_f32::blocked:ab", f"dst_f32::blocked:{tag}")


def test_a_column_major_result_exchanges_the_operands(tmp_path: Path) -> None:
    line = f"onednn_verbose,{with_result_in('ba')},,,32x48:48x64,0.5"
    assert lines_of(recording_of(tmp_path, line)) == [
        "gemm m=32 n=64 k=48 trans_a=t trans_b=n precision=float x1"
    ]


CONV_MEMORY = "src_f32::blocked:abcd:f0 wei_f32::blocked:abcd:f0 bia_undef::undef::f0 dst_f32::x:y:"
CONV = "mb1_ic3oc4_ih8oh8kh3sh1dh0ph1_iw8ow8kw3sw1dw0pw1"


@pytest.mark.parametrize(
    ("primitive", "reason"),
    [
        (f"{MATMUL},,,2x32x48:1x48x64,0.5", REPEATED),
        (f"{MATMUL},,,32x48:47x64,0.5", "its dimensions contradict one another"),
        (f"{MATMUL},,,-32x48:48x64,0.5", "its dimensions contradict one another"),
        (f"{MATMUL},,,0x48:48x64,0.5", "n=0: must be at least 1"),
        (f"{MATMUL},,,,0.5", "its dimensions contradict one another"),
        (f"{MATMUL},attr-fpmath:bf16,,32x48:48x64,0.5", "its fpmath mode is not strict"),
        (f"{MATMUL.replace('wei_f32', 'wei_f64')},,,32x48:48x64,0.5",
         "deepbench has no f32 with f64"),
        (f"{MATMUL.replace('wei_', 'x_')},,,32x48:48x64,0.5", "the line is incomplete"),
        (f"exec,cpu,convolution,j,backward,{CONV_MEMORY},,,{CONV},1",
         "its propagation is backward"),
        (f"exec,cpu,convolution,j,forward_training,{CONV_MEMORY},,,mb1_ic3oc4_ih8,1",
         "its description is not known"),
        (f"exec,cpu,convolution,j,forward_training,{CONV_MEMORY},,,{CONV.replace('oh8', 'oh9')},1",
         "its padding differs between both sides"),
        (f"{MATMUL},,,{'9' * 19}x48:48x64,0.5", None),
        ("exec,cpu,reorder,jit:uni,undef,src_f32::b:ab:f0 dst_f32::b:ba:f0,,,32x48,0.5", ""),
    ],
)  # fmt: skip
def test_other_calls_of_onednn_are_listed(
    tmp_path: Path, primitive: str, reason: str | None
) -> None:
    good = f"onednn_verbose,{MATMUL},,,32x48:48x64,0.5"
    recording = recording_of(tmp_path, good, f"onednn_verbose,{primitive}")
    assert lines_of(recording) == [PLAIN]
    (one,) = recording.left_out
    assert one.calls == 1
    assert one.sum_ns > 0
    assert reason is None or one.reason == reason


@pytest.mark.parametrize("time", ["nan", "inf", "-1", "1e999", "", "x", "0.5,"])
def test_lines_that_are_cut_short_or_have_no_time_are_counted(tmp_path: Path, time: str) -> None:
    good = f"onednn_verbose,{MATMUL},,,32x48:48x64,0.5"
    recording = recording_of(tmp_path, good, f"onednn_verbose,{MATMUL},,,32x48:48x64,{time}",
                             "onednn_verbose,exec,cpu,mat")  # fmt: skip
    assert lines_of(recording) == [PLAIN]
    assert [one.name for one in recording.left_out] == ["a line"] * len(recording.left_out)
    assert sum(one.calls for one in recording.left_out) == 2


LENGTH = 15_000  # characters of a field in a line that is still read as a whole


@pytest.mark.parametrize(
    "fields",
    [
        f"{CONV_MEMORY},,,{'a' * LENGTH}",
        f"{CONV_MEMORY},,,{'mb1' * (LENGTH // 3)}",
        f"{'a_' * (LENGTH // 2)},,,{CONV}",
        f"{'a_a:' * (LENGTH // 4)},,,{CONV}",
        f"{'a_a:::' * (LENGTH // 6)},,,{CONV}",
        f"{'a_' * 16}a{':' * LENGTH},,,{CONV}",
    ],
    ids=["letters", "numbers", "names", "types", "tags", "colons"],
)
def test_the_time_of_a_long_field_is_linear(tmp_path: Path, fields: str) -> None:
    """The fields match in many ways. The limit is of CPU time and a hundred times what it takes."""
    good = f"onednn_verbose,{MATMUL},,,32x48:48x64,0.5"
    line = f"onednn_verbose,exec,cpu,convolution,j,forward_training,{fields},1"
    began = time.process_time()
    recording = recording_of(tmp_path, good, *[line] * 10)
    assert time.process_time() - began < 5
    assert lines_of(recording) == [PLAIN]


def test_a_product_has_at_most_twelve_dimensions(tmp_path: Path) -> None:
    """Hundreds of dimensions would make a batch of more digits than Python writes."""
    batch = f"{'9' * 19}x" * 300
    good = f"onednn_verbose,{MATMUL},,,32x48:48x64,0.5"
    bad = f"onednn_verbose,{MATMUL},,,{batch}32x48:{batch}48x64,0.5"
    recording = recording_of(tmp_path, good, bad)
    assert lines_of(recording) == [PLAIN]
    (one,) = recording.left_out
    assert one.reason == "its dimensions contradict one another"


# ---- cuBLASLt ------------------------------------------------------------------------------------


def product_line(
    a: str = "type=R_16F rows=48 cols=64 ld=48",
    b: str = "type=R_16F rows=48 cols=32 ld=48",
    d: str = "type=R_16F rows=64 cols=32 ld=64",
    compute: str = "computeType=COMPUTE_32F scaleType=R_32F transa=OP_T",
    function: str = "cublasLtMatmul",
) -> str:
    return (
        f"[2026-11-26 10:00:00][cublasLt][4711][Trace][{function}] A=0X7F0 Adesc=[{a}] B=0X7F1 "
        f"Bdesc=[{b}] C=0X7F2 Cdesc=[{d}] D=0X7F2 Ddesc=[{d}] computeDesc=[{compute}] "
        "algo=[algoId=66 tile=MATMUL_TILE_64x32] workSpace=0X0 beta=0 outOfPlace=0 stream=0X0"
    )


def test_products_of_cublaslt_are_read(tmp_path: Path) -> None:
    lines = [
        product_line(),
        product_line(function="cublasLtHSHMatmul"),
        "[2026-11-26 10:00:00][cublasLt][4711][Api][cublasLtMatmul] A=0X7F0 Adesc=0X7F3",
        "[2026-11-26 10:00:00][cublasLt][4711][Trace][cublasLtMatmulAlgoGetHeuristic] Adesc=[]",
        product_line(compute="computeType=COMPUTE_32F transb=OP_T", a="type=R_16F rows=64 cols=48",
                     b="type=R_16F rows=32 cols=48"),
    ]  # fmt: skip
    recording = recording_of(tmp_path, *lines)
    assert lines_of(recording) == [
        f"{GEMM} trans_a=t trans_b=n precision=half x2",
        f"{GEMM} trans_a=n trans_b=t precision=half x1",
    ]
    assert (recording.timer, recording.total_ns, recording.read_calls) == (None, 0, 3)


@pytest.mark.parametrize(
    ("types", "compute", "precision"),
    [
        (("R_32F", "R_32F"), "COMPUTE_32F", "float"),
        (("R_32F", "R_32F"), "COMPUTE_32F_FAST_TF32", "tf32"),
        (("R_16BF", "R_16BF"), "COMPUTE_32F", "bfloat16"),
        (("R_8F_E4M3", "R_8F_E4M3"), "COMPUTE_32F", "fp8_e4m3"),
        (("R_8F_E5M2", "R_8F_E4M3"), "COMPUTE_32F", "fp8_e5m2"),
        (("R_8I", "R_8I"), "COMPUTE_32I", "int8"),
        (("R_16F", "R_16F"), "COMPUTE_16F", None),
        (("R_64F", "R_64F"), "COMPUTE_64F", None),
        (("R_4F_E2M1", "R_4F_E2M1"), "COMPUTE_32F", None),
    ],
)
def test_types_of_cublaslt(
    tmp_path: Path, types: tuple[str, str], compute: str, precision: str | None
) -> None:
    line = product_line(a=f"type={types[0]} rows=48 cols=64", b=f"type={types[1]} rows=48 cols=32",
                        compute=f"computeType={compute} transa=OP_T")  # fmt: skip
    recording = recording_of(tmp_path, product_line(), line)
    found = [one.problem.attributes["precision"] for one in recording.problems]
    assert found == ["half", *([precision] if precision else [])]
    reasons = [one.reason for one in recording.left_out]
    assert reasons == (
        [] if precision else [f"deepbench has no product of {types[0]} and {types[1]} in {compute}"]
    )


BATCH = "type=R_16F rows=48 cols=64 ld=48 batchCount=12 stridedBatchOffset=3072"
BATCH_B = "type=R_16F rows=48 cols=32 ld=48 batchCount=12 stridedBatchOffset=1536"
BATCH_D = "type=R_16F rows=64 cols=32 ld=64 batchCount=12 stridedBatchOffset=2048"


def test_products_of_cublaslt_in_batches(tmp_path: Path) -> None:
    recording = recording_of(tmp_path, product_line(a=BATCH, b=BATCH_B, d=BATCH_D))
    assert lines_of(recording) == [f"{GEMM} trans_a=t trans_b=n batch=12 precision=half x1"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (product_line(a=BATCH), "its dimensions contradict one another"),
        (product_line(a=BATCH, b=BATCH_B, d=BATCH_D.replace("=2048", "=0")), REPEATED),
        (product_line(a=BATCH, b=BATCH_B, d=BATCH_D.split(" strided")[0]), REPEATED),
        (product_line(a="type=R_16F rows=48 cols=64 batchCount=x"), "the line is incomplete"),
        (product_line(a="type=R_16F rows=48 cols=64 order=ORDER_ROW"),
         "a matrix is in ORDER_ROW, not column-major"),
        (product_line(compute="computeType=COMPUTE_32F transa=OP_X"),
         "an operand has the unknown operation OP_X"),
        (product_line(compute="computeType=COMPUTE_32F"), "its dimensions contradict one another"),
        (product_line(d="type=R_16F rows=-64 cols=32"), "the line is incomplete"),
        (product_line()[:200], "the line is incomplete"),
        (product_line(d="type=R_16F rows=0 cols=32"), "m=0: must be at least 1"),
    ],
)  # fmt: skip
def test_other_products_of_cublaslt_are_listed(tmp_path: Path, line: str, reason: str) -> None:
    recording = recording_of(tmp_path, product_line(), line)
    assert len(recording.problems) == 1
    assert [(one.name, one.reason) for one in recording.left_out] == [("cublasLtMatmul", reason)]


# ---- any file ------------------------------------------------------------------------------------


def test_a_log_without_problems_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError) as error:
        recording_of(tmp_path, "onednn_verbose,exec,cpu,reorder,jit:uni,undef,m,,,32x48,0.5")
    assert str(error.value).endswith(
        "has no product or convolution that deepbench can measure; most of it is reorder"
    )
