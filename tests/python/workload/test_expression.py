"""Arithmetic of model files: what it computes, and that nothing else is an expression."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbench.workload.expression import MOST, ExpressionError, evaluate

NAMES = {"batch": 8, "seq": 2048, "tp": 4, "zero": 0}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (7, 7),
        ("7", 7),
        ("batch * seq / tp", 4096),
        ("batch - 2 * (tp + 1)", -2),
        ("-batch", -8),
        ("7 // 2", 3),
        ("-7 // 2", -4),
        ("ceil(7, 2)", 4),
        ("ceil(-7, 2)", -3),
        ("ceil(8, 2)", 4),
        ("min(batch, tp, 5)", 4),
        ("max(batch, -tp)", 8),
        (" batch ", 8),
        (str(MOST), MOST),
        ("(" * 60 + "batch" + ")" * 60, 8),
        ("-" * 254 + "1", 1),
    ],
)
def test_values(expression: int | str, value: int) -> None:
    assert evaluate(expression, NAMES) == value


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("seq / 3", "leaves a remainder"),
        ("seq / zero", "divides 2048 by 0"),
        ("seq // zero", "divides 2048 by 0"),
        ("ceil(seq, zero)", "divides 2048 by 0"),
        ("heads * 2", "heads is not defined here"),
        ("batch ** 2", "is not arithmetic"),
        ("9 ** 9 ** 9 ** 9", "is not arithmetic"),
        ("batch % 2", "is not arithmetic"),
        ("batch > 2", "is not arithmetic"),
        ("1 if batch else 2", "is not arithmetic"),
        ("batch and 2", "is not arithmetic"),
        ("not batch", "is not arithmetic"),
        ("~batch", "is not arithmetic"),
        ("1.5", "is not arithmetic"),
        ("1e5", "is not arithmetic"),
        ("0x10", "is not arithmetic"),
        ("1_0", "is not arithmetic"),
        ("1j", "is not arithmetic"),
        ("True", "is not arithmetic"),
        ("'a'", "is not arithmetic"),
        ("batch.bit_length()", "is not arithmetic"),
        ("__import__('os').system('true')", "is not arithmetic"),
        ("exit()", "is not arithmetic"),
        ("open(batch)", "is not arithmetic"),
        ("print(1)", "is not arithmetic"),
        ("lambda: 1", "is not arithmetic"),
        ("(lambda x: x)(1)", "is not arithmetic"),
        ("[1][0]", "is not arithmetic"),
        ("(batch := 3)", "is not arithmetic"),
        ("batch, seq", "is not arithmetic"),
        ("min(*batch, 1)", "is not arithmetic"),
        ("min(batch)", "min does not take 1 values"),
        ("ceil(1, 2, 3)", "ceil does not take 3 values"),
        ("", "is not arithmetic"),
        ("batch *", "is not arithmetic"),
        ("batch seq", "is not arithmetic"),
        ("1or 2", "is not arithmetic"),
        ("1\n+1", "is not arithmetic"),
        ("b\u0430tch", "is not arithmetic"),  # a Cyrillic letter
        (f"{MOST} + 1", f"is beyond {MOST}"),
        (MOST + 1, f"is beyond {MOST}"),
        (f"{MOST} * {MOST} // {MOST}", f"is beyond {MOST}"),
        (f"-{MOST} - 2", f"is beyond {MOST}"),
        ("9" * 5000, "characters"),
        ("9" * 250, f"is beyond {MOST}"),
        ("(" * 250 + "1", "is not arithmetic"),
        ("1" + "+1" * 200, "characters"),
    ],
)
def test_errors(expression: int | str, reason: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ExpressionError) as error:
            evaluate(expression, NAMES)
    assert reason in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 400


def value_or_error(text: str) -> int | str:
    try:
        return evaluate(text, NAMES)
    except ExpressionError as error:
        return str(error)


@given(st.text(alphabet="batchseqtp01239+-*/(), .[]{}='\"_:;%<>&|^~@!\\n", max_size=60))
def test_any_text_has_a_value_or_an_error(text: str) -> None:
    found = value_or_error(text)
    assert found.isprintable() if isinstance(found, str) else abs(found) <= MOST
