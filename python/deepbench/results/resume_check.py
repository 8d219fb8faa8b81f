"""Decides whether a run may resume an old result file: finds the first relevant difference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deepbench.json_types import JsonObject
from deepbench.results import ResultFile


def first_difference(old: ResultFile, new: JsonObject, problems: Sequence[str]) -> str | None:
    """The first difference that forbids a run of `problems` in context `new` to resume a file."""
    for what, before, now in _compared_properties(old.context, new):
        if before != now:
            return f"{what} was {before or 'not given'}, now it is {now or 'not given'}"
    for row in old.rows:
        position = row.position
        if position >= len(problems):
            return f"the file has a row at position {position}, the run has {len(problems)} rows"
        if row.problem != problems[position]:
            return f"row {position} was '{row.problem}', now it is '{problems[position]}'"
    if old.context.get("plan") != new.get("plan"):
        return "the remaining problems differ, or their applications or counts"
    return None


def _compared_properties(old: JsonObject, new: JsonObject) -> Iterator[tuple[str, object, object]]:
    """Values that a resumed run must share, as (name, old, new), the most informative first."""
    yield "the set", old.get("set"), new.get("set")
    before, now = old["options"], new["options"]
    for key in sorted({*before, *now}):
        yield f"option {key}", before.get(key), now.get(key)
    old_price, new_price = ((of.get("workload") or {}).get("price") for of in (old, new))
    yield "option price", old_price, new_price
    for what in ("backend", "device"):
        yield f"the {what}", (old.get(what) or {}).get("name"), (new.get(what) or {}).get("name")
    before_ranks, now_ranks = (of.get("ranks") or {} for of in (old, new))
    yield "the number of ranks", before_ranks.get("count"), now_ranks.get("count")
    places = zip(_devices_of_ranks(before_ranks), _devices_of_ranks(now_ranks), strict=False)
    for rank, (old_device, new_device) in enumerate(places):
        yield f"the device of rank {rank}", old_device, new_device
    yield "the number of threads", old.get("threads"), new.get("threads")
    libraries = [context.get("libraries") or {} for context in (old, new)]
    for name in sorted({*libraries[0], *libraries[1]}):
        yield f"library {name}", *(side.get(name, {}).get("version") for side in libraries)
    yield "the schema", old.get("schema"), new.get("schema")
    yield "deepbench", old.get("version"), new.get("version")
    yield from _compared_builds(old.get("build") or {}, new.get("build") or {})
    yield "the number of rows", old["rows"], new["rows"]


def _compared_builds(old: JsonObject, new: JsonObject) -> Iterator[tuple[str, object, object]]:
    """The revision, the binaries, which also differ between builds from changed sources, and the
    sources that are compiled during a run."""
    yield "the revision of deepbench", old.get("revision"), new.get("revision")
    before, now = (build.get("binaries") or {} for build in (old, new))
    for name in sorted({*before, *now}):
        old_id, new_id = ((side.get(name) or {}).get("build_id") for side in (before, now))
        yield f"the build of deepbench's {name}", old_id, new_id
    old_digest, new_digest = (
        (build.get("kernel_sources") or {}).get("digest") for build in (old, new)
    )
    yield "the digest of the kernel sources", old_digest, new_digest


def _devices_of_ranks(ranks: JsonObject) -> list[str]:
    """The machine and device of each rank. Statements about a rank over all rows require that it
    keeps its device. The device's index may change between runs; its uuid does not."""
    machines, devices = ranks.get("machines") or (), ranks.get("devices") or ()
    return [
        f"{one.get('name')} {one.get('uuid') or one.get('index')} of {machine}"
        for machine, one in zip(machines, devices, strict=False)
    ]
