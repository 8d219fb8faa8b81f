"""Starts a worker: by this file's path, as deepbench does, or by `python -m deepbench.worker`."""

import sys

# Python has put a folder first on the path, this file's own or, for -m, the working directory, and
# would take a json.py there for the standard library's. This comes before any other import, and
# `from __future__` is an import too.
if __name__ == "__main__" and not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
    del sys.path[0]


def _import_parents_package() -> None:
    """Imports the deepbench that this file belongs to, which is the parent's: the parent may have
    found it where this process does not look."""
    from importlib.util import find_spec, module_from_spec, spec_from_file_location
    from pathlib import Path

    folder = Path(__file__).absolute().parents[1]
    first = folder / "__init__.py"
    found = find_spec("deepbench")
    if found and found.origin and Path(found.origin).resolve() == first.resolve():
        return  # it is imported as usual, also where that takes an editable installation's hooks
    spec = spec_from_file_location("deepbench", first, submodule_search_locations=[str(folder)])
    assert spec is not None
    assert spec.loader is not None
    sys.modules["deepbench"] = package = module_from_spec(spec)
    spec.loader.exec_module(package)


if __name__ == "__main__":
    _import_parents_package()
    from deepbench.worker.protocol import run

    run()
