"""The calls of a model: their dimensions, counts and work, and the errors of values that no pass
can have."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

import pytest

from deepbench import _core
from deepbench.runner.plan import make_parser
from deepbench.workload import model_file
from deepbench.workload.expansion import Target, default_values, expand
from deepbench.workload.model_file import Model, ModelError, Parameter
from deepbench.workload.operators import Call
from deepbench.workload.passes import Item, Pass
from model_files import LAYER, Layer, model_of, model_text

PARSE = make_parser(None, None)
TARGET = Target(PARSE, measures_all=False)  # counts what layers move and compute
TRAINING = """\
title = "Mine"
batch_unit = "images"
source = "nowhere"
phases = ["fwd", "train"]
[parameters.batch]
default = 4
maximum = 64
"""


def layer_of(op: str, **sizes: object) -> Layer:
    return {"name": '"one"', "kind": '"some"', "op": f'"{op}"', **sizes}


def items_of(layer: Layer, phase: str = "fwd", target: Target = TARGET) -> tuple[Item, ...]:
    model = model_of(layer, head=TRAINING)
    return expand(model, phase, default_values(model, phase), target).items


def lines_of(layer: Layer, phase: str = "fwd", target: Target = TARGET) -> list[str]:
    return [str(item.problem) for item in items_of(layer, phase, target)]


def test_a_linear_layer_makes_the_calls_of_pytorch() -> None:
    layer = layer_of("linear", tokens=5, **{"in": 7, "out": 11})
    fwd = "gemm m=11 n=5 k=7 trans_a=t trans_b=n precision=float"
    dgrad = "gemm m=7 n=5 k=11 trans_a=n trans_b=n precision=float"
    wgrad = "gemm m=7 n=11 k=5 trans_a=n trans_b=t precision=float"
    assert lines_of(layer) == [fwd]
    assert lines_of(layer, "train") == [fwd, dgrad, wgrad]
    assert lines_of({**layer, "input_gradient": "false"}, "train") == [fwd, wgrad]
    assert lines_of({**layer, "weight_gradient": "false"}, "train") == [fwd, dgrad]


def test_a_convolution() -> None:
    layer = layer_of("conv", c=3, h=32, w=48, k=8, r=3, s=5, pad_w=2, stride=2, groups=1)
    start = (
        "conv w=48 h=32 c=3 n=4 k=8 s=5 r=3 pad_w=2 pad_h=0 stride_w=2 stride_h=2 dilation_w=1 "
        "dilation_h=1 groups=1"
    )
    expected = [
        f"{start} phase={phase} layout=library precision=float"
        for phase in ("fwd", "bwd_data", "bwd_filter")
    ]
    assert lines_of(layer) == expected[:1]
    assert lines_of(layer, "train") == expected
    assert lines_of({**layer, "input_gradient": "false"}, "train") == [expected[0], expected[2]]


def test_one_size_for_height_and_width() -> None:
    layer = layer_of("conv", c=3, k=8, filter=3)
    assert lines_of({**layer, "size": 9}) == lines_of({**layer, "h": 9, "w": 9})


def test_a_transposed_convolution_is_the_data_gradient_of_the_opposite_one() -> None:
    layer = layer_of("transposed_conv", c=6, h=7, w=9, k=8, r=2, s=4, stride=2, pad_w=1)
    [line, *gradients] = lines_of(layer, "train")
    start = (
        "conv w=18 h=14 c=8 n=4 k=6 s=4 r=2 pad_w=1 pad_h=0 stride_w=2 stride_h=2 dilation_w=1 "
        "dilation_h=1 groups=1"
    )
    end = "layout=library precision=float"
    assert line == f"{start} phase=bwd_data {end}"
    assert gradients == [f"{start} phase={phase} {end}" for phase in ("fwd", "bwd_filter")]
    assert lines_of(layer) == [line]


def moved(items: tuple[Item, ...]) -> list[tuple[str, str, int, float]]:
    """Layer, kind, count and elements of what is not measured."""
    return [
        (item.layer, item.kind, item.count, item.bytes / 4) for item in items if not item.problem
    ]


def test_the_norm_the_sum_and_the_activation_of_a_layer() -> None:
    """A batch norm that trains reads its input twice; the gradient of a sum moves nothing."""
    sizes = {"c": 3, "h": 9, "w": 9, "k": 8, "filter": 3, "stride": 2, "count": 5}
    around = {"norm": '"batch"', "residual": "true", "activation": '"relu"'}
    layer = layer_of("conv", **sizes, **around)
    map_elements = 4 * 8 * 4 * 4
    assert moved(items_of(layer)) == [
        ("one norm", "norm", 5, 2 * map_elements),
        ("one sum", "sum", 5, 3 * map_elements),
        ("one relu", "activation", 5, 2 * map_elements),
    ]
    assert moved(items_of(layer, "train")) == [
        ("one norm", "norm", 5, 3 * map_elements),
        ("one norm", "norm", 5, 5 * map_elements),
        ("one sum", "sum", 5, 3 * map_elements),
        ("one relu", "activation", 5, 2 * map_elements),
        ("one relu", "activation", 5, 3 * map_elements),
    ]
    assert lines_of(layer)[0] == lines_of(layer_of("conv", **sizes))[0]


def test_a_layer_that_training_leaves_as_it_is_has_no_gradient_around_it() -> None:
    layer = layer_of(
        "linear", tokens=5, norm='"frozen"', activation='"relu"', input_gradient="false",
        weight_gradient="false", **{"in": 7, "out": 11},
    )  # fmt: skip
    assert moved(items_of(layer, "train")) == [
        ("one norm", "norm", 1, 2 * 55),
        ("one relu", "activation", 1, 2 * 55),
    ]


def test_the_norm_and_the_activation_before_a_layer_are_of_its_input() -> None:
    around = {"input_norm": '"batch"', "input_activation": '"sigmoid"'}
    layer = layer_of("linear", tokens=5, **{"in": 7, "out": 11}, **around)
    assert moved(items_of(layer)) == [
        ("one input norm", "norm", 1, 2 * 35),
        ("one input sigmoid", "activation", 1, 2 * 35),
    ]
    opposite = layer_of("transposed_conv", c=3, h=4, w=4, k=8, filter=2, stride=2, **around,
                        activation='"relu"')  # fmt: skip
    assert [one[3] for one in moved(items_of(opposite))] == [
        2 * 4 * 3 * 16, 2 * 4 * 3 * 16, 2 * 4 * 8 * 64,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("layer", "forward", "gradient"),
    [
        (layer_of("norm", norm='"batch"', rows=6, columns=7), 3 * 42, 5 * 42),
        (layer_of("norm", norm='"layer"', rows=6, columns=7), 2 * 42, 3 * 42),
        (layer_of("norm", norm='"rms"', rows=6, columns=7), 2 * 42, 3 * 42),
        (layer_of("activation", activation='"gelu"', elements=42), 2 * 42, 3 * 42),
        (layer_of("lrn", c=2, h=3, w=7, size=5, n=1), 2 * 42, 4 * 42),
        (layer_of("pool", pooling='"max"', c=2, size=9, n=1, filter=3, stride=2), 194, 194),
        (layer_of("pool", pooling='"average"', c=2, size=9, n=1, filter=9), 164, 164),
    ],
)
def test_layers_that_move_a_map(layer: Layer, forward: int, gradient: int) -> None:
    assert [one[3] for one in moved(items_of(layer, "train"))] == [forward, gradient]


@pytest.mark.parametrize(
    ("name", "dim", "elements"),
    [("add", {}, 3 * 42), ("multiply", {}, 3 * 42), ("swiglu", {}, 3 * 42),
     ("rotary", {"dim": 2}, 2 * 42)],
)  # fmt: skip
def test_elementwise_work_is_one_call_in_every_phase(
    name: str, dim: dict[str, int], elements: int
) -> None:
    layer = layer_of("elementwise", elementwise=f'"{name}"', rows=3, columns=14, **dim)
    for phase in ("fwd", "train"):
        assert moved(items_of(layer, phase)) == [("one", "some", 1, elements)]


@pytest.mark.parametrize(("name", "dim"), [("rotary", {}), ("add", {"dim": 2})])
def test_only_rotary_embeddings_have_heads(name: str, dim: dict[str, int]) -> None:
    layer = layer_of("elementwise", elementwise=f'"{name}"', rows=3, columns=14, **dim)
    with pytest.raises(ModelError, match="needs dim, and no other has it"):
        items_of(layer)


def test_kernels_share_the_elements() -> None:
    layer = layer_of("other", elements=23, kernels=4, count=10)
    assert moved(items_of(layer)) == [("one", "some", 10, 5), ("one", "some", 30, 6)]
    with pytest.raises(ModelError, match="kernels share elements, but no flops"):
        items_of({**layer, "flops": 8})


def in_phases(problem: str, *phases: str) -> list[str | None]:
    return [f"{problem} phase={phase}" for phase in phases]


# Layers, and their problems in a step of training. Not every operation has gradients.
ESTIMABLE: list[tuple[Layer, list[str | None]]] = [
    (
        layer_of("norm", norm='"batch"', rows=6, columns=7),
        in_phases("norm kind=batch rows=6 columns=7", "training", "bwd"),
    ),
    (
        layer_of("norm", norm='"frozen"', rows=6, columns=7),
        [*in_phases("norm kind=batch rows=6 columns=7", "inference"), None],
    ),
    (
        layer_of("norm", norm='"rms"', rows=6, columns=7),
        in_phases("norm kind=rms rows=6 columns=7", "training", "bwd"),
    ),
    (
        layer_of("activation", activation='"gelu"', elements=42),
        in_phases("activation kind=gelu elements=42", "fwd", "bwd"),
    ),
    (
        layer_of("softmax", rows=6, columns=7),
        in_phases("softmax rows=6 columns=7", "fwd", "bwd"),
    ),
    (
        layer_of("pool", pooling='"max"', c=2, h=9, w=8, filter=3, pad=1, stride=2),
        in_phases(
            "pool kind=max n=4 c=2 h=9 w=8 r=3 s=3 pad_h=1 pad_w=1 stride_h=2 stride_w=2",
            "fwd",
            "bwd",
        ),
    ),
    (
        layer_of("elementwise", elementwise='"swiglu"', rows=6, columns=7),
        ["elementwise kind=swiglu rows=6 columns=7"],
    ),
    (
        layer_of("elementwise", elementwise='"rotary"', rows=6, columns=96, dim=32),
        ["elementwise kind=rotary rows=6 columns=96 dim=32"],
    ),
    (
        layer_of("lrn", c=96, h=3, w=7, size=5),
        ["lrn n=4 c=96 h=3 w=7 size=5", None],
    ),
    (
        layer_of("embedding", rows=100, dim=8, tokens=30),
        in_phases("embedding rows=100 dim=8 lookups=1 batch=30 mode=gather", "fwd"),
    ),
    (
        layer_of("batched_gemm", batch_count=3, m=4, n=5, k=6, a_t=1),
        ["gemm m=4 n=5 k=6 trans_a=t trans_b=n batch=3"],
    ),
    (
        layer_of("grouped_gemm", groups=3, m=4, n_total=50, k=6),
        ["grouped_gemm groups=3 rows=50 n=4 k=6"],
    ),
    (
        layer_of("attention", heads=8, kv_heads=2, seq_q=5, seq_kv=9, dim=16, causal=1, window=4),
        ["attention batch=4 heads=8 kv_heads=2 seq_q=5 seq_kv=9 dim=16 mask=bottom_right window=4"],
    ),
    (
        layer_of("attention_gradient", heads=8, seq_q=9, seq_kv=9, dim=16, dim_v=8),
        in_phases("attention batch=4 heads=8 kv_heads=8 seq_q=9 seq_kv=9 dim=16 dim_v=8", "bwd"),
    ),
    (
        layer_of("attention", heads=8, seq_q=5, seq_kv=9, dim=16, causal=1, sink=1),
        ["attention batch=4 heads=8 kv_heads=8 seq_q=5 seq_kv=9 dim=16 mask=bottom_right sink=yes"],
    ),
    (
        layer_of("attention_gradient", heads=8, seq_q=9, seq_kv=9, dim=16, sink=1),
        in_phases("attention batch=4 heads=8 kv_heads=8 seq_q=9 seq_kv=9 dim=16 sink=yes", "bwd"),
    ),
]


def canonical(line: str | None) -> str | None:
    """The problem as rows name it; None if no operation has it."""
    try:
        return None if line is None else str(PARSE(line, ""))
    except ValueError:
        return None


def parameters_by_operation() -> dict[str, set[str]]:
    return {one.name: {known.name for known in one.parameters} for one in _core.operations()}


@pytest.mark.parametrize(("layer", "lines"), ESTIMABLE)
def test_layers_are_measured_where_an_operation_has_them(
    layer: Layer, lines: list[str | None]
) -> None:
    problems = [item.problem for item in items_of(layer, "train", Target(PARSE))]
    assert problems == [canonical(line) for line in lines]
    known = parameters_by_operation()
    for line, problem in zip(lines, problems, strict=True):
        if line is None:
            continue
        op, *words = line.split()
        there = {word.partition("=")[0] for word in words} <= known.get(op, set())
        if there:
            assert problem is not None, line
    estimated = items_of(layer, "train", TARGET)
    assert [item.problem for item in estimated] == [None] * len(lines)


def test_parts_of_layers_are_measured_where_an_operation_has_them() -> None:
    around = {"norm": '"batch"', "residual": "true", "activation": '"relu"'}
    layer = layer_of("conv", c=3, h=9, w=9, k=8, filter=3, stride=2, **around)
    assert lines_of(layer, target=Target(PARSE))[1:] == [
        str(canonical("norm kind=batch rows=64 columns=8 phase=inference")),
        str(canonical("elementwise kind=add rows=64 columns=8")),
        str(canonical("activation kind=relu elements=512 phase=fwd")),
    ]


def test_values_that_are_a_part_of_the_keys_have_no_problem() -> None:
    layer = layer_of("attention", heads=8, kv_heads=1, seq_q=1, seq_kv=9, dim=16, dim_v=8, causal=1,
                     shared_kv=1)  # fmt: skip
    assert lines_of(layer, target=Target(PARSE)) == ["None"]


def test_a_precision_that_an_operation_lacks_is_estimated() -> None:
    layer = layer_of("softmax", rows=6, columns=7)
    [item] = items_of(layer, target=Target(PARSE, "int8"))
    assert item.problem is None
    [item] = items_of(layer, target=Target(PARSE, "tf32"))
    assert item.problem == canonical("softmax rows=6 columns=7 phase=fwd precision=float")


def test_products_of_every_kind_have_the_precision_of_products() -> None:
    """Products in tf32 take float's inputs, and what multiplies nothing computes in float."""
    for layer in (
        layer_of("batched_gemm", batch_count=3, m=4, n=5, k=6),
        layer_of("grouped_gemm", groups=3, m=4, n_total=5, k=6),
        layer_of("attention", heads=2, seq_q=3, seq_kv=4, dim=8),
    ):
        for precision in ("float", "tf32", "half", "bfloat16"):
            [item] = items_of(layer, target=Target(PARSE, precision))
            assert item.precision == precision
            assert f"precision={precision}" in str(item.problem)
    layer = layer_of("lrn", c=4, h=3, w=3, size=5)
    assert items_of(layer, target=Target(PARSE, "tf32"))[0].precision == "float"


