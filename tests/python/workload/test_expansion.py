"""The calls of a model: their dimensions, counts and work, and the errors of values that no pass
can have."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from deepbench.runner.plan import make_parser
from deepbench.workload import model_file
from deepbench.workload.expansion import Target, default_values, expand
from deepbench.workload.model_file import Model, ModelError, Parameter
from deepbench.workload.passes import Item, Pass
from model_files import LAYER, Layer, model_of, model_text

PARSE = make_parser(None, None)
TARGET = Target(PARSE)
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
    [item] = items_of(layer, target=Target(PARSE, precision))
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
