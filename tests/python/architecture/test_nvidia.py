"""The architecture as a test: who knows of NVIDIA's libraries, and how they are met."""

from __future__ import annotations

import re

from source_tree import c_sources, includes, pattern_matches, relative_name

# Headers of NVIDIA's, which nothing of ours needs: the declarations in third_party/nvidia do.
NVIDIA = re.compile(r"(cu\w+|nccl|nvml|nvrtc|nvJitLink|library_types|nvtx3/.*|nvToolsExt)\.h")


def test_no_header_of_nvidias_is_needed() -> None:
    wrong = [
        f"{relative_name(path)} includes {include}"
        for path in c_sources()
        for include in includes(path)
        if NVIDIA.fullmatch(include)
    ]
    assert not wrong, wrong


def test_only_the_cuda_backend_knows_our_declarations_of_nvidia() -> None:
    allowed = ("src/cuda/", "tests/cpp/cuda/", "tests/gpu/", "third_party/nvidia/")
    wrong = [
        f"{relative_name(path)} includes {include}"
        for path in c_sources()
        for include in includes(path)
        if include.startswith("nvidia/") and not relative_name(path).startswith(allowed)
    ]
    assert not wrong, wrong


# Functions whose bare name has another meaning in CUDA 13 than in CUDA 12, in part with the same
# arguments, so that comparing declarations does not tell.
TWO_MEANINGS = (
    r"\b(cudaGetDeviceProperties|cudaStreamGetCaptureInfo|cudaStreamUpdateCaptureDependencies"
    r"|cudaGraph(AddDependencies|RemoveDependencies|GetEdges|AddNode)"
    r"|cudaGraphNodeGet(Dependencies|DependentNodes)|cudaMemAdvise|cudaMemPrefetchAsync"
    r"|cudaMemcpy(3D)?BatchAsync|cuCtxCreate|cuDeviceGetUuid|cuMemAdvise|cuMemPrefetchAsync)\b"
)


def test_no_function_of_two_meanings_is_declared() -> None:
    wrong = pattern_matches(c_sources("third_party/nvidia", "src/cuda"), TWO_MEANINGS)
    assert not wrong, wrong


def test_libraries_are_opened_in_few_places() -> None:
    allowed = {
        "src/cpp/deepbench/backend/shared_library.hpp",
        "src/cpp/deepbench/run/backend/loader.cpp",
    }
    wrong = [
        found
        for found in pattern_matches(c_sources("src", "third_party"), r"\bdlopen\s*\(")
        if found.split(":")[0] not in allowed
    ]
    assert not wrong, wrong
