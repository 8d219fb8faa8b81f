"""The XML of a workbook's parts, by what they contain: names without prefixes, attributes, texts.

A part that declares a document type is refused, and with it entities: no expansion, no other file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol
from xml.parsers import expat

from deepbench.workbook.errors import WorkbookError

MOST_ELEMENTS = 2_500_000  # of all parts together: each takes time, and cells take memory


class ElementHandler(Protocol):
    """What is called for each part of the text, in its order."""

    def begin(self, name: str, attributes: Mapping[str, str]) -> None:
        """An element and its attributes, all without their prefixes."""

    def end(self, name: str) -> None:
        """The end of an element."""

    def text(self, text: str) -> None:
        """A piece of text."""


class Budget:
    """How many elements there may still be in a workbook."""

    def __init__(self) -> None:
        self.elements = 0


def parse_part(where: str, data: bytes, handler: ElementHandler, budget: Budget) -> None:
    """Has a part read; `where` is what errors call it. Raises WorkbookError."""

    def begin(name: str, attributes: dict[str, str]) -> None:
        budget.elements += 1
        if budget.elements > MOST_ELEMENTS:
            raise WorkbookError(f"{where}: more than {MOST_ELEMENTS} cells and other elements")
        handler.begin(_local(name), {_local(key): value for key, value in attributes.items()})

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = lambda *_: _refuse(where)
    parser.StartElementHandler = begin
    parser.EndElementHandler = lambda name: handler.end(_local(name))
    parser.CharacterDataHandler = handler.text
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError, LookupError) as error:  # the latter: of encodings
        raise WorkbookError(f"{where}: is no good XML: {error}") from None


def _local(name: str) -> str:
    return name.rpartition(":")[2]


def _refuse(where: str) -> None:
    raise WorkbookError(
        f"{where}: declares a document type, and with it may entities: refused; no spreadsheet "
        "program writes that"
    )
