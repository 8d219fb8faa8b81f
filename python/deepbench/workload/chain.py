"""The calls of a pass in the order in which a model makes them, for a run that times them as one.

A model file states how often a layer is called, not between which others. Neighbouring layers that
are called several times take turns, so that the calls of equal blocks alternate as in the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from deepbench.problems.chain import Chain
from deepbench.workload.passes import Item, Pass


def chain_of(one: Pass) -> Chain:
    """The chain of a pass. Calls that no operation measures are not part of it."""
    calls = [item.problem for item in _calls_in_order(one.measured) if item.problem]
    places = {problem: place for place, problem in enumerate(dict.fromkeys(calls))}
    return Chain(one.values, tuple(places), tuple(places[problem] for problem in calls))


def calls_of(one: Pass) -> int:
    """How many calls the chain of a pass has."""
    return sum(item.count for item in one.measured)


def _calls_in_order(items: Sequence[Item]) -> Iterable[Item]:
    for is_repeated, group in groupby(items, lambda item: item.count > 1):
        if is_repeated:
            yield from _taking_turns(list(group))
        else:
            yield from group


def _taking_turns(items: Sequence[Item]) -> list[Item]:
    """All calls of repeated layers. The calls of each layer are evenly spaced, and those of layers
    with equal counts follow one another."""
    placed = [
        ((call + 0.5) / item.count, place, item)
        for place, item in enumerate(items)
        for call in range(item.count)
    ]
    return [item for _, _, item in sorted(placed, key=lambda one: one[:2])]
