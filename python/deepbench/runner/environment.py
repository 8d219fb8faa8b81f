"""Facts about the host: the part of a result's context that needs no backend.

All facts come from /proc, /sys and the environment variables. A fact that cannot be read is None;
nothing here may fail a run.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path

from deepbench.redaction import without_secrets

# Variables that change which code runs, how fast, or what it computes.
_PREFIXES = (
    "DEEPBENCH_", "OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "ONEDNN_", "DNNL_", "BLIS_",
    "CUDA_", "NVIDIA_", "CUBLAS_", "CUBLASLT_", "CUDNN_", "CUSPARSE_", "NCCL_", "NVRTC_",
    "MALLOC_", "GLIBC_TUNABLES", "OMPI_MCA_", "PMIX_MCA_", "PRTE_MCA_", "MPICH_", "MPIR_CVAR_",
    "I_MPI_", "FI_", "UCX_", "CCL_", "MASTER_", "WORLD_SIZE",
)  # fmt: skip
_NAMES = ("LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONMALLOC", "SLURM_JOB_ID")
# Variables that change the arithmetic itself: a run warns if one of them is set.
_ARITHMETIC = ("NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULAT", "ONEDNN_DEFAULT_FPMATH_MODE",
               "DNNL_DEFAULT_FPMATH_MODE", "MKL_CBWR")  # fmt: skip
# Variables that list folders, or files, of libraries.
_LIBRARY_PLACES = re.compile(r"DEEPBENCH_.+_LIBRARY_PATH")

_CPU = Path("/sys/devices/system/cpu")
_ROOT = Path("/")

_MACHINE_ID = re.compile(r"[0-9a-f]{32}")
_NO_IDENTITY = "DEEPBENCH_NO_MACHINE_IDENTITY"
_IDENTITY_BYTES = 8
# Texts in lower case that firmware states if its maker has entered no number.
_PLACEHOLDER = re.compile(
    r"[0-]*|[f-]*|03000200-0400-0500-0006-000700080009|default string|none|not specified"
    r"|to be filled by o\.e\.m\.|system serial number"
)


def timestamp() -> str:
    """The current time in UTC, to the second: 2026-01-31T12:00:00Z."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def relevant_variables(variables: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment variables that may influence a result, by name, with secrets redacted."""
    return without_secrets(
        {
            name: value
            for name, value in sorted(variables.items())
            if name.startswith(_PREFIXES) or name in _NAMES
        }
    )


def host_context(variables: Mapping[str, str] = os.environ) -> dict[str, object]:
    """Everything about the host that helps to interpret a result of a worker with these
    environment variables."""
    return {
        "cpu": cpu_model(),
        "cores": _physical_cores(),
        "cpus": os.cpu_count(),
        "cpus_allowed": _cpus_allowed(),
        "quota_cpus": cpu_quota(),
        "memory_bytes": _memory_bytes(),
        "memory_limit_bytes": _memory_limit(),
        "governor": governor(),
        "load": _load_average(),
        "kernel": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "machine": machine_identity(variables),
        "libc": " ".join(platform.libc_ver(sys.executable)).strip() or None,
        "python": platform.python_version(),
        "environment": relevant_variables(variables),
    }


def host_warnings(context: Mapping[str, object]) -> list[str]:
    """Warnings about this host, one line each. The backend judges the frequency governor and the
    load; its warnings are in its hello message."""
    return list(_environment_warnings(context))


def _environment_warnings(context: Mapping[str, object]) -> Iterator[str]:
    variables = context.get("environment")
    for name, value in variables.items() if isinstance(variables, dict) else ():
        if name.startswith(_ARITHMETIC):
            yield f"{name}={value} in the environment changes the arithmetic of what is measured"
        if _LIBRARY_PLACES.fullmatch(name):
            missing = [place for place in value.split(":") if place and not Path(place).exists()]
            if missing:
                yield f"{name} names {', '.join(missing)}, where nothing is"


def machine_identity(variables: Mapping[str, str] = os.environ, root: Path = _ROOT) -> str | None:
    """An identity of this machine among others of its kind: `dmi-` and a digest of the numbers that
    the firmware states, which only root may read, or else `os-` and a digest of the number of the
    installed system. The digest does not reveal the numbers. None: Linux states neither, or a
    variable excludes the identity."""
    if variables.get(_NO_IDENTITY):
        return None
    product = _identity_number(root / "sys/class/dmi/id/product_uuid")
    if product:  # a board's serial number alone is short enough to be guessed from its digest
        board = _identity_number(root / "sys/class/dmi/id/board_serial")
        return f"dmi-{_identity_digest([product, board])}"
    system = _identity_number(root / "etc/machine-id")
    return f"os-{_identity_digest([system])}" if _MACHINE_ID.fullmatch(system) else None


def _identity_number(path: Path) -> str:
    """The number in a file of the system, or "" if it is a placeholder."""
    number = read_text(path).strip().lower()
    return "" if _PLACEHOLDER.fullmatch(number) else number


def _identity_digest(numbers: Sequence[str]) -> str:
    text = "\n".join(numbers).encode()
    return hashlib.blake2b(text, digest_size=_IDENTITY_BYTES, key=b"deepbench machine").hexdigest()


def cpu_model() -> str | None:
    """The CPU's marketing name."""
    for line in read_text(Path("/proc/cpuinfo")).splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model", "Hardware") and value.strip():
            return value.strip()
    return platform.processor() or None


def cpu_quota() -> float | None:
    """The number of CPUs whose time the container's cgroup may use, or None without a limit."""
    words = read_text(Path("/sys/fs/cgroup/cpu.max")).split()
    if len(words) == 2 and words[0] != "max":
        return _rounded_ratio(words[0], words[1])
    old = Path("/sys/fs/cgroup/cpu")
    quota = read_text(old / "cpu.cfs_quota_us").strip()
    if quota and not quota.startswith("-"):
        return _rounded_ratio(quota, read_text(old / "cpu.cfs_period_us").strip())
    return None


def governor() -> str | None:
    """The frequency scaling governor of the CPUs. Different governors are joined with '+'."""
    found = {read_text(path).strip() for path in _CPU.glob("cpu[0-9]*/cpufreq/scaling_governor")}
    return "+".join(sorted(found - {""})) or None


def _cpus_allowed() -> int | None:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def _physical_cores() -> int | None:
    siblings = {read_text(path) for path in _CPU.glob("cpu[0-9]*/topology/thread_siblings_list")}
    return len(siblings - {""}) or None


def _memory_bytes() -> int | None:
    for line in read_text(Path("/proc/meminfo")).splitlines():
        words = line.split()
        if len(words) >= 2 and words[0] == "MemTotal:" and words[1].isdigit():
            return int(words[1]) * 1024
    return None


def _memory_limit() -> int | None:
    limit = read_text(Path("/sys/fs/cgroup/memory.max")).strip()
    return int(limit) if limit.isdigit() else None


def _load_average() -> float | None:
    try:
        return round(os.getloadavg()[0], 2)
    except OSError:
        return None


def _rounded_ratio(numerator: str, denominator: str) -> float | None:
    try:
        return round(float(numerator) / float(denominator), 3)
    except (ValueError, ZeroDivisionError):
        return None


def read_text(path: Path) -> str:
    """The text of a file of the system, or "" if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
