"""What this package is installed as, and the commands that complete an installation.

The distribution is called deepbench-kernels: another project owns the name `deepbench` on PyPI, so
no message may tell anyone to install `deepbench` or one of its extras from there.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

DISTRIBUTION = "deepbench-kernels"
_MODULE_NAME = "deepbench"  # also the distribution's former name, and another project's on PyPI
_MOST_BYTES = 1 << 20  # of a pyproject.toml that is looked at


def install_command(extra: str) -> str:
    """The command that installs what `extra` of pyproject.toml lists. In a checkout that is the
    extra itself; elsewhere it is the packages, since `.[extra]` means nothing there."""
    if is_checkout(Path.cwd()):
        return f"pip install '.[{extra}]'"
    packages = _packages_of(extra)
    if packages:
        return "pip install " + " ".join(map(shlex.quote, packages))
    return f"pip install '.[{extra}]' in the source folder of {DISTRIBUTION}"


def is_checkout(folder: Path) -> bool:
    """Whether `folder` holds the sources of this distribution."""
    try:
        with (folder / "pyproject.toml").open("rb") as file:
            text = file.read(_MOST_BYTES)
    except OSError:
        return False
    return re.search(rb'^name = "' + DISTRIBUTION.encode() + rb'"', text, re.M) is not None


def warnings() -> Iterator[str]:
    """What `env` says about this installation, one line each."""
    from importlib import metadata

    try:
        version = metadata.version(_MODULE_NAME)
    except metadata.PackageNotFoundError:
        return
    yield (
        f"the distribution {_MODULE_NAME!r} {version} is installed beside {DISTRIBUTION}; it is an "
        "earlier build of this project or another project of that name, and both write to the "
        f"folder {_MODULE_NAME}: run 'pip uninstall {_MODULE_NAME}', then install "
        f"{DISTRIBUTION} again"
    )


def _packages_of(extra: str) -> list[str]:
    from importlib import metadata

    try:
        requirements = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return []
    marker = re.compile(rf"""extra\s*==\s*['"]{re.escape(extra)}['"]""")
    split = (text.partition(";") for text in requirements)
    return [package.strip() for package, _, condition in split if marker.search(condition)]