def test_a_phase_that_an_operation_lacks_is_estimated() -> None:
    line = "softmax rows=6 columns=7 phase="
    assert Target(PARSE).problem_of(Call(f"{line}bwd", 1, may_be_estimated=True))
    assert Target(PARSE).problem_of(Call(f"{line}tangent", 1, may_be_estimated=True)) is None


@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        (
            layer_of("pool", c=4, h=9, w=9, r=2, s=2, pad_h=2, pooling='"max"'),
            "pad_h=2: must be less than the window's r=2",
        ),
        (
            layer_of("attention", heads=8, kv_heads=3, seq_q=1, seq_kv=9, dim=16),
            "kv_heads=3 does not divide heads=8",
        ),
        (layer_of("lrn", c=4, h=3, w=3, size=4), "size=4: must be odd"),
    ],
)
def test_sizes_that_an_operation_refuses_are_a_mistake_of_the_layer(
    layer: Layer, reason: str
) -> None:
    with pytest.raises(ModelError, match=f"layer 'one': {reason}"):
        items_of(layer, target=Target(PARSE))


def test_a_network_of_known_operations_is_measured_whole() -> None:
    """VGG-16 pools its last map to a fixed size, which no operation does."""
    model = model_file.builtin("vgg16")
    found = expand(model, "fwd", default_values(model, "fwd"), Target(PARSE)).items
    missing = {item.op for item in found if item.problem is None}
    assert missing == {"other"}


