"""JSON of strangers: what Python's reader lets through though no JSON has it, or though it would
surprise whoever reads on, is refused: a key twice, half a letter, a NUL, a line without end.
Numbers that are none are the schema's to refuse, which knows where they stand.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

MAX_LINE_BYTES = 16 << 20  # bytes of a line; a row of a thousand samples has twenty thousand
_MAX_KEY_SHOWN = 40


class JsonError(ValueError):
    """What is wrong with a line."""


class NotJson(JsonError):
    """No JSON at all, as a line is that was cut short."""


def parsed(line: bytes) -> object:
    """The value in a line. Raises JsonError."""
    if len(line) > MAX_LINE_BYTES:
        raise JsonError(f"the line has {len(line):,} bytes; at most {MAX_LINE_BYTES:,} are read")
    try:
        value: object = _DECODER.decode(line.decode("utf-8"))
    except JsonError:
        raise
    except RecursionError:
        raise JsonError("the line is nested too deeply") from None
    except ValueError:
        raise NotJson("is not JSON; deepbench writes one JSON object a line") from None
    if b"\\u" in line:  # the one way to write either
        for text in _strings(value):
            _check_text(text)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        counts = Counter(name for name, _ in pairs)
        twice = next(name for name, count in counts.items() if count > 1)
        raise JsonError(f"the key {json.dumps(twice[:_MAX_KEY_SHOWN])} is there twice")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_object)


def _strings(value: object) -> Iterator[str]:
    """Every text in a value, names of keys included."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            waiting += [*one.keys(), *one.values()]
        elif isinstance(one, list):
            waiting += one


def _check_text(text: str) -> None:
    if "\0" in text:
        raise JsonError("a text has a NUL")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise JsonError("a text has half a character (a lone surrogate)") from None
