"""A line of a result file that is kept as its members, such as a ceiling or a chain."""

from __future__ import annotations

from dataclasses import dataclass

from deepbench.json_types import JsonObject


@dataclass(frozen=True)
class MemberLine:
    """The members of a line that is no row."""

    members: JsonObject
    text: str | None = None  # its line, if there is one of the current version

    @property
    def line(self) -> str:
        """The line as JSON of the current schema version."""
        if self.text is not None:
            return self.text
        from deepbench import _core

        return _core.line_of_members(self.members)

    @property
    def status(self) -> str:
        return str(self.members["status"])
