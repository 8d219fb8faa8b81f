"""How the rows of a measured reference differ from those that are compared with them, apart from
their regime, which decides whether two rows are compared at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .comparison import PairwiseComparison
from .result_set import ResultSet
from .verdicts import ComparedRow


def reference_differences(
    base_set: ResultSet, against: PairwiseComparison, letter: str
) -> Iterator[str]:
    """'another kind of device: NVIDIA H100 in A, NVIDIA H200 in B', and the same for the versions
    of each library, if a side is a measured reference. `letter` names the other result set."""
    if not (base_set.is_reference or against.result_set.is_reference):
        return
    rows = against.rows
    for base, other in dict.fromkeys((row.base.device, row.other.device) for row in rows):
        if base and other and base != other:
            yield f"another kind of device: {base} in A, {other} in {letter}"
    for name, base, other in _differing_versions(rows):
        yield f"another version of {name}: {base} in A, {other} in {letter}"


def _differing_versions(rows: Sequence[ComparedRow]) -> Iterator[tuple[str, str, str]]:
    """Name and versions of each library whose versions differ in a pair."""
    for base, other in dict.fromkeys((row.base.library, row.other.library) for row in rows):
        name, _, version = (base or "").partition(" ")
        other_name, _, other_version = (other or "").partition(" ")
        if name == other_name and version and other_version and version != other_version:
            yield name, version, other_version
