"""Compares the kernels of models as deepbench times them with PyTorch's calls of the same shapes.

    python benchmarks/against_pytorch.py [WORKLOAD ...] [--json FILE]

A WORKLOAD is what follows `deepbench workload`, in quotes: "resnet50 batch=64 half". Each of its
problems is measured on PyTorch's terms (pytorch_calls.py) by deepbench, by PyTorch and by deepbench
again, one right after the other, in one process (measure_both_sides.py), which tells the libraries
that it has loaded. deepbench's time is the mean of both. PyTorch's tensors have values between -1
and 1; many calls are in a CUDA graph, which rests as long as it computes, like a row of deepbench
in the regime `rested`. Operands are hot on both sides.

After all times are known, torch's profiler tells the names of the kernels of both calls. Calls with
kernels of equal names agree where they differ by at most 5 % or 0.5 us per kernel. What differs
elsewhere is attributed to a cause that the trace shows (kernel_causes.py), or is unexplained. FILE
has all of it, with the names in full.

Exit status: 0 if in every workload the median quotient of calls with equal names is within 5 %, or
their median difference within 0.5 us, and at most 5 % of deepbench's time is unexplained; 1 if not;
2 if PyTorch or its device is missing.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from kernel_causes import Compared, Kernels, ProblemShare, Summary, mean_of, summarize, verdict_on
from pytorch_calls import ENVIRONMENT

WORKLOADS = (
    "resnet50 batch=1 half",
    "resnet50 batch=64 half",
    "bert_large half",
    "llama3_8b bfloat16",
    "llama3_8b phase=decode batch=1 bfloat16",
    "llama3_8b phase=decode batch=64 bfloat16",
)
MEASURE = Path(__file__).with_name("measure_both_sides.py")
WORKLOAD_LIMIT_S = 120
NOT_RUN = 2

Answer = dict[str, Any]  # of the subprocess, for one problem


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("workloads", nargs="*", default=WORKLOADS, metavar="WORKLOAD")
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    device = device_facts()
    if device is None:
        return NOT_RUN
    print(", ".join(f"{name} {value}" for name, value in device.items()))
    results = []
    for workload in arguments.workloads:
        results.append(compare_workload(workload))
        if arguments.json:  # a run that is ended keeps what it has
            arguments.json.write_text(json.dumps({**device, "workloads": results}, indent=1))
    return 0 if all(result["is_good"] for result in results) else 1


def device_facts() -> dict[str, Any] | None:
    """In a process of its own, so that this one has no context on the device."""
    program = (
        "import json, torch; print(json.dumps({'PyTorch': torch.__version__,"
        " 'cuDNN': torch.backends.cudnn.version(), 'device': torch.cuda.get_device_name()}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    if done.returncode:
        print("PyTorch or its device is missing:", *done.stderr.splitlines()[-1:])
        return None
    return dict(json.loads(done.stdout.splitlines()[-1]))


def compare_workload(workload: str) -> dict[str, Any]:
    """Prints the comparison, and returns what the file has of it."""
    begin = time.monotonic()
    print(f"\n== {workload}", flush=True)
    try:
        counts = calls_of(workload)
        answers, libraries, failure = answers_of_subprocess(list(counts))
    except (OSError, RuntimeError, ValueError) as error:
        print(f"failed: {error}")
        return {"workload": workload, "is_good": False, "failure": str(error)}
    if failure:
        print(f"incomplete: {failure}")
    compared = [
        compared_of(problem, count, answers.get(problem, {})) for problem, count in counts.items()
    ]
    for one in compared:
        print_problem(one)
    summary = summarize(compared)
    print_summary(compared, summary)
    print(f"libraries: {text_of_libraries(libraries)}")
    print(f"{time.monotonic() - begin:.0f} s")
    return {
        "workload": workload,
        "is_good": summary.is_good and not failure,
        "failure": failure,
        "libraries": libraries,
        "summary": dataclasses.asdict(summary),
        "problems": [record_of(one, answers.get(one.problem, {})) for one in compared],
    }


def record_of(one: Compared, answer: Answer) -> dict[str, Any]:
    facts = {"us": one.us, "ratio": one.ratio, "row": answer.get("before")}
    return dataclasses.asdict(one) | dataclasses.asdict(verdict_on(one)) | facts


def calls_of(workload: str) -> Counter[str]:
    """The problems of a workload, with the number of calls of each."""
    words = [sys.executable, "-m", "deepbench", "workload", *workload.split()]
    done = subprocess.run([*words, "--list", "--format", "json"], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip() or f"exit status {done.returncode}")
    counts: Counter[str] = Counter()
    for call in json.loads(done.stdout):
        if call["problem"].startswith("not measured"):
            print(f"left out: {call['layer']} ({call['problem']})")
        else:
            counts[call["problem"]] += call["count"]
    return counts


def answers_of_subprocess(problems: list[str]) -> tuple[dict[str, Answer], list[str], str]:
    """The answers by problem, the libraries, and why answers are missing."""
    answers: dict[str, Answer] = {}
    libraries: list[str] = []
    failure = ""
    with tempfile.TemporaryFile("w+") as output:
        try:
            done = subprocess.run(
                [sys.executable, str(MEASURE)], stdout=output, input="\n".join(problems),
                text=True, timeout=WORKLOAD_LIMIT_S, env={**os.environ, **ENVIRONMENT},
            )  # fmt: skip
            failure = f"exit status {done.returncode}" if done.returncode else ""
        except subprocess.TimeoutExpired:
            failure = f"not done after {WORKLOAD_LIMIT_S} s"
        output.seek(0)
        for answer in answers_in(output):
            libraries = answer.get("libraries", libraries)
            of_problem = answers.setdefault(answer.pop("problem", ""), {})
            reasons = (of_problem.get("reason"), answer.get("reason"))
            of_problem |= answer
            if any(reasons):
                of_problem["reason"] = "; ".join(filter(None, reasons))
    return answers, libraries, failure


def answers_in(lines: Iterable[str]) -> Iterator[Answer]:
    """What is JSON among the lines; libraries may print others, and the last may be cut."""
    for line in lines:
        if line.startswith("{") and line.endswith("}\n"):
            yield json.loads(line)


def compared_of(problem: str, count: int, answer: Answer) -> Compared:
    before, after, torch = (answer.get(key, {}) for key in ("before", "after", "torch"))
    kernels, torch_kernels = (
        Kernels(tuple(found["names"]), tuple(found["launches"]), found["us"]) if found else None
        for found in (answer.get("kernels"), answer.get("torch_kernels"))
    )
    return Compared(
        problem=problem,
        count=count,
        before_us=us_of(before),
        after_us=us_of(after),
        torch_us=torch.get("us"),
        kernels=kernels,
        torch_kernels=torch_kernels,
        mhz=mean_of(before.get("mhz"), after.get("mhz")),
        torch_mhz=torch.get("mhz"),
        padding=before.get("padding", ""),
        reason=answer.get("reason", ""),
    )


def us_of(row: Answer) -> float | None:
    return row["ns"] / 1e3 if row.get("status") == "ok" else None


def print_problem(one: Compared) -> None:
    verdict = verdict_on(one)
    times = (one.us, one.torch_us, one.before_us, one.after_us)
    us, torch_us, before, after = (time or float("nan") for time in times)
    twice = after / before
    print(
        f"{us:10.3f} us  torch {torch_us:10.3f} us  {us / torch_us:6.3f}  twice {twice:6.3f}"
        f"  {verdict.cause:17}  {one.count:2} x {one.problem}"
    )
    if verdict.evidence:
        print(f"{'':12}{verdict.evidence}")


def print_summary(compared: list[Compared], summary: Summary) -> None:
    both = [one for one in compared if one.us and one.torch_us]
    ours, theirs = (
        sum(one.count * (getattr(one, side) or 0) for one in both) / 1e3
        for side in ("us", "torch_us")
    )
    print(f"all calls: {ours:.4g} ms, PyTorch {theirs:.4g} ms, quotient {ours / (theirs or 1):.3f}")
    equal, median = text_of(summary.equal), "no median"
    if summary.median_ratio is not None and summary.median_excess_us is not None:
        median = f"median quotient {summary.median_ratio:.3f}, {summary.median_excess_us:+.3f} us"
    print(f"equal names: {equal}; {median}; {summary.agreeing} agree")
    for cause, group in summary.causes.items():
        print(f"{cause}: {text_of(group)}")
    print(f"unexplained: {text_of(summary.unexplained)}; {summary.without_time} without a time")
    print("within the goal" if summary.is_good else "BEYOND the goal")


def text_of_libraries(paths: list[str]) -> str:
    """Both sides have the same libraries if each is loaded from one file."""
    files = Counter(Path(path).name.partition(".")[0] for path in paths)
    twice = [name for name, count in files.items() if count > 1]
    remark = f"; both sides differ in {', '.join(twice)}" if twice else ", the same for both sides"
    return " ".join(paths) + remark if paths else "unknown"


def text_of(share: ProblemShare) -> str:
    return f"{share.problems} problems, {share.share:.1%} of the time"


if __name__ == "__main__":
    sys.exit(main())
