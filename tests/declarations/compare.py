"""Compares third_party/nvidia with NVIDIA's headers of the CUDA version in the given folders.

    python tests/declarations/compare.py FOLDER...      searched for `include` folders

The script writes and compiles one C++ file of static assertions: every function has the same
signature, every enumerator has the same value, every declared struct has the same size and
offsets, and no macro of the headers redirects a declared name. The project's headers are included
first, so that NVIDIA's macros do not affect them. An optional function may be missing.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OURS = ROOT / "third_party/nvidia"

# NVIDIA's headers for each of the project's headers, in the order in which they are included:
# cudart's first, because the headers of other libraries include more of the CUDA runtime.
HEADERS = {
    "cudart": ["cuda_runtime_api.h", "cuda_profiler_api.h"],
    "driver": ["cuda.h"],
    "nvrtc": ["nvrtc.h"],
    "nvjitlink": ["nvJitLink.h"],
    "library_types": ["library_types.h"],
    "cublas": ["cublas_v2.h"],
    "cublaslt": ["cublasLt.h"],
    "cudnn_types": ["cudnn.h"],
    "cudnn_graph": ["cudnn.h"],
    "cudnn_convolution": ["cudnn.h"],
    "cudnn_pooling": ["cudnn.h"],
    "cudnn_rnn": ["cudnn.h"],
    "cudnn_ops": ["cudnn.h"],
    "cudnn_norm": ["cudnn.h"],
    "cudnn": ["cudnn.h"],
    "cusparse": ["cusparse.h"],
    "nccl": ["nccl.h"],
    "nvml": ["nvml.h"],
    "nvtx": ["nvtx3/nvToolsExt.h"],
}
# A library's table may contain lists of functions that separate headers define.
TABLES = {"cudnn": "Cudnn"}

# Functions for which a header adds a C++ overload of the same name, with the type of the C version.
OVERLOADED = {
    "cublasGemmEx": "cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, "
    "int, int, const void*, const void*, cudaDataType, int, const void*, cudaDataType, int, "
    "const void*, void*, cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t)",
    "cublasGemmStridedBatchedEx": "cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, "
    "cublasOperation_t, int, int, int, const void*, const void*, cudaDataType, int, long long, "
    "const void*, cudaDataType, int, long long, const void*, void*, cudaDataType, int, long long, "
    "int, cublasComputeType_t, cublasGemmAlgo_t)",
}


@dataclass(frozen=True)
class Declarations:
    """The declarations of one of the project's headers."""

    functions: list[tuple[str, str, bool]]  # table, name, whether it is optional
    enumerators: list[str]
    structs: dict[str, list[str]]  # struct name to field names


def read_declarations(path: Path) -> Declarations:
    text = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
    defined = re.search(r"DEEPBENCH_NVIDIA_TABLE\(\s*(\w+)", text)
    table = defined[1] if defined else TABLES.get(path.stem.split("_")[0], "")
    functions = []
    lists = re.findall(
        r"#define DEEPBENCH_NVIDIA_\w+_(REQUIRED|OPTIONAL)\(X\)((?:[^\n]*\\\n)*[^\n]*)", text
    )
    for need, body in lists:
        for name in re.findall(r"\bX\(\s*[\w\s*]+?,\s*(\w+)\s*,", body.replace("\\\n", " ")):
            functions.append((table, name, need == "OPTIONAL"))
    enumerators = []
    for body in re.findall(r"\benum\s*\w*\s*:[^{]*\{([^}]*)\}", text):
        enumerators += re.findall(r"(\w+)\s*=", body)
    structs = {
        name: re.findall(r"(\w+)(?:\[\w+\])?;", body)
        for name, body in re.findall(r"\bstruct\s+(\w+)\s*\{([^}]*)\}", text)
    }
    return Declarations(functions, enumerators, structs)


def include_folders(roots: list[str]) -> list[Path]:
    """The include folders of wheels and toolkits, without those that are inside of another one."""
    folders: list[Path] = []
    for root in roots:
        for path in [Path(root), *sorted(Path(root).rglob("include"))]:
            if path.name == "include" and not any(above in folders for above in path.parents):
                folders += [path, path / "cccl"]
    return [folder for folder in folders if folder.is_dir()]


