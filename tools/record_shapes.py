"""Records which products and convolutions PyTorch makes of a model.

    python tools/record_shapes.py FOLDER [NAME...]

Builds each model of MODELS (all, or those named) on PyTorch's meta device, which has shapes and no
data, runs the model's phases, and writes FOLDER/NAME.json: the versions of the packages, the number
of trained weights, and for each phase how often every problem is called and how many elements the
maps have that norms, activations, sums and pooling work on. tests/data/recorded_shapes holds the
recordings that the model files of deepbench.workloads are compared with.

Problems are written as in deepbench's suites: matrices are stored by columns, so that a product of
PyTorch's, which stores by rows, is the product of the second operand with the first. Attributes of
convolutions that have their default (no padding, stride, dilation and groups of 1) are left out.
The gradients of a transposed convolution, and the convolution itself, are those of the convolution
whose data gradient it is.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from published_networks import Minigo, SSDResNet34, alexnet, mobilenet_v1

aten = torch.ops.aten


class Model(NamedTuple):
    packages: Sequence[str]  # beside torch: those whose versions determine the recording
    build: Callable[[], nn.Module]
    phases: Mapping[str, Mapping[str, int]]  # the workload's parameters in each phase
    inputs: Callable[..., tuple[torch.Tensor, ...]]  # by phase and the phase's parameters


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder, *names = sys.argv[1:]
    for name in names or MODELS:
        if name not in MODELS:
            sys.exit(f"no model {name!r}; there are {', '.join(MODELS)}")
        text = json.dumps(record(MODELS[name]), indent=1)
        Path(folder, f"{name}.json").write_text(text + "\n", encoding="utf-8")


def record(model: Model) -> dict[str, Any]:
    with torch.device("meta"):
        module = model.build()
        return {
            "versions": {p: version(p).partition("+")[0] for p in ("torch", *model.packages)},
            "weights": sum(p.numel() for p in module.parameters() if p.requires_grad),
            "phases": {
                phase: {
                    "parameters": parameters,
                    **record_pass(module, model.inputs(phase, **parameters), phase),
                }
                for phase, parameters in model.phases.items()
            },
        }


def record_pass(
    module: nn.Module, inputs: tuple[torch.Tensor, ...], phase: str
) -> dict[str, dict[str, int]]:
    """What a pass, in training a forward and a backward pass, calls and works on."""
    train = phase == "train"
    module.train(train)
    with Recorder() as recorder, torch.set_grad_enabled(train):
        outputs = [leaf for leaf in tree_leaves(module(*inputs)) if isinstance(leaf, torch.Tensor)]
        if train:
            torch.autograd.backward(outputs, [torch.empty_like(output) for output in outputs])
    return {"calls": dict(recorder.calls), "elements": dict(recorder.elements)}


class Recorder(TorchDispatchMode):
    """Counts the problems and the elements of the operations that run inside it."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: Counter[str] = Counter()
        self.elements: Counter[str] = Counter()

    def __torch_dispatch__(
        self, operation: Any, types: Any, arguments: Any = (), options: Any = None
    ) -> Any:
        packet = operation.overloadpacket
        if packet in PROBLEMS:
            self.calls.update(PROBLEMS[packet](*arguments, **(options or {})))
        elif packet in flop_registry:
            # The registry has every operation in which PyTorch counts products.
            raise NotImplementedError(f"{packet} makes products that this tool does not read")
        result = operation(*arguments, **(options or {}))
        if packet in ELEMENTS:
            output = result if isinstance(result, torch.Tensor) else result[0]
            kind = ELEMENTS[packet]
            if output.dim() > 1 and len(output) > 1:  # of a batch, not the variances of a norm
                both = output.numel() + arguments[0].numel() if "pool" in kind else output.numel()
                self.elements[kind] += both
        return result


def problem(operation: str, **attributes: int | str) -> str:
    return " ".join([operation, *(f"{name}={value}" for name, value in attributes.items())])


def product(first: torch.Tensor, second: torch.Tensor) -> list[str]:
    """mm, and bmm if the operands have a third dimension."""
    *batch, n, k = first.shape
    attributes = {
        "m": second.shape[-1],
        "n": n,
        "k": k,
        "trans_a": transposition(second),
        "trans_b": transposition(first),
    }
    if batch:
        return [problem("batched_gemm", batch_count=batch[0], **attributes)]
    return [problem("gemm", **attributes)]


def transposition(matrix: torch.Tensor) -> str:
    """t if only the columns are without gaps. Of an operand with gaps in rows and columns PyTorch
    makes a copy without."""
    return "t" if has_dense_rows(matrix.mT) and not has_dense_rows(matrix) else "n"


def has_dense_rows(matrix: torch.Tensor) -> bool:
    return matrix.stride(-1) == 1 and matrix.stride(-2) >= matrix.shape[-1]


