"""The options of commands that run rows, and the checks of their values."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from deepbench.cli.backend_names import (
    backend_by_name_or_synonym,
    backend_choices,
    is_backend,
    library_names,
)
from deepbench.cli.command import CommandLine, Option
from deepbench.cli.option_types import (
    FILE,
    CandidateOrFile,
    FileName,
    FormatChoice,
    TextWithCandidates,
)
from deepbench.errors import UsageError, in_quotes
from deepbench.problems.problem_arguments import quoted
from deepbench.problems.ranges import whole_number, without_byte_unit
from deepbench.references.lookup import require_distinct_output
from deepbench.report import FORMATS
from deepbench.runner.run_options import SINGLE_PROCESS_LIBRARIES, RunOptions

_MOST_RANKS = 1024
_MOST_VISITS = 9
_MOST_SOAK_CALLS = 10**9
_MOST_VERIFY_SEED = 2**48 - 1  # the largest that is drawn
_NONE: Mapping[str, str] = {}
_SECONDS = click.FloatRange(0, 1e9, min_open=True)

# Options of the command line that become options of rows (docs/reference/rows.md), each with its
# key and the value that a switch stands for.
_ROW_OPTIONS: tuple[tuple[Option, str, str], ...] = (
    (Option("--device", "which device of the backend, from 0", "N"), "device", ""),
    (
        Option("--library", "which library ('env' lists them)", "NAME",
               TextWithCandidates(library_names)),
        "library",
        "",
    ),
    (
        Option("--algorithm", "default, best, exhaustive, or a candidate's id", "WORD",
               TextWithCandidates(("default", "best", "exhaustive"))),
        "algorithm",
        "",
    ),
    (Option("--samples", "take exactly N samples", "N", click.IntRange(1)), "samples", ""),
    (
        Option("--soak", "make N calls without pause, in at most 60 s, and show their course", "N",
               click.IntRange(1, _MOST_SOAK_CALLS)),
        "soak",
        "",
    ),
    (
        Option("--visits", "measure every row N times, each time in another process", "N",
               click.IntRange(1, _MOST_VISITS)),
        "visits",
        "",
    ),
    (
        Option("--time-limit", "seconds that measuring a row may take", "S", _SECONDS),
        "time_limit",
        "",
    ),
    (Option("--no-verify", "do not verify outputs"), "verify", "no"),
    (
        Option("--verify-seed", "verify the same places as a row with verification.seed N", "N",
               click.IntRange(1, _MOST_VERIFY_SEED)),
        "verify_seed",
        "",
    ),
    (Option("--no-ceilings", "do not measure ceilings"), "ceilings", "no"),
    (Option("--no-pad", "do not pad dimensions"), "pad", "no"),
    (Option("--threads", "number of host threads", "N", click.IntRange(1)), "threads", ""),
    (Option("--seed", "seed of the inputs", "N"), "seed", ""),
    (
        Option("--inputs", "uniform (default), zeros or ones", "WORD",
               click.Choice(("uniform", "zeros", "ones"))),
        "inputs",
        "",
    ),
    (
        Option("--constant", "operands that are constant in the application: a,b", "NAMES"),
        "constant",
        "",
    ),
    (
        Option("--cores", "cores of each rank: share (default) or all", "WORD",
               click.Choice(("share", "all"))),
        "cores",
        "",
    ),
    (
        Option("--workspace", "limit of the library's workspace, as in 32M", "BYTES"),
        "workspace",
        "",
    ),
    (Option("--energy", "also measure energy; refused if the device cannot"), "energy", "yes"),
    (
        Option("--once", "make one call between markers, for simulators and profilers"),
        "once",
        "yes",
    ),
)  # fmt: skip

_CACHE = Option("--cache", "hot (default), cold or both", "WORD",
                click.Choice(("hot", "cold", "both")))  # fmt: skip
_POWER = Option("--power", "rested (default), sustained or both", "WORD",
                click.Choice(("rested", "sustained", "both")))  # fmt: skip
_RANKS = Option("--ranks", "start N ranks on this machine", "N", click.IntRange(2, _MOST_RANKS))
_DEVICES = Option("--devices", "one rank on each of N devices, or on those of a list: 0,2", "N")
_QUICK = Option("--quick", "every tenth problem, at least one per application; 2 s per row")
_CORRECTED = Option("--corrected", "correct the misprints of the original sets")
BACKEND = Option("--backend", "auto (default), a name ('env' lists them) or a plugin's path",
                  "NAME", CandidateOrFile(backend_choices))  # fmt: skip
_OUTPUT = Option(
    "--output", "write every row to this file (JSON lines, NAME.jsonl)", "FILE",
    FileName("rows go to standard output with --format json"), short="-o",
)  # fmt: skip
_RESUME = Option("--resume", "continue the file that -o names")
_RETRY = Option("--retry", "with --resume: measure failed and disturbed rows again")
_OVERWRITE = Option("--overwrite", "replace the file that -o names")
FORMAT = Option("--format", "table (default), legacy, json, csv or markdown", "WORD",
                FormatChoice(FORMATS))  # fmt: skip
AGAINST = Option("--against", "compare with a reference or a result file", "NAME", FILE)
COLUMNS = Option("--columns", "columns of the table, as in m,n,k,time,rate", "LIST")
_NO_HISTORY = Option("--no-history", "do not keep the rows in the history of runs")
PRICE = Option("--price", "price of a device per hour, for the cost of a million calls", "N",
               click.FloatRange(0, 1e9, min_open=True))  # fmt: skip
_HANG = Option("--hang-limit", "seconds after which a worker counts as hung", "S", _SECONDS)
_IN_PROCESS = Option("--in-process", "run rows in this process, for debuggers")

OPTIONS: tuple[Option, ...] = (
    BACKEND, *(option for option, _, _ in _ROW_OPTIONS[:3]), _CACHE, _POWER,
    *(option for option, _, _ in _ROW_OPTIONS[3:]),
    _RANKS, _DEVICES, _QUICK, _CORRECTED, _OUTPUT, _RESUME, _RETRY, _OVERWRITE, FORMAT, COLUMNS,
    AGAINST, PRICE, _NO_HISTORY, _HANG, _IN_PROCESS,
)  # fmt: skip


# The time limit unless --time-limit states another.
_QUICK_LIMIT_S = "2"
_SOAK_LIMIT_S = "60"


def run_options(line: CommandLine, fixed: Mapping[str, str] = _NONE) -> RunOptions:
    """The checked options of a command line. `fixed` are options of rows that the command itself
    sets. Raises UsageError."""
    if line.has("--resume") and line.has("--overwrite"):
        raise UsageError("--resume and --overwrite exclude each other")
    if line.has("--retry") and not line.has("--resume"):
        raise UsageError("--retry needs --resume and -o FILE")
    for flag in ("--resume", "--overwrite"):
        if line.has(flag) and not line.has("--output"):
            raise UsageError(f"{flag} needs -o FILE")
    if line.has("--verify-seed") and line.has("--no-verify"):
        raise UsageError("--verify-seed needs verification: leave out --no-verify")
    if line.has("--once"):
        _require_one_call(line)
    if line.has("--soak"):
        _require_soak_alone(line)
    devices = _devices_option(line)
    cache = line.get("--cache") or "hot"
    power = "sustained" if line.has("--soak") else line.get("--power") or "rested"
    output, against = line.get("--output"), line.get("--against")
    require_distinct_output(output, [] if against is None else [against])
    return RunOptions(
        backend=backend_option(line),
        rows={**_row_options(line), **devices, **fixed},
        caches=("hot", "cold") if cache == "both" else (cache,),
        powers=("rested", "sustained") if power == "both" else (power,),
        quick=line.has("--quick"),
        corrected=line.has("--corrected"),
        output=None if output is None else Path(output),
        resume=line.has("--resume"),
        overwrite=line.has("--overwrite"),
        format=line.get("--format") or "table",
        hang_limit_s=line.real("--hang-limit"),
        in_process=line.has("--in-process"),
        retry=line.has("--retry"),
        against=against,
        columns=column_names(line),
        keeps_history=not line.has("--no-history"),
        price=line.real(PRICE.flag),
        ranks=_ranks_option(line),
        devices=devices["devices"].count(",") + 1 if devices else 0,
    )


def column_names(line: CommandLine) -> tuple[str, ...]:
    """The names that --columns lists."""
    names = [name.strip() for name in (line.get(COLUMNS.flag) or "").split(",")]
    return tuple(name for name in names if name)


def _ranks_option(line: CommandLine) -> int | None:
    number = line.integer("--ranks")
    if number is not None and line.has("--in-process"):
        raise UsageError("--ranks and --in-process exclude each other: ranks are processes")
    return number


def _require_one_call(line: CommandLine) -> None:
    """Raises UsageError for an option that contradicts --once: a single call has no samples, no
    algorithm selection and no load before it."""
    for flag in ("--samples", "--soak", "--visits", "--energy"):
        if line.has(flag):
            raise UsageError(f"--once makes one call: leave out {flag}")
    if line.get("--algorithm") in ("best", "exhaustive"):
        raise UsageError("--once makes one call: name a candidate with --algorithm")
    if (power := line.get("--power")) not in (None, "rested"):
        raise UsageError(f"--once makes one call: leave out --power {power}")


def _require_soak_alone(line: CommandLine) -> None:
    """Raises UsageError for an option that contradicts --soak: its calls follow one another without
    pause in one process, and their number is given."""
    for flag in ("--samples", "--visits"):
        if line.has(flag):
            raise UsageError(f"--soak says how many calls a row makes: leave out {flag}")
    if (power := line.get("--power")) not in (None, "sustained"):
        raise UsageError(f"--soak makes calls without pause: leave out --power {power}")


def _devices_option(line: CommandLine) -> dict[str, str]:
    """The option `devices` of rows. --devices 4 stands for 0,1,2,3."""
    text = line.get("--devices")
    if text is None:
        return {}
    words = text.split(",")
    numbers = [whole_number(word) for word in words]
    if words[1:] and (len(set(words)) < len(words) or None in numbers):
        raise UsageError(f"--devices {text}: must name each device once, as in 0,2")
    if not words[1:] and not 2 <= (numbers[0] or 0) <= _MOST_RANKS:
        raise UsageError(
            f"--devices {text}: must be a number of devices from 2 to {_MOST_RANKS}, or a list "
            "such as 0,2; --device N selects one device"
        )
    for other in ("--device", "--ranks"):
        if line.has(other):
            raise UsageError(f"--devices and {other} exclude each other")
    if line.has("--in-process") and line.get("--library") not in SINGLE_PROCESS_LIBRARIES:
        raise UsageError("--devices and --in-process exclude each other: ranks are processes")
    return {"devices": text if words[1:] else ",".join(map(str, range(int(text))))}


def _row_options(line: CommandLine) -> dict[str, str]:
    from deepbench import _core

    options: dict[str, str] = {"time_limit": _QUICK_LIMIT_S} if line.has("--quick") else {}
    if line.has("--soak"):
        options["time_limit"] = _SOAK_LIMIT_S
    for option, key, switch in _ROW_OPTIONS:
        value = line.get(option.flag)
        if value is None:
            continue
        if key == "workspace":
            value = without_byte_unit(value)
        if key == "device":
            _require_device_number(value)
        options[key] = switch or value
        try:
            _core.check_options(f"{key}={quoted(options[key])}")
        except ValueError as error:
            right = ", as in 33554432, 32M or 32MiB" if key == "workspace" else ""
            raise UsageError(f"{option.flag}: {error}{right}") from None
    return options


def _require_device_number(text: str) -> None:
    """Raises UsageError for a device in the notation of other programs, such as cuda:1."""
    if "," in text:
        raise UsageError(f"--device takes one device; use --devices {text} for several")
    kind, _, number = text.lower().rpartition(":")
    if kind == "" and not number.isdigit() and number.isalpha():
        kind, number = number, "0"
    if kind:
        number = number if number.isdigit() else "0"
        backend = backend_by_name_or_synonym(kind) or "NAME"
        raise UsageError(
            f"--device {in_quotes(text)}: must be a number, from 0; "
            f"--backend selects the kind of device: --backend {backend} --device {number}"
        )


def backend_option(line: CommandLine) -> str:
    """The backend that --backend names. Raises UsageError for a word that stands for another
    backend; the native module rejects other unknown names."""
    name = line.get("--backend") or "auto"
    if name == "auto" or is_backend(name):
        return name
    meant = backend_by_name_or_synonym(name)
    if meant is None:
        return name
    raise UsageError(
        f"--backend {in_quotes(name)}: there is no such backend; write --backend {meant}"
    )
