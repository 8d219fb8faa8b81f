"""Hypothesis strategies for damaged bytes: valid ones in which a few places are changed."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

_KINDS = ("flip", "set", "insert", "replace", "delete", "repeat", "splice", "cut")
_LONGEST_CHANGE = 64  # bytes
_MOST_CHANGES = 6
# Numbers at the limits of types, as they stand in binary formats.
_NUMBERS = tuple(
    value.to_bytes(size, order, signed=False)
    for size in (1, 2, 4, 8)
    for value in (0, 1, (1 << (8 * size - 1)) - 1, 1 << (8 * size - 1), (1 << (8 * size)) - 1)
    for order in ("little", "big")
)


@st.composite
def mutated_bytes(draw: st.DrawFn, seeds: Sequence[bytes], pieces: Sequence[bytes] = ()) -> bytes:
    """One of the seeds with a few changes. `pieces` are inserted often."""
    data = bytearray(draw(st.sampled_from(seeds)))
    material = st.sampled_from([*pieces, *_NUMBERS]) | st.binary(min_size=1, max_size=8)
    for kind in draw(st.lists(st.sampled_from(_KINDS), min_size=1, max_size=_MOST_CHANGES)):
        at = draw(st.integers(0, len(data)))
        end = min(len(data), at + draw(st.integers(1, _LONGEST_CHANGE)))
        if kind == "flip" and at < len(data):
            data[at] ^= 1 << draw(st.integers(0, 7))
        elif kind == "set" and at < len(data):
            data[at] = draw(st.integers(0, 255))
        elif kind == "insert":
            data[at:at] = draw(material)
        elif kind == "replace":
            piece = draw(material)
            data[at : at + len(piece)] = piece
        elif kind == "delete":
            del data[at:end]
        elif kind == "repeat":
            data[at:at] = data[at:end] * draw(st.integers(1, 50))
        elif kind == "splice":
            other = draw(st.sampled_from(seeds))
            cut = draw(st.integers(0, len(other)))
            data[at:end] = other[cut : cut + (end - at)]
        elif kind == "cut":
            del data[at:]
    return bytes(data)


@st.composite
def shuffled_lines(draw: st.DrawFn, seeds: Sequence[bytes], pieces: Sequence[bytes] = ()) -> bytes:
    """Lines of a seed in another order, left out, repeated or taken from another seed; then a few
    bytes of them are changed."""
    lines = draw(st.sampled_from(seeds)).splitlines(keepends=True)
    for kind in draw(st.lists(st.sampled_from(("move", "delete", "repeat", "take")), max_size=4)):
        at = draw(st.integers(0, len(lines)))
        if kind == "move" and lines:
            line = lines.pop(at % len(lines))
            lines.insert(draw(st.integers(0, len(lines))), line)
        elif kind == "delete":
            del lines[at : at + 1]
        elif kind == "repeat":
            lines[at:at] = lines[at : at + 1] * draw(st.integers(1, 3))
        elif kind == "take":
            others = draw(st.sampled_from(seeds)).splitlines(keepends=True)
            lines[at:at] = others[draw(st.integers(0, max(0, len(others) - 1))) :][:1]
    data = b"".join(lines)
    return draw(st.just(data) | mutated_bytes([data], pieces))
