"""What this package is installed as, and the commands that complete an installation.

The distribution is called deepbench-kernels: another project owns the name `deepbench` on PyPI, so
no message may tell anyone to install `deepbench` or one of its extras from there.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

DISTRIBUTION = "deepbench-kernels"
_MODULE_NAME = "deepbench"  # also the distribution's former name, and another project's on PyPI


def install_command(extra: str) -> str:
    """The command that installs the packages which `extra` of pyproject.toml lists. It names them:
    `.[extra]` would build deepbench anew, replace an editable installation, and in a stranger's
    folder run what its pyproject.toml says."""
    packages = _packages_of(extra)
    if packages:
        return "pip install " + " ".join(map(shlex.quote, packages))
    return f"pip install '.[{extra}]' in the source folder of {DISTRIBUTION}"


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
