"""Records torch-VERSION.json.gz and torch-VERSION-stack.json.gz with the installed PyTorch, without
the names of the machine: python record_torch.py."""

from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile, record_function


class Network(nn.Module):
    """Two convolutions and two linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, stride=2, padding=1)
        self.grouped = nn.Conv2d(16, 32, (3, 5), padding=(1, 2), groups=4, bias=False)
        self.hidden = nn.Linear(32 * 8 * 8, 64)
        self.output = nn.Linear(64, 10, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with record_function("features"):
            x = torch.relu(self.grouped(torch.relu(self.stem(x))))
        return self.output(torch.relu(self.hidden(x.flatten(1))))


def train(network: nn.Module) -> None:
    loss = functional.cross_entropy(network(torch.randn(4, 3, 16, 16)), torch.arange(4))
    loss.backward()
    network.zero_grad()


def call_operators() -> None:
    """Calls of every kind that an import distinguishes."""
    a, b = torch.randn(5, 7), torch.randn(7, 6)
    a @ b
    b.t() @ a.t()
    a.t()[::2] @ torch.randn(5, 9)
    torch.randn(2, 3, 7) @ b
    a @ torch.randn(7)
    a.half() @ b.half()
    a.bfloat16() @ b.bfloat16()
    a.double() @ b.double()
    torch.bmm(torch.randn(1, 5, 7), torch.randn(1, 7, 6))
    torch.bmm(torch.randn(2, 3, 4), torch.randn(2, 4, 5))
    torch.baddbmm(torch.randn(1, 3, 5), torch.randn(1, 3, 4), torch.randn(1, 4, 5))
    functional.conv1d(torch.randn(1, 4, 9), torch.randn(6, 4, 3), dilation=2)
    functional.conv3d(torch.randn(1, 4, 5, 6, 7), torch.randn(6, 4, 3, 3, 2))
    x = torch.randn(1, 4, 5, 6, requires_grad=True)
    weight = torch.randn(4, 6, 3, 3, requires_grad=True)
    y = functional.conv_transpose2d(x, weight, stride=2, padding=1, output_padding=1)
    y.sum().backward()
    last = torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)
    functional.conv2d(last, torch.randn(4, 3, 3, 3), padding="same")


def save(profiled: profile, name: str) -> None:
    """Writes the trace without names of the machine and its folders."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        profiled.export_chrome_trace(str(path))
        trace = json.loads(path.read_text())
    for key in ("host_name", "traceName", "trace_id"):
        trace.pop(key, None)
    trace["torch"] = torch.__version__
    kept = ("id", "name", "computeMajor", "computeMinor")
    trace["deviceProperties"] = [
        {key: device[key] for key in kept} for device in trace["deviceProperties"]
    ]
    events = trace["traceEvents"]
    for event in events:
        if event.get("cat") == "python_function":
            event["name"] = event["name"].rpartition("/")[2]
    text = json.dumps(trace, separators=(",", ":")).encode()
    Path(name).write_bytes(gzip.compress(text, 9, mtime=0))


def main() -> None:
    torch.set_num_threads(1)
    network = Network()
    train(network)
    version = torch.__version__.partition("+")[0]
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiled:
        train(network)
        with torch.no_grad():
            network(torch.randn(4, 3, 16, 16))
        call_operators()
    save(profiled, f"torch-{version}.json.gz")
    with profile(
        activities=[ProfilerActivity.CPU], record_shapes=True, with_stack=True
    ) as profiled:
        train(network)
    save(profiled, f"torch-{version}-stack.json.gz")


if __name__ == "__main__":
    main()
