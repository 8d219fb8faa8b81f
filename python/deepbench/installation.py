"""The name of the installed distribution, and the commands that install optional packages.

The distribution is called deepbench-kernels: another project owns the name `deepbench` on PyPI, so
no message may tell anyone to install `deepbench` or one of its extras from there.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

DISTRIBUTION = "deepbench-kernels"
_MODULE_NAME = "deepbench"  # on PyPI, this name belongs to another project


def install_command(extra: str) -> str:
    """The command that installs the packages of an extra of pyproject.toml. In the checkout that
    this package was installed from, the command names the extra. Elsewhere it names the packages,
    since `.[extra]` would fail or, in another project's folder, run that project's build."""
    folder, editable = _installation_source()
    if folder is not None and folder == _working_directory():
        return f"pip install {'-e ' if editable else ''}'.[{extra}]'"
    packages = _packages_of(extra)
    if packages:
        return "pip install " + " ".join(map(shlex.quote, packages))
    return f"pip install '.[{extra}]' in the source folder of {DISTRIBUTION}"


def warnings() -> Iterator[str]:
    """Warnings of `env` about this installation, one line each."""
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


def _installation_source() -> tuple[Path | None, bool]:
    """The folder that the package was installed from, as pip recorded it, and whether it is an
    editable installation; None for a wheel."""
    from importlib import metadata

    try:
        record = json.loads(metadata.distribution(DISTRIBUTION).read_text("direct_url.json") or "")
        url = urlsplit(record["url"])
        editable = bool(record["dir_info"].get("editable"))
    except (metadata.PackageNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return None, False
    return (Path(unquote(url.path)).resolve() if url.scheme == "file" else None), editable


def _working_directory() -> Path | None:
    try:
        return Path.cwd().resolve()
    except OSError:
        return None  # the folder was removed


def _packages_of(extra: str) -> list[str]:
    from importlib import metadata

    try:
        requirements = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return []
    marker = re.compile(rf"""extra\s*==\s*['"]{re.escape(extra)}['"]""")
    split = (text.partition(";") for text in requirements)
    return [package.strip() for package, _, condition in split if marker.search(condition)]
