"""Objects of frozen dataclasses that compiled functions make and change."""

import dataclasses
from collections.abc import Mapping

import pytest

from deepbench.results.makers import dataclass_changer, dataclass_maker, quickly_made


@dataclasses.dataclass(frozen=True, slots=True)
class Inner:
    size: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Outer:
    name: str
    value: float | None = None
    word: str | None = None
    times: tuple[float, ...] = ()
    inner: Inner = Inner()
    facts: Mapping[str, int] = dataclasses.field(default_factory=dict)


make_outer = dataclass_maker(
    Outer, ("",), {"times": tuple, "inner": dataclass_maker(Inner), "facts": dict}
)


def test_an_object_has_the_members_of_a_json_object() -> None:
    made = make_outer(
        {"name": "a", "value": 1.5, "times": [1.0, 2.0], "inner": {"size": 3}, "facts": {"b": 1}}
    )
    assert made == Outer("a", 1.5, None, (1.0, 2.0), Inner(3), {"b": 1})
    assert type(made) is Outer


@pytest.mark.parametrize("members", [{"name": "a"}, dict.fromkeys(("value", "times", "inner"))])
def test_absent_and_null_members_have_their_defaults(members: dict[str, object]) -> None:
    assert make_outer({**members, "name": "a"}) == Outer("a")


def test_unknown_members_are_left_out_and_named_ones_replaced() -> None:
    made = make_outer({"name": "a", "unknown": 1, "value": 2.0}, name="b", facts={"c": 2})
    assert made == Outer("b", 2.0, facts={"c": 2})


def test_equal_texts_are_shared() -> None:
    texts = [make_outer({"name": "a", "word": "".join(["re", "peated"])}).word for _ in range(2)]
    assert texts[0] is texts[1]


def test_a_made_object_stays_frozen() -> None:
    for made in (make_outer({"name": "a"}), dataclass_changer(Outer)(Outer("a"), name="b")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            made.name = "c"  # type: ignore[misc]
        assert not hasattr(made, "__dict__")


def test_a_change_is_that_of_dataclasses_replace() -> None:
    one = Outer("a", 1.0, "b", (1.0,), Inner(3), {"c": 1})
    changed = dataclass_changer(Outer)(one, value=2.0, inner=Inner())
    assert changed == dataclasses.replace(one, value=2.0, inner=Inner())
    assert one.value == 1.0


@quickly_made
@dataclasses.dataclass(frozen=True, slots=True)
class Quick:
    name: str
    value: float | None = None
    times: tuple[float, ...] = ()

    @property
    def first_ns(self) -> float:
        return self.times[0]


def test_a_quick_constructor_takes_what_that_of_the_dataclass_takes() -> None:
    made = Quick("a", times=(1.0, 2.0))
    assert dataclasses.astuple(made) == ("a", None, (1.0, 2.0))
    assert (type(made), made.first_ns) == (Quick, 1.0)
    assert made == dataclasses.replace(Quick("b", 2.0, (1.0, 2.0)), name="a", value=None)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'name'"):
        Quick()  # type: ignore[call-arg]


def test_a_quickly_made_object_is_frozen() -> None:
    made = Quick("a")
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.name = "c"  # type: ignore[misc]
    assert (made.name, hash(made)) == ("a", hash(Quick("a")))
    assert not hasattr(made, "__dict__")
