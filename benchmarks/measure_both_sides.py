"""Times problems on PyTorch's terms by deepbench and by PyTorch, and traces the kernels of both.

    python benchmarks/measure_both_sides.py < PROBLEMS

Reads problems, one per line, and prints lines of JSON, each with a `problem` and one of `before`,
`torch`, `after` (times), `kernels`, `torch_kernels` or, if one of these failed, the `reason`. The
profiler starts after all times are known. against_pytorch.py runs it and compares.
"""

from __future__ import annotations

import dataclasses
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

from against_profiler import (
    SAMPLES,
    create_runner,
    median_and_clock,
    run_traced_row,
    split_into_batches,
    trace,
    whole_batches,
)
from kernel_causes import Kernels, kernels_of
from pytorch_calls import Call, call_of, rows_on_pytorchs_terms

GRAPH_S, MAX_CALLS, REPLAYS = 3e-3, 600, 25
TRACED_CALLS = 20
CLOCK_CYCLES, CLOCK_SAMPLES = 1_000_000, 5
LIBRARIES = ("libcublas.", "libcublasLt.", "libcudnn.")

Answer = dict[str, Any]


def measure(problems: list[str]) -> None:
    """Prints what is known of each problem as lines of JSON: first all times, then all kernels."""
    import torch  # type: ignore[import-not-found]

    torch.cuda.init()
    gc.freeze()  # each capture of a graph collects garbage
    runner = create_runner([])

    def tell(problem: str, key: str, function: Callable[..., Answer], *arguments: Any) -> Answer:
        answer: Answer = {}
        try:
            answer[key] = function(*arguments)
        except Exception as error:  # of PyTorch, deepbench or the device: the others go on
            answer["reason"] = f"{key}: {' '.join(str(error).split())[:300] or repr(error)}"
        print(json.dumps({"problem": problem, **answer}), flush=True)
        torch.cuda.empty_cache()
        return answer.get(key, {})

    rows = {}
    for problem in problems:
        row = rows[problem] = tell(problem, "before", first_row, runner, problem)
        tell(problem, "torch", time_call, torch, problem)
        if row:
            tell(problem, "after", time_row, runner, row["line"])
    for problem, row in rows.items():
        if row:
            tell(problem, "kernels", kernels_of_row, runner, row)
        tell(problem, "torch_kernels", kernels_of_call, torch, problem)
    print(json.dumps({"libraries": loaded_libraries(Path("/proc/self/maps").read_text())}))


def first_row(runner: Any, problem: str) -> Answer:
    """The first row on PyTorch's terms that deepbench supports."""
    refusals = []
    for words, options in rows_on_pytorchs_terms(problem):
        row = time_row(runner, f"{words} ; {options}")
        if row["status"] == "ok":
            return row
        refusals.append(f"{row['status']}: {row['reason']}")
    raise RuntimeError(", ".join(dict.fromkeys(refusals)))


def time_row(runner: Any, line: str) -> Answer:
    row = json.loads(runner.run(line, 0))
    runner.release()
    padding = (row["padding"] or {}).get("dimensions") or {}
    return {
        "line": line,
        "status": row["status"],
        "reason": row["reason"],
        "library": row["library"],
        "algorithm": name_of_algorithm(row),
        "padding": " ".join(f"{name}={size}" for name, size in padding.items()),
        **median_and_clock(row),
    }


def name_of_algorithm(row: Answer) -> str | None:
    return (row["algorithm"] or {}).get("name")


def time_call(torch: Any, problem: str) -> Answer:
    """The time of one call of PyTorch within a graph of many, and the clock."""
    call, stream = call_of(problem), torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
        once_s = graph_s(torch, graph_of(torch, call, 1))
        calls = max(1, min(MAX_CALLS, round(GRAPH_S / once_s)))
        graph = graph_of(torch, call, calls)
        graph_s(torch, graph)
        seconds = statistics.median(graph_s(torch, graph) for _ in range(REPLAYS))
        clocks = [clock_mhz(torch, graph) for _ in range(CLOCK_SAMPLES)]
        return {"us": 1e6 * seconds / calls, "mhz": statistics.median(clocks)}


def graph_of(torch: Any, call: Call, calls: int) -> Any:
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=torch.cuda.current_stream()):
        for _ in range(calls):
            call()
    return graph


def graph_s(torch: Any, graph: Any) -> float:
    """The seconds of one replay, ahead of a rest of the same length."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    begin.record()
    graph.replay()
    end.record()
    torch.cuda.synchronize()
    seconds = begin.elapsed_time(end) / 1e3
    time.sleep(seconds)
    return seconds


def clock_mhz(torch: Any, graph: Any) -> float:
    """The SM clock right after a replay, from a kernel that waits for a number of cycles."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    graph.replay()
    begin.record()
    torch.cuda._sleep(CLOCK_CYCLES)
    end.record()
    torch.cuda.synchronize()
    time.sleep(GRAPH_S)
    return CLOCK_CYCLES / begin.elapsed_time(end) / 1e3


def kernels_of_row(runner: Any, row: Answer) -> Answer:
    events, traced = run_traced_row(runner, f"{row['line']} verify=no samples={SAMPLES}", 0)
    if name_of_algorithm(traced) != row["algorithm"]:
        raise RuntimeError(f"{name_of_algorithm(traced)} instead of {row['algorithm']}")
    calls = (traced["statistics"] or {}).get("batch")
    batches = whole_batches(split_into_batches(events), calls)
    if not batches:
        raise RuntimeError(traced["reason"] or f"no batch of {calls} calls in the trace")
    return as_answer(kernels_of(list(chain(*batches)), calls * len(batches)))


def kernels_of_call(torch: Any, problem: str) -> Answer:
    """From a replay of a graph, or from plain calls if that shows no kernels."""
    call, stream = call_of(problem), torch.cuda.Stream()

    def replay() -> None:
        graph.replay()
        torch.cuda.synchronize()

    def repeat() -> None:
        for _ in range(TRACED_CALLS):
            call()
        torch.cuda.synchronize()

    with torch.cuda.stream(stream):
        repeat()
        graph = graph_of(torch, call, TRACED_CALLS)
        replay()
        found = (kernels_of(trace(action)[0], TRACED_CALLS) for action in (replay, repeat))
        return as_answer(next(filter(None, found), None))


def as_answer(kernels: Kernels | None) -> Answer:
    if kernels is None:
        raise RuntimeError("no kernels in the trace")
    return dataclasses.asdict(kernels)


def loaded_libraries(maps: str) -> list[str]:
    """The paths of the vendor's libraries in /proc/PID/maps, each once."""
    paths = {line.split(maxsplit=5)[5] for line in maps.splitlines() if line.count("/")}
    return sorted(path for path in paths if Path(path).name.startswith(LIBRARIES))


if __name__ == "__main__":
    measure(sys.stdin.read().splitlines())
