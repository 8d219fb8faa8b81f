"""Records, on a GPU, torch-VERSION-DEVICE.json.gz and the trace of a replayed graph:
python record_gpu.py DEVICE. With 'log' for DEVICE it runs the program once, for the log of cuBLASLt
(CUBLASLT_LOG_LEVEL=2 CUBLASLT_LOG_FILE=FILE)."""

from __future__ import annotations

import sys

import torch
from record_torch import save
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function

DEVICE = {"device": "cuda"}
ACTIVITIES = [ProfilerActivity.CPU, ProfilerActivity.CUDA]


class Network(nn.Module):
    """A convolution, its normalisation, and two linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(16, 32, 3, stride=2, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(32)
        self.fc = nn.Linear(8192, 64)
        self.out = nn.Linear(64, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with record_function("head"):
            x = self.bn(self.conv(x)).relu().flatten(1)
        return self.out(self.fc(x).relu())


def call_operators(network: Network, x: torch.Tensor, input_with_gradient: torch.Tensor) -> None:
    with torch.autocast("cuda", torch.bfloat16):
        y = network(x)
    y.float().sum().backward()
    network(input_with_gradient).sum().backward()
    torch.bmm(x[:, 0], x[:, 1])
    a, b = torch.randn(64, 48, **DEVICE), torch.randn(48, 32, **DEVICE)
    a @ b
    torch.set_float32_matmul_precision("high")
    b.t() @ a.t()
    torch.set_float32_matmul_precision("highest")
    first = torch.randn(32, 64, **DEVICE).to(torch.float8_e4m3fn)
    second = torch.randn(48, 64, **DEVICE).to(torch.float8_e4m3fn).t()
    scale = torch.ones((), **DEVICE)
    torch._scaled_mm(first, second, scale, scale, out_dtype=torch.bfloat16)
    torch.addmm(torch.randn(32, **DEVICE).half(), a.half(), b.half())
    torch.cuda.synchronize()


def main(device: str) -> None:
    network, x = Network().cuda(), torch.randn(8, 16, 32, 32, **DEVICE)
    input_with_gradient = x.clone().requires_grad_()
    call_operators(network, x, input_with_gradient)
    if device == "log":
        return
    version = torch.__version__.partition("+")[0]
    with profile(activities=ACTIVITIES, record_shapes=True) as profiled:
        call_operators(network, x, input_with_gradient)
    save(profiled, f"torch-{version}-{device}.json.gz")
    graph = torch.cuda.CUDAGraph()
    network.eval()
    with torch.no_grad(), torch.cuda.graph(graph):
        network(x)
    with profile(activities=ACTIVITIES, record_shapes=True) as profiled:
        graph.replay()
        torch.cuda.synchronize()
    save(profiled, f"torch-{version}-{device}-graph.json.gz")


if __name__ == "__main__":
    main(sys.argv[1])
