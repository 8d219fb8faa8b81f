"""Numbers on command lines: 64M, 64MiB, and the range 1..64M, which stands for every doubling from
1 to 64M."""

from __future__ import annotations

import re

from deepbench.errors import UsageError, in_quotes

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
# Ignoring case, Unicode would count the sign of Kelvin as a K.
_NUMBER = re.compile(r"(\d+)(?:([KMG])(?:iB)?)?", re.IGNORECASE | re.ASCII)
_DECIMAL = re.compile(r"(\d+)([KMG])B", re.IGNORECASE | re.ASCII)
_OTHER_RANGE = re.compile(r"(\d+)[-:](\d+)", re.ASCII)
_MOST = (1 << 63) - 1
_MOST_DIGITS = len(str(_MOST))  # int() refuses thousands of them


def expand_numbers(word: str) -> list[str]:
    """The numbers of a value, without units, or the word itself if it is not a number."""
    first, dots, last = word.partition("..")
    if not dots:
        _refuse_other_range(word)
        number = None if word.isdigit() else _number_with_unit(word)
        return [word] if number is None else [str(number)]
    least, most = _number_with_unit(first), _number_with_unit(last)
    if least is None or most is None:
        raise UsageError(
            f"{in_quotes(word)} is not a range: LEAST..MOST is every doubling, as in 16..128 "
            "or 1..64M"
        )
    if not 1 <= least <= most:
        raise UsageError(f"{in_quotes(word)} must go up from 1 or more, as in 1..64M")
    found = [least]
    while found[-1] * 2 <= most:
        found.append(found[-1] * 2)
    if len(found) == 1 and least < most:
        longer = f" or {first}..{2 * least}" if 2 * least <= _MOST else ""
        raise UsageError(
            f"{in_quotes(word)} contains no doubling of its start: write {first},{last}{longer}"
        )
    return [str(number) for number in found]


def without_byte_unit(word: str) -> str:
    """Converts a number of bytes with a unit to plain digits: 32M becomes 33554432.

    Returns the word itself if it is not a number.
    """
    number = _number_with_unit(word)
    return word if number is None else str(number)


def _number_with_unit(word: str) -> int | None:
    if decimal := _DECIMAL.fullmatch(word):
        count, unit = decimal[1], decimal[2].upper()
        raise UsageError(
            f"{in_quotes(word)}: units are powers of 2; write {count}{unit} or {count}{unit}iB, "
            f"which is {count} x {_UNITS[unit]}"
        )
    match = _NUMBER.fullmatch(word)
    if not match:
        return None
    digits, unit = match[1].lstrip("0") or "0", (match[2] or "").upper()
    number = int(digits) * _UNITS[unit] if len(digits) <= _MOST_DIGITS else _MOST + 1
    if number > _MOST:
        raise UsageError(f"{in_quotes(word)} is more than {_MOST}")
    return number


def _refuse_other_range(word: str) -> None:
    """Raises UsageError for a range in the notation of another program."""
    match = _OTHER_RANGE.fullmatch(word)
    if match:
        first, last = match.groups()
        raise UsageError(
            f"{in_quotes(word)} is not a number: write {first},{last} for these two, or "
            f"{first}..{last} for every doubling"
        )


def whole_number(text: str) -> int | None:
    """The number in a text of at most nine digits, or None. int() refuses thousands of digits."""
    short = text.isascii() and text.isdigit() and len(text) < 10
    return int(text) if short and text == str(int(text)) else None