def sum_of_product(
    _addend: torch.Tensor, first: torch.Tensor, second: torch.Tensor, **_: Any
) -> list[str]:
    return product(first, second)


def convolution(
    data: torch.Tensor, filters: torch.Tensor, _bias: torch.Tensor | None, *geometry: Any
) -> list[str]:
    transposed = geometry[3]
    return [conv_problem("bwd_data" if transposed else "fwd", data, filters, geometry)]


def convolution_backward(
    _gradient: torch.Tensor,
    data: torch.Tensor,
    filters: torch.Tensor,
    _bias_sizes: Any,
    *geometry_and_mask: Any,
) -> list[str]:
    *geometry, (data_gradient, filter_gradient, _) = geometry_and_mask
    transposed = geometry[3]
    problems = []
    if data_gradient:
        phase = "fwd" if transposed else "bwd_data"
        problems.append(conv_problem(phase, data, filters, geometry))
    if filter_gradient:
        problems.append(conv_problem("bwd_filter", data, filters, geometry))
    return problems


def conv_problem(
    phase: str, data: torch.Tensor, filters: torch.Tensor, geometry: Sequence[Any]
) -> str:
    stride, padding, dilation, transposed, output_padding, groups = geometry
    k, channels, *kernel = filters.shape
    size = list(data.shape[2:])
    if transposed:
        size = [
            (size[i] - 1) * stride[i] - 2 * padding[i]
            + dilation[i] * (kernel[i] - 1) + output_padding[i] + 1
            for i in range(len(size))
        ]  # fmt: skip
    directions = {"pad": padding, "stride": stride, "dilation": dilation}
    defaults = {"pad": 0, "stride": 1, "dilation": 1}
    if len(size) == 1:  # deepbench's convolutions are planes: one dimension has a height of 1
        size, kernel = [1, *size], [1, *kernel]
        directions = {name: [defaults[name], *values] for name, values in directions.items()}
    attributes = dict(
        zip("nchwkrs", (data.shape[0], channels * groups, *size, k, *kernel), strict=True)
    )
    for name, values in directions.items():
        for direction, value in zip("hw", values, strict=True):
            if value != defaults[name]:
                attributes[f"{name}_{direction}"] = value
    if groups != 1:
        attributes["groups"] = groups
    return problem("conv", **attributes, phase=phase)


PROBLEMS: Mapping[Any, Callable[..., list[str]]] = {
    aten.mm: product,
    aten.bmm: product,
    aten.addmm: sum_of_product,
    aten.baddbmm: sum_of_product,
    aten.convolution: convolution,
    aten.convolution_backward: convolution_backward,
}

# Operations without products, whose elements a model file states. Pooling has those of its input
# and of its output, all others those of their output. The mean over a map is left out: its gradient
# is no operation of its own.
ELEMENTS: Mapping[Any, str] = {
    aten.native_batch_norm: "norm",
    aten.native_batch_norm_backward: "norm gradient",
    aten.relu: "activation",
    aten.relu_: "activation",
    aten.hardtanh_: "activation",
    aten.tanh: "activation",
    aten.threshold_backward: "activation gradient",
    aten.hardtanh_backward: "activation gradient",
    aten.tanh_backward: "activation gradient",
    aten.add: "sum",
    aten.add_: "sum",
    aten.cat: "concatenation",
    aten.max_pool2d_with_indices: "pool",
    aten.avg_pool2d: "pool",
    aten._adaptive_avg_pool2d: "pool",
    aten.upsample_nearest2d: "pool",
    aten.max_pool2d_with_indices_backward: "pool gradient",
    aten.avg_pool2d_backward: "pool gradient",
    aten._adaptive_avg_pool2d_backward: "pool gradient",
    aten.upsample_nearest2d_backward: "pool gradient",
}


def image_network(
    name: str, adapt: Callable[[nn.Module], None] | None = None, **options: Any
) -> Model:
    """A classification network of torchvision on images of 224 by 224."""

    def build() -> nn.Module:
        from torchvision.models import get_model

        network = get_model(name, weights=None, **options)
        if adapt is not None:
            adapt(network)
        return network

    def inputs(_phase: str, batch: int, image: int) -> tuple[torch.Tensor, ...]:
        return (torch.empty(batch, 3, image, image),)

    parameters = {"batch": 4, "image": 224}
    return Model(("torchvision",), build, {"fwd": parameters, "train": parameters}, inputs)


def published(build: Callable[[], nn.Module], *shape: int) -> Model:
    """A network of published_networks.py on inputs of one shape."""

    def inputs(_phase: str, batch: int) -> tuple[torch.Tensor, ...]:
        return (torch.empty(batch, *shape),)

    return Model((), build, {"fwd": {"batch": 4}, "train": {"batch": 4}}, inputs)


