"""The context of a result file, and the line that summarizes it when a run starts."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from deepbench.json_types import JsonObject
from deepbench.problems.selection import Selection
from deepbench.report.fields import threads_text
from deepbench.results import schema
from deepbench.runner.environment import host_context, host_warnings, timestamp
from deepbench.runner.plan import PlannedRow, digest, make_parser
from deepbench.runner.progress import rough_duration_text
from deepbench.runner.provenance import build_facts, compile_caches, with_build_ids
from deepbench.runner.run_options import RunOptions

_LONG_S = 100.0  # a longer run gets the advice to use --quick
_MOST_NAMED = 3
_NONE: Mapping[str, str] = {}
_NOT_RECORDED = {"type", "warnings", "planning"}  # of the hello message


def build_context(
    hello: JsonObject,
    selection: Selection,
    options: RunOptions,
    rows: Sequence[PlannedRow],
    command: Sequence[str],
    variables: Mapping[str, str] = os.environ,
) -> dict[str, Any]:
    """The first line of a result file: the worker's hello message plus what the parent knows.
    `variables` are the worker's environment."""
    host = host_context(variables)
    kept = {key: value for key, value in hello.items() if key not in _NOT_RECORDED}
    return {
        "type": "context",
        "schema": schema.VERSION,
        "command": list(command),
        "started": timestamp(),
        "set": selection.set,
        "rows": len(rows),
        "plan": digest(rows),
        **selection.facts(make_parser(hello, selection.set), hello),
        **kept,
        "build": build_facts(hello.get("backend") or {}),
        "libraries": with_build_ids(hello.get("libraries")),
        "compile_caches": compile_caches(variables),
        "host": host,
        "options": options.recorded(),
        "option_values": options.values(),
        "warnings": [*(hello.get("warnings") or ()), *host_warnings(host)],
    }


def opening_line_of_run(
    context: JsonObject,
    selection: Selection,
    options: RunOptions,
    rows: Sequence[PlannedRow],
    remaining_s: float,
    default_libraries: Mapping[str, str],
) -> str:
    """One line that names the problems, the device and the expected duration. `default_libraries`
    are the backend's, by operation."""
    count = "1 row" if len(rows) == 1 else f"{len(rows)} rows"
    device = device_text(context, options, rows, default_libraries=default_libraries)
    text = f"deepbench: {_run_title(selection, rows)} on {device}: {count}"
    if len(rows) > 1:
        text += f", about {rough_duration_text(remaining_s)}"
    if advises_quick(selection, options, remaining_s):
        text += "; try --quick"
    return text


def advises_quick(selection: Selection, options: RunOptions, remaining_s: float) -> bool:
    """Whether a run is long and --quick would shorten it."""
    return selection.many and not options.quick and remaining_s > _LONG_S


def skipped_text(rows: Sequence[PlannedRow]) -> str:
    """Names the rows that --quick skips."""
    problems = list(dict.fromkeys(row.problem for row in rows))
    named = "; ".join(problems[:_MOST_NAMED])
    if len(problems) > _MOST_NAMED:
        named += f"; and {len(problems) - _MOST_NAMED} more"
    count = "1 row" if len(rows) == 1 else f"{len(rows)} rows"
    return f"--quick skips {count} whose calls are expected to take more than 1 s: {named}"


def device_text(
    context: JsonObject,
    options: RunOptions | None = None,
    rows: Sequence[PlannedRow] = (),
    used: Collection[str] = (),
    default_libraries: Mapping[str, str] = _NONE,
) -> str:
    """'AMD EPYC (cpu, onednn 3.2.0, 2 threads)'. `used` lists the libraries that ran the rows, if
    they are known."""
    device = (context.get("device") or {}).get("name") or "an unnamed device"
    facts = [(context.get("backend") or {}).get("name") or "unknown backend"]
    library = _joined_names_if_few(used) or _library_text(
        context, options, {row.op for row in rows}, default_libraries
    )
    if library:
        facts.append(library)
    if (context.get("backend") or {}).get("simulated_time"):
        facts.append("simulated time")
    ranks = (context.get("ranks") or {}).get("count")
    if ranks:
        facts.append(f"{ranks} ranks")
    if context.get("threads"):
        facts.append(threads_text(context["threads"]))
    return f"{device} ({', '.join(facts)})"


def _run_title(selection: Selection, rows: Sequence[PlannedRow]) -> str:
    precisions = {row.attributes.get("precision") for row in rows} - {None}
    if len(rows) == 1:
        return rows[0].problem
    return selection.title + (f" {precisions.pop()}" if len(precisions) == 1 else "")


def _joined_names_if_few(libraries: Collection[str]) -> str | None:
    return ", ".join(sorted(libraries)) if 0 < len(libraries) <= _MOST_NAMED else None


def _library_text(
    context: JsonObject,
    options: RunOptions | None,
    ops: Collection[str],
    default_libraries: Mapping[str, str],
) -> str | None:
    """The library that --library names, or else the CUDA version, or else the default library that
    all operations share. For a backend that states no default libraries, the first usable
    library."""
    libraries = context.get("libraries") or {}
    wanted = options.rows.get("library") if options else None
    cuda = (libraries.get("cudart") or {}).get("version")
    if cuda and wanted is None:  # on CUDA, each operation has another library
        return f"CUDA {cuda}"
    if wanted is None and default_libraries:
        of_ops = {default_libraries.get(op) for op in ops}
        wanted = of_ops.pop() if len(of_ops) == 1 else None
        if wanted not in libraries:
            return None
    for name, facts in libraries.items():
        if facts.get("version") and wanted in (None, name):
            return f"{name} {facts['version']}"
    return wanted
