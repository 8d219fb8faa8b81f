"""Parses JSON from untrusted files. Refuses what Python's parser accepts although it is not JSON or
would surprise later readers: a duplicate key, a lone surrogate, a NUL, an excessively long line.
The schema check refuses NaN and infinity, since it can name their place.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

MAX_LINE_BYTES = 16 << 20  # bytes of a line; a row of a thousand samples has twenty thousand
_MAX_KEY_SHOWN = 40
_STRING = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?')  # of valid JSON; a key has the colon


class JsonError(ValueError):
    """A line is refused. The message says why."""


class NotJson(JsonError):
    """A line is not JSON at all, for example because it is incomplete."""


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
    # Only an escape can express a lone surrogate or a NUL. A single byte is sought much faster.
    if b"\\" in line and b"\\u" in line:
        for text in _all_strings(value):
            _check_text(text)
    return value


def has_escaped_key(line: str) -> bool:
    """Whether a key of a line that is JSON is written with an escape, such as "r\\u006fw"."""
    if "\\" not in line:
        return False
    return any(found[2] and "\\" in found[1] for found in _STRING.finditer(line))


def _object_without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        counts = Counter(name for name, _ in pairs)
        twice = next(name for name, count in counts.items() if count > 1)
        raise JsonError(f"the key {json.dumps(twice[:_MAX_KEY_SHOWN])} is there twice")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_object_without_duplicates)


def _all_strings(value: object) -> Iterator[str]:
    """All strings in a value, including keys."""
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
        raise JsonError("a text contains half of a surrogate pair") from None