def ssd_inputs(phase: str, batch: int) -> tuple[torch.Tensor, ...]:
    side = {"fwd": 1200, "train": 300}[phase]
    return (torch.empty(batch, 3, side, side),)


def stride_first(network: nn.Module) -> None:
    """Gives a ResNet the strides of its first version, which torchvision's version 1.5 moved from
    the first convolution of a block to the second."""
    from torchvision.models.resnet import Bottleneck

    for block in network.modules():
        if isinstance(block, Bottleneck):
            block.conv1.stride, block.conv2.stride = block.conv2.stride, block.conv1.stride


class RetinaNet(nn.Module):
    """The layers of torchvision's RetinaNet with the sizes of MLPerf's reference, without the
    choice of boxes. Training leaves the stem and the first stage as they are."""

    def __init__(self) -> None:
        super().__init__()
        from torchvision.models.detection import RetinaNet
        from torchvision.models.detection.backbone_utils import resnet_fpn_backbone
        from torchvision.ops.feature_pyramid_network import LastLevelP6P7

        backbone = resnet_fpn_backbone(
            backbone_name="resnext50_32x4d",
            weights=None,
            trainable_layers=3,
            returned_layers=[2, 3, 4],
            extra_blocks=LastLevelP6P7(256, 256),
        )
        network = RetinaNet(backbone, num_classes=264)
        self.backbone = network.backbone
        self.head = network.head

    def forward(self, images: torch.Tensor) -> dict[str, torch.Tensor]:
        return self.head(list(self.backbone(images).values()))


def retinanet_inputs(_phase: str, batch: int) -> tuple[torch.Tensor, ...]:
    return (torch.empty(batch, 3, 800, 800),)


class MaskRCNN(nn.Module):
    """The layers of torchvision's Mask R-CNN, for numbers of regions that are given.

    Which regions are pooled depends on the contents of an image, which the meta device lacks. As in
    MLPerf's reference there are 81 classes, the ResNet is of version 1, and training leaves its
    stem and first stage as they are.
    """

    def __init__(self) -> None:
        super().__init__()
        from torchvision.models.detection import MaskRCNN
        from torchvision.models.detection.backbone_utils import resnet_fpn_backbone

        backbone = resnet_fpn_backbone(backbone_name="resnet50", weights=None, trainable_layers=3)
        stride_first(backbone)
        network = MaskRCNN(backbone, num_classes=81)
        self.backbone = network.backbone
        self.proposals = network.rpn.head
        self.boxes = nn.Sequential(network.roi_heads.box_head, network.roi_heads.box_predictor)
        self.masks = nn.Sequential(network.roi_heads.mask_head, network.roi_heads.mask_predictor)

    def forward(self, images: torch.Tensor, boxes: torch.Tensor, masks: torch.Tensor) -> list[Any]:
        maps = list(self.backbone(images).values())
        return [self.proposals(maps), self.boxes(boxes), self.masks(masks)]


def mask_rcnn_inputs(phase: str, batch: int) -> tuple[torch.Tensor, ...]:
    boxes, masks = {"fwd": (1000, 100), "train": (512, 128)}[phase]  # for each image
    return (
        torch.empty(batch, 3, 800, 1344),
        torch.empty(batch * boxes, 256, 7, 7, requires_grad=True),
        torch.empty(batch * masks, 256, 14, 14, requires_grad=True),
    )


def detector(
    build: Callable[[], nn.Module], inputs: Callable[..., tuple[torch.Tensor, ...]]
) -> Model:
    return Model(("torchvision",), build, {"fwd": {"batch": 2}, "train": {"batch": 2}}, inputs)


class LanguageModel(nn.Module):
    """A decoder of transformers with attention of its `eager` kind, which are batched products.

    Which token an expert gets depends on the contents of a text, which the meta device lacks. The
    experts are left out: each token comes back as it is, times the sum of its experts' weights.
    """

    def __init__(self, kind: str, **sizes: int) -> None:
        super().__init__()
        from transformers import CONFIG_MAPPING, AutoModelForCausalLM

        config = CONFIG_MAPPING[kind](**sizes, attn_implementation="eager")
        self.network = AutoModelForCausalLM.from_config(config)
        for module in self.network.modules():
            if type(module).__name__.endswith("Experts"):
                module.forward = without_experts

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor, cached: int) -> torch.Tensor:
        cache = self.cache(len(tokens), cached) if cached else None
        predicted = {"logits_to_keep": 0 if self.training else 1}  # all tokens, or the last one
        outputs = self.network(
            tokens, attention_mask=mask, cache=cache, use_cache=bool(cached), **predicted
        )
        return outputs.logits

    def cache(self, batch: int, tokens: int) -> Any:
        """A cache of keys and values of so many tokens, in all layers."""
        from transformers import DynamicCache

        config = self.network.config
        cache = DynamicCache(config=config)
        dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        for layer in range(config.num_hidden_layers):
            keys = torch.empty(batch, config.num_key_value_heads, tokens, dim)
            cache.update(keys, keys, layer)
        return cache


