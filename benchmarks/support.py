"""Records which operations the libraries of a backend run, in which forms and precisions.

    python benchmarks/support.py BACKEND [-o results/support/BACKEND.json] [OPERATION...]

A form is a small problem with one value of each attribute that has a list of values. Every library
of the backend is asked to run every form in every precision: `ok` is what it has run with outputs
that were verified; for the others the file has the reason. Collectives run on two ranks, for which
a backend of GPUs needs two of them.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from itertools import product
from pathlib import Path
from typing import Any

from command_runs import load, run_to_file

from deepbench import _core
from deepbench.results import Row
from deepbench.results.build import revision_text
from deepbench.runner.inspection import inspect_backend
from deepbench.runner.provenance import build_facts
from deepbench.runner.ranks import worker_command
from deepbench.runner.session import Session
from deepbench.runner.worker_exit import WorkerFailure

# What decides how operands lie in memory or are drawn, but not what is computed.
OF_OPERANDS = {"in_place", "indices", "layout", "split", "trans_a", "trans_b"}
PRECISION = "precision"
Answer = Row | WorkerFailure
# The numbers of an operation's example are cut to the first of these, which is quick. Libraries
# that demand multiples or more elements are asked again with numbers up to the second.
LARGEST = (8, 128)
OPTIONS = {"samples": "1", "time_limit": "0.05"}
LIMIT_S = 20.0
RANKS = 2
DEVICE_FACTS = ("name", "isa", "compute_capability", "driver", "driver_cuda")


@dataclass(frozen=True)
class Form:
    """A form of an operation in a precision."""

    operation: str
    precision: str  # '' of operations without precisions
    values: str  # the other attributes that make the form, as words of a problem

    def lines(self) -> list[str]:
        """Its problems, the smaller one first."""
        return [line for largest in LARGEST if (line := self.line(largest))]

    def line(self, largest: int) -> str:
        """Its problem, or '' where the operation has none of this size."""
        operation = operation_named(self.operation)
        name, *words = operation.example.split()
        # An attribute may be stated only where it means something, but may always have its default.
        defaults = {one.name: one.default for one in operation.parameters}
        given = dict(word.split("=") for word in words)
        cut = {key: str(min(int(text), largest)) if text.isdigit() else text
               for key, text in given.items()}  # fmt: skip
        own = dict(word.split("=") for word in self.values.split())
        stated = {key: text for key, text in {**cut, **own}.items() if text != defaults.get(key)}
        if self.precision:  # its default is the backend's
            stated[PRECISION] = self.precision
        with contextlib.suppress(_core.InvalidProblem):
            return str(_core.Problem.parse(" ".join([name, *map("=".join, stated.items())])))
        return ""


@dataclass
class Cell:
    """What one library answers about an operation in one precision."""

    ok: list[str] = field(default_factory=list)
    not_ok: dict[str, list[str]] = field(default_factory=dict)  # forms by the reason

    def add(self, form: Form, answer: Answer) -> None:
        if is_verified(answer):
            self.ok.append(form.values)
        else:
            self.not_ok.setdefault(reason_of(answer), []).append(form.values)


def operation_named(name: str) -> _core.Operation:
    return next(one for one in _core.operations() if one.name == name)


def is_verified(answer: Answer) -> bool:
    return (
        isinstance(answer, Row) and answer.status == "ok" and answer.verification.status == "passed"
    )


def reason_of(answer: Answer) -> str:
    reason = answer.reason or "its outputs were not verified"
    return reason if answer.status in ("ok", "unsupported") else f"{answer.status}: {reason}"


def forms_of(operation: _core.Operation) -> list[Form]:
    """Every form in every precision that the operation has."""
    lists = {one.name: one.choices for one in operation.parameters
             if one.choices and one.name not in OF_OPERANDS}  # fmt: skip
    precisions = lists.pop(PRECISION, [""])
    forms = [
        Form(operation.name, precision, " ".join(map("=".join, zip(lists, values, strict=True))))
        for precision in precisions
        for values in product(*lists.values())
    ]
    return [form for form in forms if form.lines()]


class Answers:
    """What the libraries answer, by operation, library and precision."""

    def __init__(self, backend: str, libraries: Sequence[str], ranks: Sequence[str]) -> None:
        self.backend = backend
        self.libraries = libraries
        self.ranks = ranks  # the options that start two ranks; none: collectives are not asked for
        self.cells: dict[tuple[str, str, str], Cell] = {}
        self._session = Session(
            worker_command(backend, ["ceilings=no", *map("=".join, OPTIONS.items())]),
            backend=backend,
        )

    def ask(self, operations: Iterable[_core.Operation]) -> None:
        self._session.start()
        collective = []
        for operation in operations:
            forms = forms_of(operation)
            serving = [one for one in self.libraries if self._serves(one, forms[0])]
            if operation.is_collective:
                collective += [(library, form) for library in serving for form in forms]
            else:
                self._ask_worker(forms, serving or [""])
        self._session.close()
        if self.ranks:
            self._ask_ranks(collective)

    def _serves(self, library: str, form: Form) -> bool:
        """Whether the library has to do with the operation, in whatever form. A library that has
        to do with no operation, as a driver, is an invalid choice."""
        answer = self._run(form.lines()[0], library)
        other = f"{library} does not support {form.operation} in this backend"
        return answer.status != "invalid" and not (answer.reason or "").startswith(other)

    def _ask_worker(self, forms: Iterable[Form], libraries: Iterable[str]) -> None:
        """Asks libraries, or '', the one library of an operation that leaves no choice."""
        for library, form in product(libraries, forms):
            for line in form.lines():
                answer = self._run(line, library)
                if is_verified(answer):
                    break
            self._add(form, answer, library)

    def _run(self, line: str, library: str) -> Answer:
        chosen = f" library={library}" if library else ""
        return self._session.run(f"{line} ; position=0{chosen}", 0, LIMIT_S)

    def _ask_ranks(self, asked: Sequence[tuple[str, Form]]) -> None:
        """Runs the command once for each library, since each starts its ranks in its own way."""
        for library in dict.fromkeys(library for library, _ in asked):
            forms = [form for one, form in asked if one == library]
            for form, row in zip(forms, self._run_on_ranks(forms, library), strict=True):
                self._add(form, row, library)

    def _run_on_ranks(self, forms: Sequence[Form], library: str) -> list[Row]:
        with tempfile.TemporaryDirectory() as folder:
            suite, file = Path(folder) / "forms.txt", Path(folder) / "rows.jsonl"
            suite.write_text("".join(f"{form.lines()[0]}\n" for form in forms))
            run_to_file(file, "run", str(suite), "--backend", self.backend, "--library", library,
                        "--no-ceilings", "--visits", "1", "--samples", OPTIONS["samples"],
                        "--time-limit", OPTIONS["time_limit"], *self.ranks)  # fmt: skip
            return load(file).rows

    def _add(self, form: Form, row: Answer, library: str) -> None:
        used = row.library if isinstance(row, Row) else None
        named = library or (used or "").split(" ")[0]
        if named:
            key = (form.operation, named, form.precision)
            self.cells.setdefault(key, Cell()).add(form, row)


def words_for_ranks(hello: Mapping[str, Any]) -> tuple[str, ...]:
    """The options that start two ranks; empty where the ranks have no devices."""
    devices = hello["devices"]
    if devices[0].get("shares_host_memory"):
        return ("--ranks", str(RANKS))
    return ("--devices", str(RANKS)) if len(devices) >= RANKS else ()


def record(backend: str, names: Collection[str]) -> dict[str, Any]:
    """What the file holds, of these operations alone if there are any."""
    path = dict(_core.backends()).get(backend, backend)
    hello = inspect_backend(path)
    if hello.get("reason"):
        raise SystemExit(f"{backend}: {hello['reason']}")
    operations = [one for one in _core.operations() if not names or one.name in names]
    present = {name: facts for name, facts in hello["libraries"].items() if "version" in facts}
    ranks = words_for_ranks(hello)
    answers = Answers(path, list(present), ranks)
    answers.ask(operations)
    return {
        "backend": hello["backend"]["name"],
        "device": {key: hello["devices"][0].get(key) for key in DEVICE_FACTS
                   if hello["devices"][0].get(key) is not None},
        "ranks": RANKS if ranks else 1,
        "measured": str(datetime.now(timezone.utc).date()),
        "version": _core.version,
        "revision": revision_text(build_facts(hello["backend"])),
        "libraries": {name: facts.get("version") for name, facts in present.items()},
        "absent": {name: facts.get("reason") for name, facts in hello["libraries"].items()
                   if name not in present},
        "cells": [
            {"operation": operation, "library": library, "precision": precision,
             "ok": cell.ok, "not_ok": cell.not_ok}
            for (operation, library, precision), cell in answers.cells.items()
        ],
    }  # fmt: skip


def text_of(facts: Mapping[str, Any]) -> str:
    """JSON with a line for each fact and each cell."""
    cells = ",\n".join(f"  {json.dumps(cell)}" for cell in facts["cells"])
    lines = [f' "{name}": {json.dumps(fact)}' for name, fact in facts.items() if name != "cells"]
    return "{\n" + ",\n".join([*lines, f' "cells": [\n{cells}\n ]']) + "\n}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, usage=__doc__.split("\n\n")[1].strip())
    parser.add_argument("backend")
    parser.add_argument("operations", nargs="*")
    parser.add_argument("-o", "--output", type=Path)
    chosen = parser.parse_intermixed_args()
    text = text_of(record(chosen.backend, chosen.operations))
    if chosen.output:
        chosen.output.parent.mkdir(parents=True, exist_ok=True)
        chosen.output.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