@pytest.mark.parametrize(
    ("name", "phase", "missing"),
    [
        ("resnet50", "fwd", set()),
        ("resnet50", "train", {"fc bias gradient", "loss", "SGD with momentum"}),
        ("ssd_resnet34", "fwd", {"concatenations"}),
        ("minigo", "fwd", set()),
        ("llama3_8b", "prefill", {"choice of the next token"}),
        ("llama3_8b", "decode", {"choice of the next token"}),
        ("bert_large", "fwd", {"embedding"}),
    ],
)
def test_what_no_operation_measures(name: str, phase: str, missing: set[str]) -> None:
    model = model_file.builtin(name)
    found = expand(model, phase, default_values(model, phase), Target(PARSE)).items
    assert {item.layer for item in found if item.problem is None} == missing


def test_a_recurrent_layer() -> None:
    layer = layer_of("rnn", cell='"lstm"', hidden=16, steps=10)
    start = "rnn cell=lstm hidden=16 batch=4 timesteps=10"
    assert lines_of(layer) == [f"{start} phase=fwd mode=inference precision=float"]
    training = [f"{start} phase={phase} mode=training precision=float"
                for phase in ("fwd", "bwd_data", "bwd_weights", "bwd")]  # fmt: skip
    assert lines_of(layer, "train") == training[:3]
    joint = Target(PARSE, joint_phases={"rnn": "bwd"})
    assert lines_of(layer, "train", joint) == [training[0], training[3]]