def without_experts(
    tokens: torch.Tensor, _experts: torch.Tensor, weights: torch.Tensor
) -> torch.Tensor:
    return tokens * weights.sum(-1, keepdim=True)


def language_model(
    kind: str, phases: Sequence[str] = ("prefill", "decode", "train"), **sizes: int
) -> Model:
    """A decoder whose sizes are the defaults of transformers but for those given."""

    def inputs(phase: str, batch: int, seq: int = 1, kv: int = 1) -> tuple[Any, ...]:
        mask = torch.empty(batch, 1, seq, seq)  # given, since its absence is looked into
        return torch.empty(batch, seq, dtype=torch.long), mask, kv - 1

    prompt, step = {"batch": 2, "seq": 256}, {"batch": 16, "kv": 512}
    parameters = {phase: step if phase == "decode" else prompt for phase in phases}
    return Model(("transformers",), lambda: LanguageModel(kind, **sizes), parameters, inputs)


class Bert(nn.Module):
    """BERT-large, which finds answers in inference, and in training predicts the order of sentences
    and the words at masked positions, as MLPerf's references do: at most 76 of 512 tokens, 20 of
    128. Attention is transformers' `eager` one."""

    def __init__(self) -> None:
        super().__init__()
        from transformers import BertConfig, BertForPreTraining, BertForQuestionAnswering

        config = BertConfig(
            hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096,
            attn_implementation="eager",
        )  # fmt: skip
        self.network = BertForPreTraining(config)
        self.answers = (BertForQuestionAnswering(config),)  # not among the weights of training

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> Any:
        if not self.training:
            return self.answers[0](tokens, attention_mask=mask).to_tuple()
        masked = min(76, math.ceil(20 * tokens.shape[1] / 128))
        states, pooled = self.network.bert(tokens, attention_mask=mask).to_tuple()
        return self.network.cls(states[:, :masked], pooled)


def bert_inputs(_phase: str, batch: int, seq: int) -> tuple[torch.Tensor, ...]:
    return torch.empty(batch, seq, dtype=torch.long), torch.empty(batch, 1, 1, seq)


LLAMA = {"vocab_size": 128256, "num_key_value_heads": 8}

MODELS: Mapping[str, Model] = {
    "googlenet": image_network("googlenet", init_weights=False),
    "vgg16": image_network("vgg16"),
    "resnet50": image_network("resnet50"),
    "resnet50-v1": image_network("resnet50", stride_first),
    "resnet152": image_network("resnet152"),
    "resnet152-v1": image_network("resnet152", stride_first),
    "densenet121": image_network("densenet121"),
    "mobilenet_v2": image_network("mobilenet_v2"),
    "squeezenet": image_network("squeezenet1_1"),
    "alexnet": published(alexnet, 3, 227, 227),
    "mobilenet_v1": published(mobilenet_v1, 3, 224, 224),
    "minigo": published(lambda: Minigo(9, 17, filters=32, blocks=9), 17, 9, 9),
    "minigo_19x19": published(lambda: Minigo(19, 13, filters=64, blocks=6), 13, 19, 19),
    "ssd_resnet34": detector(SSDResNet34, ssd_inputs),
    "mask_rcnn": detector(MaskRCNN, mask_rcnn_inputs),
    "retinanet": detector(RetinaNet, retinanet_inputs),
    "bert_large": Model(
        ("transformers",), Bert,
        {"fwd": {"batch": 4, "seq": 384}, "train": {"batch": 4, "seq": 128}}, bert_inputs,
    ),
    "llama3_8b": language_model("llama", **LLAMA, intermediate_size=14336),
    "llama3_70b": language_model(
        "llama", **LLAMA, hidden_size=8192, intermediate_size=28672, num_hidden_layers=80,
        num_attention_heads=64,
    ),
    "llama3_405b": language_model(
        "llama", **LLAMA, hidden_size=16384, intermediate_size=53248, num_hidden_layers=126,
        num_attention_heads=128,
    ),
    "mixtral_8x7b": language_model("mixtral"),
    # transformers decodes with the keys and values of all heads, which serving engines do not make
    "deepseek_v3": language_model("deepseek_v3", ("prefill", "train")),
    "gpt_oss_20b": language_model("gpt_oss", num_hidden_layers=24, num_local_experts=32),
    "gpt_oss_120b": language_model("gpt_oss"),
}  # fmt: skip

if __name__ == "__main__":
    main()
