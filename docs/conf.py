"""The documentation's build: `pip install '.[docs]' && sphinx-build -W docs site`.

The reference is generated from the installed package, schema.json and the public headers.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE / "_ext"), str(ROOT / "benchmarks")]

from deepbench_reference import HEADERS, has_doxygen  # noqa: E402

project = "deepbench"
author = "The deepbench authors"
copyright = "the deepbench authors; Apache-2.0"
release = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.M).group(1)

extensions = ["myst_parser", "deepbench_reference"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_ext"]
html_theme = "pydata_sphinx_theme"
html_title = "deepbench"
html_theme_options = {"navigation_depth": 2, "show_toc_level": 2}
html_copy_source = False
highlight_language = "text"
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
suppress_warnings = ["misc.highlighting_failure"]

# doxygen reads the headers once per build. Without doxygen the pages show the headers themselves.
breathe_projects: dict[str, str] = {}
if has_doxygen():
    extensions.append("breathe")
    breathe_default_project = "deepbench"
    breathe_show_include = False


def run_doxygen(folder: Path) -> Path:
    """Returns the folder of the XML that doxygen makes of the public headers."""
    names = (
        "plugin.h",
        "plugin_collective.h",
        "plugin_energy.h",
        "plugin_forward_state.h",
        "plugin_chain.h",
        "plugin.hpp",
        "fill.h",
        "lookup.h",
    )
    settings = {
        "PROJECT_NAME": "deepbench",
        "INPUT": " ".join(str(HEADERS / name) for name in names),
        "OUTPUT_DIRECTORY": folder,
        "FILTER_PATTERNS": f'"*.h={sys.executable} {HERE}/_ext/header_comments.py" '
        f'"*.hpp={sys.executable} {HERE}/_ext/header_comments.py"',
        "GENERATE_HTML": "NO",
        "GENERATE_LATEX": "NO",
        "GENERATE_XML": "YES",
        "XML_PROGRAMLISTING": "NO",
        "OPTIMIZE_OUTPUT_FOR_C": "NO",
        "JAVADOC_AUTOBRIEF": "YES",
        "EXTRACT_ALL": "YES",
        "EXTRACT_STATIC": "YES",
        "MACRO_EXPANSION": "YES",
        "EXPAND_ONLY_PREDEF": "YES",
        "PREDEFINED": '"DEEPBENCH_FILL_FN=static inline" DEEPBENCH_EXPORT= __cplusplus',
        "QUIET": "YES",
        "WARNINGS": "NO",
    }
    folder.mkdir(parents=True, exist_ok=True)
    configuration = "\n".join(f"{key} = {value}" for key, value in settings.items())
    subprocess.run(["doxygen", "-"], input=configuration, text=True, check=True)
    return folder / "xml"


def setup(app: object) -> None:
    def start(app: object, config: object) -> None:
        if has_doxygen():
            xml = run_doxygen(Path(app.doctreedir) / "doxygen")  # type: ignore[attr-defined]
            config.breathe_projects = {"deepbench": str(xml)}  # type: ignore[attr-defined]
        else:
            print("doxygen is absent: the header pages show the headers' source", file=sys.stderr)

    app.connect("config-inited", start, priority=1)  # type: ignore[attr-defined]
