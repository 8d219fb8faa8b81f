"""Tests that pages of the reference name what the sources name, and nothing else."""

from __future__ import annotations

import re

from source_tree import ROOT, c_sources, python_sources

REFERENCE = ROOT / "docs" / "reference"

# A text of a source that has the form of a variable's name, or of the beginning of such names.
VARIABLE = re.compile(r'"(_?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+_?|[A-Z]+_|RANK|HOME|PYTHONMALLOC)"')
NO_VARIABLES = {  # such texts with another meaning
    "ALGO_0", "ALGO_1", "ALGO_3", "FFT_TILING", "IMPLICIT_GEMM", "IMPLICIT_PRECOMP_GEMM",
    "WINOGRAD_NONFUSED", "DIMS_1530", "MISMATCH_N_LABEL", "MISMATCH_PQ", "MISMATCH_RATE",
    "O_CLOEXEC", "O_NONBLOCK", "SC_CLK_TCK", "DEEPBENCH_F32", "DEEPBENCH_F16", "DEEPBENCH_BF16",
}  # fmt: skip
IN_LOGS_OF_CUBLASLT = re.compile(r"(R|COMPUTE|OP|ORDER)_\w+")  # names of types and the like
OF_DEPENDENCIES = {"NO_COLOR"}  # read by rich


def test_environment_page_names_the_variables_of_the_sources() -> None:
    sources = [*c_sources("src"), *python_sources("python")]
    texts = {
        name
        for path in sources
        for name in VARIABLE.findall(path.read_text())
        if not IN_LOGS_OF_CUBLASLT.fullmatch(name)
    }
    page = (REFERENCE / "environment.md").read_text(encoding="utf-8").split("## Secrets")[0]
    words = re.findall(r"`(_?[A-Z][A-Z0-9_]*)\*?`", page)
    described = {word for word in words if word not in ("NAME", "True")}
    assert texts - NO_VARIABLES - described == set(), "variables that the page lacks"
    assert described - texts == OF_DEPENDENCIES, "variables that no source names"


EMITTED = re.compile(r'\bsink\.(?:text|real|integer)\(\s*"([a-z_.0-9]+)"')
READ = re.compile(
    r'\b(?:device|facts|backend|observed)_?(?:\(\))?\.(?:text|real|integer)\("([a-z_.0-9]+)"'
)
OF_A_LIBRARY = {"reason"}  # which the core reads without `library.NAME.`
PLACEHOLDER = re.compile(r"\b(?:NAME|OP|SET|PRECISION|DIMENSION|OPERAND|WORD)\b|\*")


def test_facts_page_names_the_facts_of_the_sources() -> None:
    page = (REFERENCE / "backend_facts.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    sensors = page.split("## `observe`")[1]
    described = set(re.findall(r"`([a-z_.0-9A-Z*]+)`", "\n".join([*rows, sensors])))
    backends = c_sources("src/cpu", "src/cuda", "src/cpp/deepbench/backend")
    emitted = {name for path in backends for name in EMITTED.findall(path.read_text())}
    core = [path.read_text() for path in c_sources("src/cpp/deepbench/run")]
    read = {name for text in core for name in READ.findall(text)}
    patterns = [re.compile(fact_pattern(fact)) for fact in described]
    missing = {
        name
        for name in (emitted | read) - OF_A_LIBRARY
        if not any(pattern.fullmatch(name) or is_beginning(name, fact)
                   for pattern, fact in zip(patterns, described, strict=True))
    }  # fmt: skip
    assert missing == set(), "facts that the page lacks"
    texts = "\n".join([*core, *(path.read_text() for path in backends)])
    unknown = {
        fact
        for fact in described
        if f'"{PLACEHOLDER.split(fact)[0]}' not in texts
        and not any(is_beginning(name, fact) for name in read)
    }
    assert unknown == set(), "facts that no source names"


def fact_pattern(fact: str) -> str:
    """The names for which a described fact stands: note.* for note.beta."""
    return "[a-z_0-9.]+".join(re.escape(part) for part in PLACEHOLDER.split(fact))


def is_beginning(name: str, fact: str) -> bool:
    """Whether a source completes the name to the described fact: default_library. + operation."""
    return name.endswith((".", "warning.libraries")) and fact.startswith(name)


def test_hand_kept_lists_name_every_operation() -> None:
    listed = (ROOT / "src/cpp/deepbench/ops/ops.def").read_text(encoding="utf-8")
    operations = re.findall(r"^OPERATION\((\w+)\)$", listed, re.M)
    assert len(operations) >= 6
    glossary = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    lists = {
        "the glossary's entry 'operation'": glossary.split("\noperation\n")[1].split("\n\n")[0],
        "verification.md": (ROOT / "docs/explanation/verification.md").read_text(encoding="utf-8"),
        "support.md": (REFERENCE / "support.md").read_text(encoding="utf-8"),
    }
    missing = [
        f"{place}: {op}"
        for place, text in lists.items()
        for op in operations
        if not re.search(rf"\b{op}\b", text)
    ]
    assert not missing
