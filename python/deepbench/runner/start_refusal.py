"""Says why the system starts no further process or thread, and which limit to raise."""

from __future__ import annotations

import errno


def start_refusal(error: OSError | RuntimeError) -> str:
    """The reason in an error of subprocess.Popen, or of threading.Thread.start(), which raises
    RuntimeError."""
    if isinstance(error, RuntimeError):
        return (
            "the limit of threads or of address space is reached; raise 'ulimit -u', 'ulimit -v' "
            "or the container's limit"
        )
    if error.errno == errno.EAGAIN:
        return "the limit of processes is reached; raise 'ulimit -u' or the container's limit"
    if error.errno == errno.EMFILE:
        return "the limit of open files is reached; raise 'ulimit -n'"
    why = error.strerror or str(error)
    return f"{why} ({error.filename})" if error.filename else why  # such as /dev/null
