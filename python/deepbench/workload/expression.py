"""Integer arithmetic in model files: numbers, names, + - * / //, parentheses, min, max and ceil.

An expression is data: it is parsed, and its tree is evaluated here. Nothing of it runs as code.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache

MOST = (1 << 63) - 1
_MAX_CHARACTERS = 256  # which also limits the depth of the tree
_NOT_ARITHMETIC = re.compile(r"[^A-Za-z0-9_+\-*/(), ]|\b[0-9]+[A-Za-z_]")  # also 0x10 and 1_0


class ExpressionError(ValueError):
    """An expression has no value. The message is one line."""


def evaluate(expression: int | str, names: Mapping[str, int]) -> int:
    """The value of an expression, of at most 63 bits. Raises ExpressionError."""
    if isinstance(expression, int):
        return _limited(expression)
    try:
        return _value(_parse(expression), names)
    except ExpressionError as error:
        raise ExpressionError(f"{_shortened(expression)}: {error}") from None


@lru_cache(1024)  # layers repeat a few expressions
def _parse(text: str) -> ast.expr:
    if len(text) > _MAX_CHARACTERS:
        raise ExpressionError(
            f"has {len(text):,} characters; an expression has at most {_MAX_CHARACTERS}"
        )
    if strange := _NOT_ARITHMETIC.search(text):
        raise ExpressionError(f"is not arithmetic: {strange[0]!r} has no meaning here")
    try:
        with warnings.catch_warnings():  # such as the tokenizer's about '1or 2'
            warnings.simplefilter("ignore")
            return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ExpressionError("is not arithmetic; write for example 'batch * seq / tp'") from None


def _value(node: ast.expr, names: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return _limited(number)
        case ast.Name(id=name):
            if name not in names:
                raise ExpressionError(f"{name} is not defined here")
            return names[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, names)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
            compute = _OPERATORS[type(operator)]
            return _limited(compute(_value(left, names), _value(right, names)))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in FUNCTIONS:
            least, most, function = FUNCTIONS[name]
            if not least <= len(arguments) <= most:
                raise ExpressionError(f"{name} does not take {len(arguments)} values")
            return _limited(function(*(_value(one, names) for one in arguments)))
    raise ExpressionError(
        f"is not arithmetic: {_shortened(ast.unparse(node))} is neither a whole number, a name, "
        "+ - * / //, min, max nor ceil"
    )


def _limited(value: int) -> int:
    if abs(value) > MOST:
        raise ExpressionError(f"is beyond {MOST}")
    return value


def _exact_quotient(dividend: int, divisor: int) -> int:
    quotient, rest = _divided(dividend, divisor)
    if rest:
        raise ExpressionError(
            f"{dividend} / {divisor} leaves a remainder; // rounds down, ceil(a, b) rounds up"
        )
    return quotient


def _divided(dividend: int, divisor: int) -> tuple[int, int]:
    if divisor == 0:
        raise ExpressionError(f"divides {dividend} by 0")
    return divmod(dividend, divisor)


def _rounded_up(dividend: int, divisor: int) -> int:
    quotient, rest = _divided(dividend, divisor)
    return quotient + bool(rest)


def _shortened(text: str) -> str:
    text = text if len(text) <= 60 else text[:57] + "..."
    return repr(text)


_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: _exact_quotient,
    ast.FloorDiv: lambda a, b: _divided(a, b)[0],
}
# The least and the largest number of values that a function takes, and what it does.
FUNCTIONS: Mapping[str, tuple[int, int, Callable[..., int]]] = {
    "min": (2, 16, min),
    "max": (2, 16, max),
    "ceil": (2, 2, _rounded_up),
}
