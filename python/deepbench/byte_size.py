"""Numbers of bytes as people read them."""

from __future__ import annotations


def size_text(size: float) -> str:
    """Bytes in the largest binary unit of which there is at least one, from KiB: '2.0 MiB'."""
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20)):
        if size >= scale:
            return f"{size / scale:,.1f} {unit}"
    return f"{size / 1024:.1f} KiB"
