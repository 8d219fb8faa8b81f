"""Formats numbers of bytes for people."""

from __future__ import annotations


def size_text(size: float) -> str:
    """The number of bytes in the largest of KiB, MiB and GiB in which it is at least 1: '2.0
    MiB'."""
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20)):
        if size >= scale:
            return f"{size / scale:,.1f} {unit}"
    return f"{size / 1024:.1f} KiB"
