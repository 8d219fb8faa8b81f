"""The NVIDIA devices of this machine, as `env` lists them."""

from __future__ import annotations

import functools
import json
from typing import Any

from command_line import deepbench


@functools.cache
def cuda_backend() -> dict[str, Any]:
    """The facts of the CUDA backend that `env` prints."""
    backends: list[dict[str, Any]] = json.loads(deepbench("env", "--format", "json").stdout)[
        "backends"
    ]
    return next(backend for backend in backends if backend["name"] == "cuda")


def device_count() -> int:
    return len(cuda_backend()["devices"])
