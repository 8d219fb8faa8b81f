"""How much of a backend's host code is shared: prints the lines with code that a backend with one
library for gemm and one for all_reduce compiles, those of its folder and those of shared headers.

    python tools/backend_shares.py

Counted are backend.cpp, the two libraries and, over and over, what these include: a header of the
folder brings the source of the same name. Blank lines and comments do not count. Shared are the
headers of deepbench/backend and of the machine in core/; in a second share also plugin.hpp, the
contract, the input generator and the typed problems. docs/decisions/backend_ground.md states the
result.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "src/cpp"
SHARED = (CORE / "deepbench/backend/*.hpp", CORE / "deepbench/core/affinity.hpp",
          CORE / "deepbench/core/physical_cores.hpp",
          CORE / "deepbench/core/start_thread.hpp")  # fmt: skip
# Sources that concern the machine, the driver or the compiler, and not the interface.
MACHINE = {
    "cpu": "affinity|cgroup_limits|device|energy|environment|host_memory|isa|page_pool|system_files"
    "|topology|worker_pool",
    "cuda": "clock_stamps|device|device_detection|event|graph|kernels/.*|launched_kernels|libraries"
    "|library_identity|library_search|loader|memory_pools|profiler_region|python_packages"
    "|requirements|sensors|status_check",
}
STARTS = {
    "cpu": ("backend.cpp", "ops/gemm/openblas.cpp", "ops/collective/oneccl.cpp"),
    "cuda": ("backend.cpp", "ops/gemm/cublas.cpp", "ops/collective/nccl.cpp"),
}
COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*")', re.DOTALL)


def lines_with_code(path: Path) -> int:
    text = COMMENT_OR_TEXT.sub(lambda match: match[1] or "", path.read_text(encoding="utf-8"))
    return sum(bool(line.strip()) for line in text.splitlines())


def compiled_files(backend: str) -> set[Path]:
    folder = ROOT / "src" / backend
    found: set[Path] = set()
    waiting = [folder / start for start in STARTS[backend]]
    while waiting:
        path = waiting.pop()
        if path in found or not path.exists():
            continue
        found.add(path)
        for name in re.findall(r'^\s*#\s*include\s*"([^"]+)"', path.read_text(), re.MULTILINE):
            for base in (path.parent, folder, CORE):
                if (header := (base / name).resolve()).exists():
                    waiting.append(header)
                    if folder in header.parents:
                        waiting.append(header.with_suffix(".cpp"))
                    break
    return found


def main() -> None:
    shared_files = {file for pattern in SHARED for file in pattern.parent.glob(pattern.name)}
    for backend in STARTS:
        folder = ROOT / "src" / backend
        files = compiled_files(backend)
        shared = sum(lines_with_code(file) for file in files & shared_files)
        own = [file for file in files if folder in file.parents]
        machine = [
            file
            for file in own
            if re.fullmatch(MACHINE[backend], str(file.relative_to(folder).with_suffix("")))
        ]
        all_shared = sum(lines_with_code(file) for file in files if CORE in file.parents)
        alone = sum(map(lines_with_code, own))
        rest = alone - sum(map(lines_with_code, machine))
        print(f"{backend}: {alone} lines in its folder, {rest} without those for the machine")
        for about, lines in (("backend/ alone", shared), ("all headers", all_shared)):
            print(f"  {about}: {lines} lines, a share of {lines / (lines + alone):.0%}; without "
                  f"the machine {lines / (lines + rest):.0%}")  # fmt: skip


if __name__ == "__main__":
    main()
