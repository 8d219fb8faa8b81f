"""deepbench times the basic operations of deep learning through the vendors' own libraries.

The command line is `python -m deepbench`. For embedding, the native module's classes are reached
from here; it is loaded on first use, and no driver before a Runner exists.
"""

# There is no import here, not even of __future__: `python -m deepbench` runs this file first, while
# Python still looks for modules in the working directory.
TYPE_CHECKING = False  # typing's, whose import would be most of the time that this one takes
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
