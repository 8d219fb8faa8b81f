"""Starts a worker. deepbench runs this file by its path; `python -m deepbench.worker` works too."""

import sys

# Python has put a folder first on the path: that of this file or, with -m, the working directory. A
# json.py in that folder would replace the standard library's. The folder must leave the path before
# any other import, including `from __future__`.
if __name__ == "__main__" and not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
    del sys.path[0]


def _import_parents_package() -> None:
    """Imports the deepbench package that contains this file. It is the package of the parent, which
    may have found it in a folder that is not on the path of this process."""
    from importlib.util import find_spec, module_from_spec, spec_from_file_location
    from pathlib import Path

    folder = Path(__file__).absolute().parents[1]
    first = folder / "__init__.py"
    found = find_spec("deepbench")
    if found and found.origin and Path(found.origin).resolve() == first.resolve():
        return  # the usual import finds it, also through the hooks of an editable installation
    spec = spec_from_file_location("deepbench", first, submodule_search_locations=[str(folder)])
    assert spec is not None
    assert spec.loader is not None
    sys.modules["deepbench"] = package = module_from_spec(spec)
    spec.loader.exec_module(package)


if __name__ == "__main__":
    _import_parents_package()
    from deepbench.worker.protocol import run_worker

    run_worker()
