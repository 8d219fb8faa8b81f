"""deepbench times the basic operations of deep learning through the libraries of the vendors.

The command line is `deepbench` or `python -m deepbench`. For embedding, this package exports the
classes of the native module. It loads the native module on first use, and a driver only when a
Runner is created.
"""

# This file imports nothing, not even __future__: `python -m deepbench` runs it first, while Python
# still looks for modules in the working directory.
TYPE_CHECKING = False  # instead of typing.TYPE_CHECKING: importing typing is slow
if TYPE_CHECKING:
    from deepbench._core import (
        BackendError,
        InvalidProblem,
        Operation,
        Parameter,
        Problem,
        Runner,
        backends,
        operations,
    )

    __version__: str

__all__ = [
    "BackendError",
    "InvalidProblem",
    "Operation",
    "Parameter",
    "Problem",
    "Runner",
    "__version__",
    "backends",
    "operations",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'deepbench' has no attribute {name!r}")
    from deepbench import _core

    value: object = getattr(_core, "version" if name == "__version__" else name)
    return value
