"""Whole passes of models in PyTorch, without weights that were trained: for each workload of
deepbench that a chain is compared with, the function that makes one pass.

Convolutions have channels last, as PyTorch recommends for tensor cores, and their norms have
statistics in float. Attention is scaled_dot_product_attention, and norms are PyTorch's functions.
With `compiled`, torch.compile fuses what it can: in ResNet-50 of the whole model, in the others of
each layer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

Step = Callable[[], Any]


class Bottleneck(nn.Module):
    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        out = 4 * width
        self.convolutions = nn.ModuleList([
            nn.Conv2d(channels, width, 1, bias=False),
            nn.Conv2d(width, width, 3, stride, 1, bias=False),
            nn.Conv2d(width, out, 1, bias=False),
        ])  # fmt: skip
        self.norms = nn.ModuleList([nn.BatchNorm2d(width), nn.BatchNorm2d(width),
                                    nn.BatchNorm2d(out)])  # fmt: skip
        self.projection = (
            nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))
            if stride > 1 or channels != out
            else nn.Identity()
        )

    def forward(self, x: Tensor) -> Tensor:
        y = x
        for place, (convolution, norm) in enumerate(
            zip(self.convolutions, self.norms, strict=True)
        ):
            y = norm(convolution(y))
            if place < 2:
                y = functional.relu(y, inplace=True)
        return functional.relu(y + self.projection(x), inplace=True)


def resnet50() -> nn.Module:
    blocks: list[nn.Module] = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
    ]  # fmt: skip
    channels = 64
    for stage, count in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for block in range(count):
            blocks.append(Bottleneck(channels, width, 2 if stage and not block else 1))
            channels = 4 * width
    return nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


class EncoderLayer(nn.Module):
    """A layer of BERT, whose norms follow the sums."""

    def __init__(self, hidden: int, heads: int, intermediate: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.output = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.up, self.down = nn.Linear(hidden, intermediate), nn.Linear(intermediate, hidden)
        self.norms = nn.ModuleList([nn.LayerNorm(hidden), nn.LayerNorm(hidden)])

    def forward(self, x: Tensor) -> Tensor:
        batch, tokens, hidden = x.shape
        qkv = self.qkv(x).view(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(*qkv.unbind(0))
        attended = attended.transpose(1, 2).reshape(batch, tokens, hidden)
        x = self.norms[0](x + self.output(attended))
        return self.norms[1](x + self.down(functional.gelu(self.up(x))))


class Bert(nn.Module):
    def __init__(self, layers: int = 24, hidden: int = 1024) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(30522, hidden), nn.Embedding(512, hidden)
        self.sentences, self.norm = nn.Embedding(2, hidden), nn.LayerNorm(hidden)
        self.layers = nn.Sequential(*(EncoderLayer(hidden, 16, 4096) for _ in range(layers)))
        self.answers = nn.Linear(hidden, 2)

    def forward(self, words: Tensor, places: Tensor, sentences: Tensor) -> Tensor:
        embedded = self.words(words) + self.places(places) + self.sentences(sentences)
        return self.answers(self.layers(self.norm(embedded)))


class DecoderLayer(nn.Module):
    """A layer of Llama 3 that makes one token of every sequence."""

    HIDDEN, HEADS, KV_HEADS, DIM, INTERMEDIATE = 4096, 32, 8, 128, 14336

    def __init__(self, batch: int, keys: int) -> None:
        super().__init__()
        hidden, dim, inner = self.HIDDEN, self.DIM, self.INTERMEDIATE
        self.qkv = nn.Linear(hidden, (self.HEADS + 2 * self.KV_HEADS) * dim, bias=False)
        self.output = nn.Linear(self.HEADS * dim, hidden, bias=False)
        self.gate_up = nn.Linear(hidden, 2 * inner, bias=False)
        self.down = nn.Linear(inner, hidden, bias=False)
        self.norms = nn.ModuleList([nn.RMSNorm(hidden), nn.RMSNorm(hidden)])
        for name in ("keys", "values"):
            self.register_buffer(name, torch.randn(batch, self.KV_HEADS, keys, dim))

    def forward(self, x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        batch, heads, kv_heads = len(x), self.HEADS, self.KV_HEADS
        qkv = self.qkv(self.norms[0](x)).view(batch, 1, heads + 2 * kv_heads, self.DIM)
        query, key, value = qkv.transpose(1, 2).split([heads, kv_heads, kv_heads], dim=1)
        self.keys[:, :, -1:] = _rotated(key, cosine, sine)
        self.values[:, :, -1:] = value
        attended = functional.scaled_dot_product_attention(
            _rotated(query, cosine, sine), self.keys, self.values, enable_gqa=True
        )
        x = x + self.output(attended.transpose(1, 2).reshape(batch, 1, -1))
        gate, up = self.gate_up(self.norms[1](x)).chunk(2, dim=-1)
        return x + self.down(functional.silu(gate) * up)


def _rotated(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    first, second = x.chunk(2, dim=-1)
    return x * cosine + torch.cat((-second, first), dim=-1) * sine


class Llama(nn.Module):
    def __init__(self, batch: int, keys: int, layers: int = 32) -> None:
        super().__init__()
        hidden = DecoderLayer.HIDDEN
        self.tokens = nn.Embedding(128256, hidden)
        self.layers = nn.ModuleList(DecoderLayer(batch, keys) for _ in range(layers))
        self.norm, self.output = nn.RMSNorm(hidden), nn.Linear(hidden, 128256, bias=False)

    def forward(self, tokens: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        x = self.tokens(tokens)
        for layer in self.layers:
            x = layer(x, cosine, sine)
        return self.output(self.norm(x)).argmax(-1)


# ---- one pass of each workload ------------------------------------------------------------------


def compile_layers(model: nn.Module) -> None:
    """Compiles the layers, which are equal, so that their code is compiled once."""
    for layer in model.layers:
        layer.compile(dynamic=False)


def resnet50_step(dtype: torch.dtype, compiled: bool, batch: int = 1, image: int = 224) -> Step:
    with torch.device("cuda"):
        model = resnet50().eval().to(dtype, memory_format=torch.channels_last)
        for module in model.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.float()
        if compiled:
            model.compile(dynamic=False)
        images = torch.randn(batch, 3, image, image).to(dtype, memory_format=torch.channels_last)
    return lambda: model(images)


def bert_large_step(dtype: torch.dtype, compiled: bool, batch: int = 1, seq: int = 384) -> Step:
    with torch.device("cuda"):
        model = Bert().eval().to(dtype)
        if compiled:
            compile_layers(model)
        words = torch.randint(30522, (batch, seq))
        places, sentences = torch.arange(seq).expand(batch, seq), torch.zeros_like(words)
    return lambda: model(words, places, sentences)


def llama3_8b_step(dtype: torch.dtype, compiled: bool, batch: int = 1, kv: int = 2048) -> Step:
    with torch.device("cuda"):
        torch.set_default_dtype(dtype)  # in float, the weights would take twice the memory
        model = Llama(batch, kv).eval()
        if compiled:
            compile_layers(model)
        torch.set_default_dtype(torch.float)
        tokens = torch.randint(128256, (batch, 1))
        angle = torch.randn(1, 1, 1, DecoderLayer.DIM, dtype=dtype)
    return lambda: model(tokens, angle.cos(), angle.sin())


STEPS: dict[str, Callable[..., Step]] = {
    "resnet50 fwd": resnet50_step,
    "bert_large fwd": bert_large_step,
    "llama3_8b decode": llama3_8b_step,
}