def test_a_collective_is_measured_by_ranks_alone() -> None:
    layer = layer_of("all_reduce", elements=1000)
    [item] = items_of(layer, target=Target(PARSE, has_ranks=True))
    assert item.problem == "all_reduce elements=1000 precision=float"
    model = model_file.builtin("llama3_8b")
    sums = {
        tp: [item for item in expand(model, "decode", {"batch": 1, "kv": 8, "tp": tp}, TARGET).items
             if item.op == "all_reduce"]
        for tp in (1, 8)
    }  # fmt: skip
    assert sums[1] == []  # one device has nothing to sum
    assert {item.problem for item in sums[8]} == {None}


def test_an_element_of_work_without_an_operation_is_one_of_the_products() -> None:
    sizes = {"float": 4, "tf32": 4, "half": 2, "fp8_e4m3": 1, "fp8_e5m2": 1, "int8": 1}
    assert {one: Target(PARSE, one).element_bytes for one in sizes} == sizes


def test_values_that_are_a_part_of_the_keys_are_read_once() -> None:
    sizes = {"heads": 16, "kv_heads": 1, "seq_q": 1, "seq_kv": 100, "dim": 576, "dim_v": 512}
    apart = unmeasured(layer_of("attention", batch=1, **sizes))
    shared = unmeasured(layer_of("attention", batch=1, shared_kv=1, **sizes))
    assert apart[0] == shared[0]
    assert apart[1] - shared[1] == 2 * 100 * 512


