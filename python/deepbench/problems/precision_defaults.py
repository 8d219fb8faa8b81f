"""The precision of a problem that names none. It depends on the backend, which is known only once
the worker has said hello: this table is the one place that decides."""

from __future__ import annotations

# On CUDA what the original took where today's libraries can; its inference sets were int8.
_CUDA = {
    ("training", "gemm"): "half",
    ("training", "conv"): "half",
    ("inference", "gemm"): "int8",
    ("inference", "conv"): "int8",
    ("training", "rnn"): "half",
    ("inference", "rnn"): "half",
}
_OTHERWISE = "float"


def default_precision(backend: str, set_name: str | None, op: str) -> str:
    """A problem outside any set counts as training."""
    if backend != "cuda":
        return _OTHERWISE
    kind = "inference" if (set_name or "").startswith("inference") else "training"
    return _CUDA.get((kind, op), _OTHERWISE)
