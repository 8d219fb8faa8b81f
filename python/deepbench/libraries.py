"""Where backends that other packages bring are: the entry-point group `deepbench.backends`.

The object of such an entry point is the path of a plugin, or a function that returns it. Plugins
in DEEPBENCH_BACKEND_PATH (files or folders, separated as in PATH) and beside the native module are
found by the native module itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

GROUP = "deepbench.backends"


def plugin_paths(warn: Callable[[str], object] = lambda text: None) -> list[str]:
    """Plugins to give to the native module, which looks at them first."""
    return list(dict.fromkeys(_from_packages(warn)))


def _from_packages(warn: Callable[[str], object]) -> Iterator[str]:
    from importlib.metadata import entry_points  # 20 ms

    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            found = entry.load()
            path = os.fspath(found() if callable(found) else found)
        except Exception as error:  # whatever another package's code raises
            warn(f"the backend {entry.name!r} ({entry.value}) cannot be found: {error!r}")
            continue
        yield path
