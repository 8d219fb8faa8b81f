"""The default precision of a problem. It depends on the backend, which is known only after the
worker's hello message. Only this table decides it."""

from __future__ import annotations

# On CUDA: the precisions of the original benchmark, as far as today's libraries support them. Its
# inference sets were int8.
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
    """The default precision. A problem outside any set counts as training."""
    if backend != "cuda":
        return _OTHERWISE
    kind = "inference" if (set_name or "").startswith("inference") else "training"
    return _CUDA.get((kind, op), _OTHERWISE)
