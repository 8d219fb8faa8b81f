"""One copy of the source tree with everything that these tests add to it, built once."""

from __future__ import annotations

import shutil

import pytest

from source_copy import BACKEND, LINES, OPERATION, SourceCopy, append_lines, build, copy_sources


@pytest.fixture(scope="session")
def copy_with_toy(tmp_path_factory: pytest.TempPathFactory) -> SourceCopy:
    """The tree with the operation axpy and, as src/toy, the backend toy."""
    tree = tmp_path_factory.mktemp("extended") / "tree"
    copy_sources(tree)
    shutil.copytree(OPERATION, tree, dirs_exist_ok=True)
    append_lines(tree, LINES)
    shutil.copytree(BACKEND, tree / "src/toy")
    return build(tree, backends=["cpu", "toy"])


@pytest.fixture(scope="session")
def copy(copy_with_toy: SourceCopy) -> SourceCopy:
    """The same without the backend toy, which `auto` would prefer to the CPU."""
    return copy_with_toy.without_backend("toy")
