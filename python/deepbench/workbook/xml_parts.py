"""Reads the XML of a workbook's parts as elements, attributes and texts, all without name prefixes.

A part with a document type declaration is rejected, which excludes entity expansion and references
to other files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol
from xml.parsers import expat

from deepbench.workbook.errors import WorkbookError

MOST_ELEMENTS = 2_500_000  # of all parts together, to bound time and memory


class ElementHandler(Protocol):
    """Receives the contents of a part in their order."""

    def begin(self, name: str, attributes: Mapping[str, str]) -> None:
        """Called for each element, with its attributes."""

    def end(self, name: str) -> None:
        """Called at the end of an element."""

    def text(self, text: str) -> None:
        """Called for each piece of text."""


class Budget:
    """Counts the elements of a workbook against their limit."""

    def __init__(self) -> None:
        self.elements = 0


def parse_part(where: str, data: bytes, handler: ElementHandler, budget: Budget) -> None:
    """Parses a part. `where` names it in errors. Raises WorkbookError."""

    def begin(name: str, attributes: dict[str, str]) -> None:
        budget.elements += 1
        if budget.elements > MOST_ELEMENTS:
            raise WorkbookError(f"{where}: has more than {MOST_ELEMENTS} cells and other elements")
        handler.begin(
            _without_namespace(name),
            {_without_namespace(key): value for key, value in attributes.items()},
        )

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = lambda *_: _refuse_document_type(where)
    parser.StartElementHandler = begin
    parser.EndElementHandler = lambda name: handler.end(_without_namespace(name))
    parser.CharacterDataHandler = handler.text
    try:
        parser.Parse(data, True)
    # Expat raises the last two for invalid encodings.
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise WorkbookError(f"{where}: is not valid XML: {error}") from None


def _without_namespace(name: str) -> str:
    return name.rpartition(":")[2]


def _refuse_document_type(where: str) -> None:
    raise WorkbookError(
        f"{where}: declares a document type, which may define entities and which no spreadsheet "
        "program writes"
    )
