"""The tables of supported precisions, from the files that benchmarks/support.py has written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from page_parts import ROOT, markdown_table, wrapped

from deepbench import _core

TITLES = {"cpu": "CPU", "cuda": "NVIDIA GPUs"}
# A reason that another processor may not give.
OF_PROCESSOR = re.compile(r"for this processor|the processor has no")
MARK = "¹"
Support = dict[str, Any]
Cell = Mapping[str, Any]
Form = dict[str, str]


@cache
def support(backend: str) -> Support:
    path = ROOT / "results" / "support" / f"{backend}.json"
    return dict(json.loads(path.read_text(encoding="utf-8")))


def compact_table() -> str:
    """The precisions in which some library runs an operation, for README.md. Operations whose
    cells are equal share a row."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for operation in _core.operations():
        cells = tuple(compact_cell(backend, operation.name) for backend in TITLES)
        groups.setdefault(cells, []).append(f"`{operation.name}`")
    rows = [[", ".join(names), *cells] for cells, names in groups.items()]
    isa = support("cpu")["device"].get("isa")
    text = (
        f"Verified precisions; {MARK} was declined for the CPU of the run ({isa}). [Libraries and "
        "precisions](docs/reference/support.md) has each library's."
    )
    return "\n".join(
        [wrapped(text), "", *markdown_table(["operation", *TITLES.values()], rows), ""]
    )


def compact_cell(backend: str, operation: str) -> str:
    """The verified precisions, and those declined for the processor, with the mark. An operation
    without precisions says only that it runs."""
    cells = [cell for cell in support(backend)["cells"] if cell["operation"] == operation]
    runs = [cell["precision"] for cell in cells if cell["ok"]]
    declined = [cell["precision"] for cell in cells if declined_forms(cell)]
    if runs == [""]:
        return "yes"
    return (
        ", ".join(
            f"`{name}`{'' if name in runs else MARK}"
            for name in precisions_of(operation)
            if name in runs or name in declined
        )
        or "no"
    )


def precisions_of(operation: str) -> Sequence[str]:
    known = next(one for one in _core.operations() if one.name == operation)
    return next((one.choices for one in known.parameters if one.name == "precision"), [""])


def declined_forms(cell: Cell) -> list[str]:
    return [
        form
        for reason, forms in cell["not_ok"].items()
        if OF_PROCESSOR.search(reason)
        for form in forms
    ]


def full_table(backend: str) -> str:
    """The machine, and the forms that each library runs, then those that it declined for the
    processor. Operations whose cells are equal share a row."""
    by_library: dict[tuple[str, str], list[Cell]] = {}
    for cell in support(backend)["cells"]:
        by_library.setdefault((cell["operation"], cell["library"]), []).append(cell)
    groups: dict[tuple[str, ...], list[str]] = {}
    for (operation, library), cells in by_library.items():
        groups.setdefault((f"`{library}`", *full_cells(cells)), []).append(f"`{operation}`")
    rows = [[", ".join(names), *cells] for cells, names in groups.items()]
    heading = ["operation", "library", "runs and is verified", "declined for this processor"]
    if not any(row[-1] for row in rows):
        heading, rows = heading[:-1], [row[:-1] for row in rows]
    table = "\n".join(markdown_table(heading, rows))
    return f"{wrapped(machine_text(support(backend)))}\n\n{table}\n"


def full_cells(cells: Sequence[Cell]) -> list[str]:
    """The precisions that run and those declined for the processor, with the forms if not all."""
    texts = []
    for chosen_of in (lambda cell: cell["ok"], declined_forms):
        by_condition: dict[str, list[str]] = {}
        for cell in cells:
            if chosen := chosen_of(cell):
                every = [
                    *cell["ok"],
                    *(form for forms in cell["not_ok"].values() for form in forms),
                ]
                by_condition.setdefault(condition(chosen, every), []).append(cell["precision"])
        texts.append("; ".join(map(condition_text, by_condition, by_condition.values())))
    return texts


def condition_text(condition: str, precisions: Iterable[str]) -> str:
    names = ", ".join(f"`{name}`" for name in precisions if name)
    return f"{names} ({condition})" if names and condition else names or condition or "yes"


def condition(chosen: Iterable[str], every: Iterable[str]) -> str:
    """What tells the chosen forms from the others; empty if all are chosen."""
    forms = [[dict(word.split("=") for word in form.split()) for form in some]
             for some in (chosen, every)]  # fmt: skip
    return condition_on(list(forms[1][0]), *forms)


def condition_on(attributes: Sequence[str], chosen: Sequence[Form], every: Sequence[Form]) -> str:
    values = {name: list(dict.fromkeys(form[name] for form in chosen)) for name in attributes}
    matching = [form for form in every if all(form[name] in values[name] for name in attributes)]
    if len(matching) == len(chosen):
        return ", ".join(
            f"{name} {' '.join(values[name])}"
            for name in attributes
            if set(values[name]) != {form[name] for form in every}
        )
    first, *rest = (
        attributes  # no single choice for each attribute: one for each value of the first
    )
    by_text: dict[str, list[str]] = {}
    for value in values[first]:
        of_value = [[form for form in some if form[first] == value] for some in (chosen, every)]
        by_text.setdefault(condition_on(rest, *of_value), []).append(value)
    return " or ".join(
        f"{first} {' '.join(group)}" + (f" with {text}" if text else "")
        for text, group in by_text.items()
    )


def machine_text(file: Support) -> str:
    device = file["device"]
    facts = [device["name"], *(f"{key.replace('_', ' ')} {fact}" for key, fact in device.items()
                               if key != "name")]  # fmt: skip
    used = {cell["library"] for cell in file["cells"]}
    versions = [f"{name} {text}" for name, text in file["libraries"].items() if name in used]
    text = f"Recorded on {file['measured']} on one {', '.join(facts)}, with {', '.join(versions)}."
    if file["ranks"] > 1:
        text += f" Collectives ran on {file['ranks']} ranks."
    return text