def unmeasured(layer: Layer, precision: str = "half") -> tuple[float, float]:
    """The FLOPs and bytes of one call of work without an operation."""
    [item] = items_of(layer, target=Target(PARSE, precision, measures_all=False))
    assert (item.problem, item.precision) == (None, precision)
    return item.flops, item.bytes


def test_work_without_an_operation() -> None:
    assert unmeasured(layer_of("other", elements=10)) == (0, 20)
    assert unmeasured(layer_of("other", elements=10, flops=3), "float") == (3, 40)
    batched = layer_of("batched_gemm", batch_count=3, m=5, n=7, k=11)
    assert unmeasured(batched) == (2 * 3 * 5 * 7 * 11, 2 * 3 * (5 * 11 + 11 * 7 + 5 * 7))
    grouped = layer_of("grouped_gemm", groups=8, m=5, n_total=100, k=11)
    assert unmeasured(grouped) == (2 * 5 * 100 * 11, 2 * (8 * 5 * 11 + 100 * 11 + 100 * 5))
    few = layer_of("grouped_gemm", groups=8, m=5, n_total=2, k=11)
    assert unmeasured(few)[1] == 2 * (2 * 5 * 11 + 2 * 11 + 2 * 5)


def pairs_one_by_one(queries: int, keys: int, window: int) -> int:
    return sum(
        0 <= keys - queries + query - key < (window or keys)
        for query in range(queries)
        for key in range(keys)
    )


