"""The words after a model's name: what they ask for, and one line for each mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepbench.errors import UserError
from deepbench.workload.request import Request, parse_request
from model_files import model_text


@pytest.fixture
def mine(tmp_path: Path) -> str:
    path = tmp_path / "mine.toml"
    path.write_text(model_text())
    return str(path)


def request(mine: str, words: str) -> Request:
    return parse_request([mine, *words.split()])


def test_defaults(mine: str) -> None:
    asked = request(mine, "")
    assert (asked.phase, asked.precision) == ("prefill", None)
    assert asked.values == ({"batch": 4, "seq": 16, "tp": 1},)
    assert asked.title == "mine prefill batch=4 seq=16 tp=1"
    assert request(mine, "phase=decode").values == ({"batch": 4, "tp": 1},)


def test_words_in_any_order(mine: str) -> None:
    asked = request(mine, "tp=2 bf16 seq=32 batch=8 phase=prefill")
    assert (asked.phase, asked.precision) == ("prefill", "bfloat16")
    assert asked.values == ({"batch": 8, "seq": 32, "tp": 2},)
    assert request(mine, "precision=fp16").precision == "half"


@pytest.mark.parametrize(
    ("word", "batches"),
    [
        ("batch=1..64", [1, 2, 4, 8, 16, 32, 64]),
        ("batch=16,1,4,4", [1, 4, 16]),
        ("batch=1..4,64", [1, 2, 4, 64]),
    ],
)
def test_several_batches(mine: str, word: str, batches: list[int]) -> None:
    assert [one["batch"] for one in request(mine, word).values] == batches


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("batch=0", "mine: batch=0: must be a number from 1 to 64"),
        ("batch=65", "mine: batch=65: must be a number from 1 to 64"),
        ("batch=-1", "mine: batch=-1: must be a number from 1 to 64"),
        ("batch=1,0", "mine: batch=0: must be a number from 1 to 64"),
        (f"batch={10**30}", "must be a number from 1 to 64"),
        (f"batch={'9' * 5000}", "must be a number from 1 to 64"),
        ("batch=1..1M", "mine: batch=128: must be a number from 1 to 64"),
        ("batch=eight", "mine: batch=eight: must be a number from 1 to 64"),
        ("batch=\u0663", "must be a number from 1 to 64"),
        ("batch=", "mine: batch=: must be a number from 1 to 64"),
        ("batch=1,,2", "mine: batch=: must be a number from 1 to 64"),
        ("batch=" + ",".join(["1"] * 65), "batch has 65 values; a run has at most 64"),
        ("batch=1 batch=2", "batch is given twice"),
        ("batch=16..4", "must go up"),
        ("seq=0", "mine: seq=0: must be a number from 1 to 128"),
        ("seq=129", "mine: seq=129: must be a number from 1 to 128"),
        ("seq=16,32", "seq=16,32: a run has one value of seq; batch may have several"),
        ("tp=3", "mine: tp=3: must be one of 1 2"),
        ("phase=decode seq=16", "mine has no parameter seq in phase decode, but in prefill"),
        ("kv=16", "mine has no parameter 'kv'; it has batch seq tp and phase"),
        ("bach=16", "mine has no parameter 'bach' (did you mean 'batch'?)"),
        ("phase=train", "mine has no phase 'train'; it has prefill decode"),
        ("phase=decod", "mine has no phase 'decod' (did you mean 'decode'?)"),
        ("float half", "precision is given twice"),
        ("haff", "'haff' is neither a precision nor KEY=VALUE (did you mean 'half'?)"),
        ("precision=haff", "'haff' is neither a precision nor KEY=VALUE"),
    ],
)
def test_mistakes(mine: str, words: str, reason: str) -> None:
    with pytest.raises(UserError) as error:
        request(mine, words)
    assert reason in str(error.value)
    assert error.value.exit_status == 2
    assert len(str(error.value)) < 400
