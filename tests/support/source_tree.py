"""The files of the source tree, and what they include, import and call."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "src/cpp/deepbench"

SOURCE_FOLDERS = ("src", "python", "third_party", "tests", "benchmarks", "tools")
C_SUFFIXES = {".c", ".h", ".cpp", ".hpp", ".def", ".cu", ".cuh"}
SOURCE_SUFFIXES = C_SUFFIXES | {".py", ".pyi", ".cmake", ".in", ".js", ".css"}


def sources(*folders: str) -> list[Path]:
    """Every source file below the folders, builds and caches left out."""
    found = []
    for folder in folders or SOURCE_FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            parts = set(path.relative_to(ROOT).parts)
            if parts & {"build", "__pycache__"} or any(part.startswith(".") for part in parts):
                continue
            if path.is_file() and (path.suffix in SOURCE_SUFFIXES or path.name == "CMakeLists.txt"):
                found.append(path)
    return found


def c_sources(*folders: str) -> list[Path]:
    return [path for path in sources(*folders) if path.suffix in C_SUFFIXES]


def python_sources(*folders: str) -> list[Path]:
    return [path for path in sources(*folders) if path.suffix in {".py", ".pyi"}]


def relative_name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def includes(path: Path) -> list[str]:
    """The paths that a C or C++ file includes, without quotes or brackets."""
    return re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', path.read_text(), re.MULTILINE)


_COMMENT_OR_TEXT = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"\((?:.*?)\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL
)


def code_without_comments(path: Path) -> str:
    """A C or C++ file without its comments and texts."""
    return _COMMENT_OR_TEXT.sub(" ", path.read_text())


def pattern_matches(paths: list[Path], pattern: str) -> list[str]:
    found = []
    for path in paths:
        for match in re.finditer(pattern, code_without_comments(path)):
            found.append(f"{relative_name(path)}: {match.group(0).strip()}")
    return found


def imported_module(path: Path, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = path.relative_to(ROOT / "python").with_suffix("").parts[: -node.level]
    return ".".join([*package, *((node.module or "").split(".") if node.module else [])])
