"""A table of texts that fits a terminal: what `deepbench list` prints."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from deepbench.terminal_text import cell_width, folded, padded

_GAP = "  "
_INDENT = " " * 4  # of cells below their row


def plain_table(
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    texts: Collection[int],
    width: int | None = None,
) -> str:
    """`texts` are the columns that are aligned to the left. Where the table is wider than `width`,
    the widest of them continue below their row until the others fit."""
    lines = [titles, *rows]
    widths = [max(map(cell_width, column)) for column in zip(*lines, strict=True)]
    beside = list(range(len(titles)))
    below: list[int] = []
    for column in sorted(texts, key=lambda column: -widths[column]):
        if width is None or sum(widths[one] + len(_GAP) for one in beside) - len(_GAP) <= width:
            break
        beside.remove(column)
        below = sorted([*below, column])
    printed = []
    for cells in lines:
        aligned = (padded(cells[one], widths[one], one in texts) for one in beside)
        printed.append(_GAP.join(aligned).rstrip())
        if moved := _GAP.join(cells[one] for one in below if cells[one]):
            printed += folded(_INDENT + moved, width, _INDENT)
    return "".join(f"{line}\n" for line in printed)
