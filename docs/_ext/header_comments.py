"""Doxygen's input filter: marks the comments of the public headers as documentation.

The headers use plain comments, so that they stay readable without doxygen's markup. This filter
changes no line number.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path


def mark(text: str) -> str:
    """Returns the source with /* as /** and // as ///, or /**< and ///< behind code."""
    lines = []
    in_block = False
    for line in text.splitlines():
        if in_block:
            in_block = "*/" not in line
            lines.append(line)
            continue
        before, found, _ = line.partition("/*")
        if found:
            in_block = "*/" not in line[len(before) + 2 :]
            is_title = line[len(before) :].startswith("/* ----")
            trailing = before.strip() and not before.lstrip().startswith("#")
            if not is_title and not before.lstrip().startswith("#"):
                line = before + ("/**<" if trailing else "/**") + line[len(before) + 2 :]
        elif "://" not in line:
            line = re.sub(r"^(\s*)//(?!/)", r"\1///", line)
            line = re.sub(r"(\S\s+)//(?!/)", r"\1///<", line)
        lines.append(line)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(mark(Path(sys.argv[1]).read_text(encoding="utf-8")))
