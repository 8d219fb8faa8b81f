"""Doxygen's input filter: marks the comments of the public headers as documentation.

The headers use plain comments, so that they stay readable without doxygen's markup. Comments with
columns keep their layout.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

BLOCK = re.compile(r"^([^\n]*?)/\*(.*?)\*/", re.M | re.S)
COLUMNS = re.compile(r"\w {2,}\S")


def mark_for_doxygen(text: str) -> str:
    """Returns the source with /* as /** and // as ///, or /**< and ///< behind code."""
    lines = []
    for line in text.splitlines():
        if "://" not in line and '"' not in line:
            line = re.sub(r"^(\s*)//(?!/)", r"\1///", line)
            line = re.sub(r"(\S\s+)//(?!/)", r"\1///<", line)
        lines.append(line)
    text = BLOCK.sub(_documented, "\n".join(lines) + "\n")
    return re.sub(r"\A(/\*\*|///)", r"\1 @file\n\1", text, count=1).replace("@file\n/**", "@file\n")


def _documented(found: re.Match[str]) -> str:
    before, comment = found.groups()
    if before.lstrip().startswith("#") or comment.startswith(" ----"):
        return found.group()
    if before.strip():
        return f"{before}/**<{comment}*/"
    if COLUMNS.search(comment):
        body = re.sub(r"^\s*\* ?", "", comment.strip(), flags=re.M)
        return f"{before}/** @verbatim\n{body}\n@endverbatim */"
    return f"{before}/**{comment}*/"


if __name__ == "__main__":
    sys.stdout.write(mark_for_doxygen(Path(sys.argv[1]).read_text(encoding="utf-8")))