@pytest.mark.parametrize("queries", [1, 2, 5, 8])
@pytest.mark.parametrize("keys", [1, 3, 5, 9])
@pytest.mark.parametrize("window", [0, 1, 2, 4, 20])
def test_attention_counts_the_pairs_that_its_mask_leaves(
    queries: int, keys: int, window: int
) -> None:
    sizes = {"heads": 4, "kv_heads": 2, "seq_q": queries, "seq_kv": keys, "dim": 3, "dim_v": 5}
    layer = layer_of("attention", causal=1, window=window, **sizes)
    flops, _ = unmeasured(layer)
    assert flops == 2 * 4 * 4 * pairs_one_by_one(queries, keys, window) * (3 + 5)


def test_attention_without_a_mask() -> None:
    layer = layer_of("attention", batch=2, heads=4, seq_q=3, seq_kv=7, dim=8)
    flops, size = unmeasured(layer)
    assert flops == 2 * 2 * 4 * 3 * 7 * 16
    assert size == 2 * 2 * 4 * (3 + 7) * 16
    with pytest.raises(ModelError, match="a window needs causal = 1"):
        items_of({**layer, "window": 4})


def test_counts() -> None:
    assert [item.count for item in items_of({**LAYER_OF_ONE, "count": '"3 * batch"'})] == [12]
    assert [item.count for item in items_of({**LAYER_OF_ONE, "count": 10**15})] == [10**15]
    for count in ('"-1"', '"0 - batch"', 10**15 + 1, 10**18):
        with pytest.raises(ModelError, match=r"it must be from 0 to 10\^15"):
            items_of({**LAYER_OF_ONE, "count": count})
    with pytest.raises(ModelError, match="is beyond"):
        items_of({**LAYER_OF_ONE, "count": 10**30})


def test_a_layer_may_have_no_calls() -> None:
    none = {**LAYER_OF_ONE, "name": '"none"', "count": '"batch - 4"'}
    model = model_of(none, LAYER_OF_ONE, head=TRAINING)
    found = expand(model, "fwd", {"batch": 4}, TARGET)
    assert [item.layer for item in found.items] == ["one"]
    with pytest.raises(ModelError, match="makes no call in phase fwd with batch=4"):
        expand(model_of(none, head=TRAINING), "fwd", {"batch": 4}, TARGET)


LAYER_OF_ONE = layer_of("linear", tokens='"batch"', **{"in": 7, "out": 11})


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"tokens": 0}, "tokens is 0; it must be at least 1"),
        ({"tokens": '"batch - 5"'}, "tokens is -1; it must be at least 1"),
        ({"tokens": '"bach"'}, "'bach': bach is not defined here"),
        ({"tokens": '"batch / 3"'}, "4 / 3 leaves a remainder"),
        ({"tokens": 1 << 62}, "2 m n k does not fit 64 bits"),
        ({"tokens": (1 << 63) - 1, "out": (1 << 63) - 1}, "must be at most 9200"),
        ({"tokens": 1 << 63}, "is beyond"),
        ({"tokens": "\"__import__('os').system('touch owned')\""}, "is not arithmetic"),
    ],
)
def test_dimensions_that_no_call_has(changes: Mapping[str, object], reason: str) -> None:
    with pytest.raises(ModelError) as error:
        items_of({**LAYER_OF_ONE, **changes})
    message = str(error.value)
    assert message.startswith("mine.toml: layer 'one': ")
    assert reason in message
    assert message.isprintable()


def test_work_that_is_beyond_all_numbers() -> None:
    sizes = dict.fromkeys(("batch_count", "m", "n", "k"), 1 << 40)
    with pytest.raises(ModelError, match="its work is beyond"):
        items_of(layer_of("batched_gemm", **sizes))


@pytest.mark.parametrize(
    ("constants", "reason"),
    [
        ('a = "b"\nb = "a"', "[constants] a = 'b': b is not defined here; constants are evaluated "
                             "in their order"),
        ('a = "a + 1"', "a is not defined here; constants are evaluated in their order"),
        ('a = "c"', "[constants] a = 'c': c is not defined here"),
        ('a = "9 ** 9 ** 9"', "is not arithmetic"),
    ],
)  # fmt: skip
def test_constants_that_have_no_value(constants: str, reason: str) -> None:
    model = model_of(LAYER_OF_ONE, head=f"{TRAINING}[constants]\n{constants}\n")
    with pytest.raises(ModelError) as error:
        expand(model, "fwd", {"batch": 4}, TARGET)
    assert reason in str(error.value)


