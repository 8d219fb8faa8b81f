"""The order of the calls of a pass, and the line that asks for them."""

from __future__ import annotations

from collections import Counter

import pytest

from deepbench import _core
from deepbench.workload import model_file
from deepbench.workload.chain import calls_of, chain_of
from deepbench.workload.expansion import Target, default_values, expand
from deepbench.workload.passes import Item, Pass


def item(name: str, count: int = 1, problem: str | None = "") -> Item:
    return Item(name, "kind", "op", "float", count, 1.0, 1.0, name if problem == "" else problem)


def order_of(*items: Item) -> str:
    chain = chain_of(Pass({"batch": 1}, items))
    return " ".join(chain.problems[place] for place in chain.order)


def test_neighbors_that_are_called_several_times_take_turns() -> None:
    assert order_of(item("a"), item("b", 2), item("c", 2), item("d")) == "a b c b c d"


def test_calls_of_other_counts_are_evenly_spaced() -> None:
    assert order_of(item("norm", 4), item("product", 2)) == "norm product norm norm product norm"


def test_a_single_call_separates_blocks() -> None:
    assert order_of(item("a", 2), item("once"), item("b", 2)) == "a a once b b"


def test_what_is_not_measured_is_no_part_of_a_chain() -> None:
    chain = chain_of(Pass({"batch": 1}, (item("a", 2), item("loss", 3, None), item("b"))))
    assert chain.problems == ("a", "b")
    assert chain.order == (0, 0, 1)


def test_the_line_names_each_problem_once() -> None:
    chain = chain_of(Pass({"batch": 1}, (item("a"), item("b"), item("c", problem="a"))))
    assert chain.line("sustained") == "chain 0 1 0 power=sustained visits=1 ; a ; b"


def test_a_chain_may_have_the_measured_problems_alone() -> None:
    chain = chain_of(Pass({"batch": 1}, (item("a"), item("b", 2), item("c", 2))))
    part = chain.of_problems({"a", "c"})
    assert part is not None
    assert (part.problems, part.order) == (("a", "c"), (0, 1, 1))
    assert chain.of_problems(()) is None


@pytest.mark.parametrize("name", model_file.available())
def test_the_chain_of_every_model_has_each_measured_call_as_often_as_the_model(name: str) -> None:
    model = model_file.builtin(name)
    for phase in model.phases:
        values = default_values(model, phase)
        one = expand(model, phase, values, Target(_core.Problem.parse))
        if calls_of(one) > 20_000:
            continue
        chain = chain_of(one)
        made = Counter(chain.problems[place] for place in chain.order)
        wanted: Counter[str] = Counter()
        for call in one.measured:
            wanted[str(call.problem)] += call.count
        assert made == wanted
        assert _core.asks_for_chain(chain.line("rested"))
