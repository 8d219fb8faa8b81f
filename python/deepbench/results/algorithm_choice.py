"""The algorithm that a row measured, and whether it is the library's default.

A library may give two candidates the same name: oneDNN names an implementation, whatever the
layout. If the selected candidate has the name of the default, only its id distinguishes the two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from deepbench.results.makers import quickly_made
from deepbench.results.row import Algorithm, Row


@quickly_made
@dataclass(frozen=True, slots=True)
class AlgorithmChoice:
    """The object `algorithm` of a row, with None for what the row does not state."""

    library: str = ""  # without its version
    mode: str | None = None  # default, best, exhaustive, or the requested candidate's id
    name: str | None = None  # the library's name of the algorithm
    candidate: str | None = None  # the candidate's id; None for the default
    default_name: str | None = None
    default_candidate: str | None = None
    is_default: bool = True  # the library chose the algorithm itself

    @property
    def text(self) -> str | None:
        """The algorithm's name, or the candidate's id if the default has the same name."""
        if self.candidate and self.name in (None, self.default_name):
            return self.candidate
        return self.name

    @property
    def id(self) -> str | None:
        """The candidate's id, also for a default whose id is known. The id begins with the name of
        the library if several libraries compete; a row of a single library omits it."""
        found = self.candidate or (self.default_candidate if self.is_default else None)
        return found.removeprefix(f"{self.library}:") if found and self.library else found


def algorithm_choice_of(row: Row, clean: Callable[[object], str] = str) -> AlgorithmChoice:
    """The choice of a row. `clean` makes a text of a file safe to print."""
    algorithm = row.algorithm

    def cleaned_text(value: str | None) -> str | None:
        return None if value is None else clean(value)

    return AlgorithmChoice(
        library=clean(row.library or "").partition(" ")[0],
        mode=cleaned_text(algorithm.mode),
        name=cleaned_text(algorithm.name),
        candidate=cleaned_text(algorithm.candidate),
        default_name=cleaned_text(algorithm.default_name),
        default_candidate=cleaned_text(algorithm.default_candidate),
        is_default=_is_default(algorithm),
    )


def same_algorithm(a: AlgorithmChoice, b: AlgorithmChoice) -> bool | None:
    """Whether two rows of one library ran the same algorithm; None if the rows do not tell."""
    if a.id and b.id:
        return a.id == b.id
    if None in (a.name, b.name):
        return None
    if a.name != b.name:
        return False
    named = next((one for one in (a, b) if one.candidate), None)  # the other has no id
    if named is None:
        return True
    return False if named.name == named.default_name else None


def _is_default(algorithm: Algorithm) -> bool:
    """Whether the algorithm is the default, by the candidate's id. In rows without an id, the name
    and a speedup over the default tell."""
    if algorithm.states_candidate:
        return algorithm.candidate is None
    is_named_alike = algorithm.default_name in (None, algorithm.name)
    return is_named_alike and not (algorithm.speedup is not None and algorithm.speedup > 1)
