"""Compiles constructors of frozen dataclasses with slots, and functions that make and change their
objects.

The constructor of such a class sets each field by a call, which takes most of the time of a row of
a hundred fields. These functions fill an object of a twin, a class with the same slots whose
attributes can be set, and then turn it into an object of the dataclass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from sys import intern
from types import MappingProxyType
from typing import Any, TypeVar

_T = TypeVar("_T")
Makers = Mapping[str, Callable[[Any], Any]]

_NO_MAKERS: Makers = MappingProxyType({})


def dataclass_maker(
    kind: type[_T], needed: Sequence[object] = (), parts: Makers = _NO_MAKERS
) -> Callable[..., _T]:
    """A function that makes a `kind` from a JSON object and from members that replace those of the
    object. An absent or null value has its default; `needed` are the values of the first fields.
    `parts` make the values of fields from values of the object."""
    example = kind(*needed)
    body, known = ["get = value.get"], {}
    for name, type_name in _field_types(kind).items():
        default = getattr(example, name)
        if default is None and name not in parts and "str" not in type_name:
            body.append(f"made.{name} = get({name!r})")  # a number or null, as most values are
            continue
        known[f"default_{name}"] = default
        value = "intern(item) if type(item) is str else item"
        if name in parts:
            known[f"make_{name}"] = parts[name]
            value = f"make_{name}(item)"
        body += [
            f"item = get({name!r})",
            f"made.{name} = default_{name} if item is None else {value}",
        ]
    return _compiled(kind, "value, /, **replaced", body, known)


def dataclass_changer(kind: type[_T]) -> Callable[..., _T]:
    """Works like dataclasses.replace(), but many times faster."""
    body = [f"made.{name} = one.{name}" for name in _field_types(kind)]
    return _compiled(kind, "one, /, **replaced", body, {})


def quickly_made(kind: type[_T]) -> type[_T]:
    """A decorator of a frozen dataclass with slots and without default factories, of which a file
    has many objects: its constructor sets all fields by few calls."""
    names = tuple(_field_types(kind))
    defaults = _defaults(kind)
    parameters = [f"{name}=default_{name}" if name in defaults else name for name in names]
    lines = [
        f"def __init__(self, {', '.join(parameters)}):",
        "set_attribute(self, '__class__', twin)",
        *(f"self.{name} = {name}" for name in names),
        "self.__class__ = kind",
    ]
    known: dict[str, Any] = {"kind": kind, "twin": _twin(kind), "set_attribute": object.__setattr__}
    known |= {f"default_{name}": default for name, default in defaults.items()}
    exec("\n    ".join(lines), known)
    type.__setattr__(kind, "__init__", known["__init__"])
    return kind


def _field_types(kind: type[Any]) -> dict[str, str]:
    return {one.name: str(one.type) for one in fields(kind)}


def _defaults(kind: type[Any]) -> dict[str, object]:
    return {one.name: one.default for one in fields(kind) if one.default is not MISSING}


def _twin(kind: type[Any]) -> type[Any]:
    return type(kind.__name__, (), {"__slots__": tuple(_field_types(kind))})


def _compiled(
    kind: type[_T], parameters: str, body: Sequence[str], known: Mapping[str, Any]
) -> Callable[..., _T]:
    """The function whose body sets the fields of `made`; `known` are its global names."""
    lines = [
        "made = twin()",
        *body,
        "for name, item in replaced.items():",
        "    setattr(made, name, item)",
        "made.__class__ = kind",
        "return made",
    ]
    names: dict[str, Any] = {"kind": kind, "twin": _twin(kind), "intern": intern, **known}
    exec("\n    ".join([f"def made_of({parameters}):", *lines]), names)
    made_of: Callable[..., _T] = names["made_of"]
    return made_of