def test_a_parameter_exists_in_its_phases_alone() -> None:
    text = model_text([{**LAYER, "tokens": '"seq"'}])
    model = model_file.from_bytes(text.encode(), "mine.toml", "mine")
    assert expand(model, "prefill", default_values(model, "prefill"), TARGET).items
    with pytest.raises(ModelError, match="'seq': seq is not defined here"):
        expand(model, "decode", default_values(model, "decode"), TARGET)


def test_constants_of_a_phase() -> None:
    model = model_of(LAYER)
    for phase, tokens in (("prefill", 64), ("decode", 4)):
        [item] = expand(model, phase, default_values(model, phase), TARGET).items
        assert f" n={tokens} " in str(item.problem)


# ---- the models of the package ------------------------------------------------------------------


def extremes(parameter: Parameter) -> list[int]:
    ends = (parameter.minimum, parameter.default, parameter.maximum)
    return list(dict.fromkeys(parameter.values or ends))


@pytest.mark.parametrize("name", model_file.available())
def test_every_model_has_calls_at_the_ends_of_its_parameters(name: str) -> None:
    model = model_file.builtin(name)
    for phase in model.phases:
        defaults = default_values(model, phase)
        for parameter in model.parameters_of(phase).values():
            for value in extremes(parameter):
                found = expand(model, phase, {**defaults, parameter.name: value}, TARGET)
                assert found.flops > 0, (phase, parameter.name, value)
        for precision in ("half", "int8"):
            assert expand(model, phase, defaults, Target(PARSE, precision)).items


def measured_gmac(found: Pass) -> float:
    """The billions of multiplications with a sum of the calls that are measured."""
    return sum(item.count * item.flops for item in found.items if item.problem) / 2e9


def defaults_of(name: str, phase: str) -> tuple[Model, Pass]:
    model = model_file.builtin(name)
    return model, expand(model, phase, default_values(model, phase), TARGET)


def test_resnet50_has_the_published_work() -> None:
    """4.089 GMAC: torchvision's ResNet50_Weights. A step of training makes each call three times,
    without the gradient of the image."""
    _, found = defaults_of("resnet50", "fwd")
    assert measured_gmac(found) == pytest.approx(4.089, abs=0.0005)
    assert sum(item.count for item in found.items if item.problem) == 54
    _, training = defaults_of("resnet50", "train")
    first = 112 * 112 * 64 * 3 * 49 / 1e9
    assert measured_gmac(training) == pytest.approx(3 * 4.089184 - first, rel=1e-5)


def test_llama3_8b_has_the_published_size() -> None:
    """8,030,261,248 parameters: Meta-Llama-3-8B. Decoding multiplies with each of them but the
    embedding's and the norms' once."""
    model, found = defaults_of("llama3_8b", "decode")
    norms, embedding = 65 * 4096, 128256 * 4096
    assert measured_gmac(found) * 1e9 == 8_030_261_248 - norms - embedding
    values = default_values(model, "train")
    training = expand(model, "train", values, Target(PARSE, has_ranks=True))
    [gradients] = [item for item in training.items if item.layer == "gradients"]
    assert gradients.bytes == 4 * 8_030_261_248
    assert model.unit("decode") == "tokens"


def test_llama3_8b_on_several_devices() -> None:
    model = model_file.builtin("llama3_8b")
    whole = expand(model, "prefill", {"batch": 1, "seq": 64, "tp": 1}, TARGET)
    part = expand(model, "prefill", {"batch": 1, "seq": 64, "tp": 8}, TARGET)
    assert measured_gmac(part) == pytest.approx(measured_gmac(whole) / 8)
    assert [item.count for item in part.items if item.op == "all_reduce"] == [64]
    assert not [item for item in whole.items if item.op == "all_reduce"]


def test_the_time_of_a_layer_does_not_grow_with_the_number_of_constants() -> None:
    """Copying all constants for each size that has a default takes more than a minute here."""
    constants = "".join(f"c{number} = 1\n" for number in range(60_000))
    sizes = dict.fromkeys(("heads", "seq_q", "seq_kv", "dim"), 1)
    layers = [{**layer_of("attention", **sizes), "name": f'"{n}"'} for n in range(5_000)]
    text = f"{TRAINING}[constants]\n{constants}"
    model = replace(model_of(layers[0], head=text), layers=model_of(*layers, head=TRAINING).layers)
    repeated = replace(model, layers=10 * model.layers)
    begin = time.process_time()
    assert len(expand(repeated, "fwd", default_values(model, "fwd"), TARGET).items) == 50_000
    assert time.process_time() - begin < 30
