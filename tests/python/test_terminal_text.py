"""Tests of texts that are cut to a width: what is kept of them, and that long ones take no time."""

from __future__ import annotations

import time

import pytest

from deepbench.terminal_text import folded, shortened, shortened_by_words


@pytest.mark.parametrize(
    ("text", "width", "kept"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdefg", 6, "abc..."),
        ("語語語語", 8, "語語語語"),
        ("語語語語", 7, "語語..."),
        ("語語語語", 6, "語..."),
        ("abcdefg", 2, "..."),
        ("❤️" * 20, 26, "❤️" * 11 + "❤..."),
        ("👨‍👩‍👧" * 20, 13, "👨‍👩‍👧" * 5 + "..."),
        ("🇩🇪" * 20, 11, "🇩🇪" * 4 + "..."),
    ],
)
def test_a_text_keeps_its_beginning(text: str, width: int, kept: str) -> None:
    assert shortened(text, width) == kept


@pytest.mark.parametrize(
    ("text", "width", "kept"),
    [
        ("one two three", 13, "one two three"),
        ("one two three", 12, "one two ..."),
        ("one two three", 11, "one two ..."),
        ("one two three", 10, "one ..."),
        ("one   two three", 10, "one ..."),
        ("語 語語語", 8, "語 ..."),
        ("thirteen words", 8, "..."),
        ("❤️ " * 20, 12, "❤️ ❤️ ❤️ ..."),
        ("❤️" * 20, 26, "..."),
    ],
)
def test_whole_words_are_kept(text: str, width: int, kept: str) -> None:
    assert shortened_by_words(text, width) == kept


def test_texts_of_a_result_file_can_be_long() -> None:
    begin = time.process_time()  # other work on the machine does not count
    assert shortened("á" * 200_000, 20) == "á" * 17 + "..."
    assert shortened_by_words("á " * 200_000, 20) == "á " * 8 + "..."
    assert folded("á" + " " * 200_000, 20) == ["á"]
    assert time.process_time() - begin < 5  # seconds; minutes if each character costs all others