def project_declarations(libraries: dict[str, Declarations]) -> Iterator[str]:
    for library in libraries:
        yield f'#include "nvidia/{library}.hpp"'
    yield "#include <cstddef>"
    yield "namespace ours {\nnamespace v = deepbench::nvidia;"
    for declared in libraries.values():
        for table, name, _ in declared.functions:
            yield f"using call_{name} = decltype(v::{table}::{name});"
        for name in declared.enumerators:
            yield f"constexpr long long value_{name} = v::{name};"
        for struct, fields in declared.structs.items():
            yield f"constexpr std::size_t size_{struct} = sizeof(v::{struct});"
            for field in fields:
                yield f"constexpr std::size_t at_{struct}_{field} = offsetof(v::{struct}, {field});"
                yield f"constexpr std::size_t size_{struct}_{field} = sizeof(v::{struct}::{field});"
    yield "}"


def vendor_assertions(libraries: dict[str, Declarations], missing: set[str]) -> Iterator[str]:
    """Assertions follow their header directly, because later headers add C++ overloads."""
    yield '#include "compatible.hpp"'
    yield "#define TEXT_OF(x) TEXT_OF_MAPPED(x)\n#define TEXT_OF_MAPPED(x) #x"
    for library, declared in libraries.items():
        yield from (f"#include <{header}>" for header in HEADERS[library])
        for _, name, _ in declared.functions:
            if name not in missing:
                yield from same_function_assertions(name)
        for name in declared.enumerators:
            yield assertion(f"ours::value_{name} == static_cast<long long>({name})", f"{name}")
        for struct, fields in declared.structs.items():
            yield assertion(f"ours::size_{struct} == sizeof(::{struct})", f"size of {struct}")
            for field in fields:
                offset = f"{struct}_{field} == offsetof(::{struct}, {field})"
                yield assertion(f"ours::at_{offset}", f"offset of {struct}.{field}")
                size = f"{struct}_{field} == sizeof(::{struct}::{field})"
                yield assertion(f"ours::size_{size}", f"size of {struct}.{field}")


def same_function_assertions(name: str) -> Iterator[str]:
    unmapped = f'declarations::same_text(TEXT_OF({name}), "{name}")'
    yield assertion(unmapped, f"{name} is a macro for another")
    theirs = f"&::{name}"
    if name in OVERLOADED:
        theirs = f"static_cast<{OVERLOADED[name]}>({theirs})"
    yield assertion(f"declarations::same_call<ours::call_{name}, decltype({theirs})>", name)


def assertion(condition: str, what: str) -> str:
    return f'static_assert({condition}, "{what}");'


class Compiler:
    def __init__(self, folders: list[Path]) -> None:
        self.command = [os.environ.get("CXX", "g++"), "-std=c++17", "-fsyntax-only", "-xc++"]
        self.command += [f"-I{ROOT / 'third_party'}", f"-I{Path(__file__).parent}", "-w"]
        self.command += [f"-isystem{folder}" for folder in folders]

    def run(self, source: str, *options: str) -> subprocess.CompletedProcess[str]:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "declarations.cpp")
            file.write_text(source, encoding="utf-8")
            return subprocess.run(
                [*self.command, *options, str(file)], capture_output=True, text=True, check=False
            )


def absent_optional(libraries: dict[str, Declarations], compiler: Compiler) -> set[str]:
    """The optional functions that these headers lack."""
    headers = [f"#include <{header}>\n" for name in libraries for header in HEADERS[name]]
    optional = {name for one in libraries.values() for _, name, may in one.functions if may}
    text = compiler.run("".join(headers), "-E", "-P").stdout
    return optional - set(re.findall(r"\w+", text))


def main(roots: list[str]) -> int:
    if not roots:
        print(__doc__)
        return 2
    unknown = {path.stem for path in OURS.glob("*.hpp")} - {*HEADERS, "function_table"}
    assert not unknown, f"HEADERS has no entry for {unknown}"
    libraries = {library: read_declarations(OURS / f"{library}.hpp") for library in HEADERS}
    compiler = Compiler(include_folders(roots))
    missing = absent_optional(libraries, compiler)
    result = compiler.run(
        "\n".join([*project_declarations(libraries), *vendor_assertions(libraries, missing), ""])
    )
    errors = re.findall(r"^.*(?:error:|fatal).*$", result.stderr, re.MULTILINE)
    for line in errors:
        print(line)
    functions = sum(len(one.functions) for one in libraries.values())
    values = sum(len(one.enumerators) for one in libraries.values())
    print(
        f"{functions} functions, {values} values, "
        f"{sum(len(one.structs) for one in libraries.values())} structs: "
        + (f"{len(errors)} differ" if result.returncode else "all equal NVIDIA's headers")
        + (f"; not in these headers: {', '.join(sorted(missing))}" if missing else "")
    )
    return int(result.returncode != 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
