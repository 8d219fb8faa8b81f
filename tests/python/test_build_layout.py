"""The architecture as a test, continued: how the sources ask to be compiled."""

from __future__ import annotations

from test_layout import c_sources, offenders


def test_no_function_is_optimised_by_an_attribute() -> None:
    """GCC 13 at -Og left such loops scalar, 300 times slower: CMakeLists.txt has flags of files."""
    # Texts are left out of what is searched.
    wrong = offenders(c_sources("src"), r"\boptimize\s*\(\s*\)")
    assert not wrong, wrong
