"""deepbench workload: lists models, and times the kernels of one as a suite with counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepbench import _core
from deepbench.cli.command import Command, CommandLine, Option
from deepbench.cli.list_command import Cell, print_table
from deepbench.cli.options import OPTIONS, PRICE, run_options
from deepbench.errors import UsageError
from deepbench.problems.problem_arguments import ALL, precisions
from deepbench.references.lookup import require_distinct_output
from deepbench.results.output_names import require_result_name
from deepbench.workload import model_file
from deepbench.workload.expansion import Target, default_values, expand
from deepbench.workload.model_file import Model, Parameter
from deepbench.workload.passes import Item, Pass
from deepbench.workload.request import Request, parse_request
from deepbench.workload.source import workload_selection

if TYPE_CHECKING:
    from deepbench.runner.run_options import RunOptions

_LIST = Option("--list", "print the calls with their counts instead of running them")
_CHAIN = Option("--chain", "also time all kernels in order as one call, beside their sum")
_OPTIONS = [_LIST, _CHAIN, *(option for option in OPTIONS if option.flag != "--corrected")]
_USAGE = """\
usage: deepbench workload
       deepbench workload NAME [PRECISION] [KEY=VALUE ...] [options]
       deepbench workload FILE.toml [PRECISION] [KEY=VALUE ...] [options]

Times the kernels of a model and adds them up. Without NAME, lists the models.

  deepbench workload resnet50 batch=16             a forward pass
  deepbench workload resnet50 phase=train --list   the calls of a training step
  deepbench workload resnet50 half --chain         also all kernels as one call
  deepbench workload llama3_8b phase=decode kv=4096 batch=1..64 bfloat16
                                                   latency against throughput

KEY is phase, or a parameter of the model: batch, seq (tokens of a sequence), kv
(tokens in the cache), image (its width and height), tp (devices that share each
layer). batch=1..64 runs every doubling, batch=1,4,16 these.
"""
_MODELS_NOTE = (
    "GFLOP are those of the first phase with these parameters, per image, sequence and so on; "
    "'deepbench workload NAME --list' prints the calls"
)


def main(line: CommandLine) -> int:
    if not line.words:
        _refuse_options_of_runs(line, "without a name")
        print_table(line, *_models_table(), [_MODELS_NOTE])
        return 0
    request = parse_request(line.words)
    if line.has(_LIST.flag):
        _refuse_options_of_runs(line, "with --list")
        return _list_calls(line, request)
    return _run(line, request)


def _run(line: CommandLine, request: Request) -> int:
    # A list, which should appear at once, needs none of these modules.
    from deepbench.runner.launcher import launch_environment
    from deepbench.runner.run import Run

    options = run_options(line)
    command = ["workload", *line.arguments]
    require_result_name(line.get("--output"), command, line.has("--resume"))
    require_distinct_output(line.get("--output"), line.words[:1])
    launch = launch_environment()
    ranks = options.processes or (launch.size if launch else None)
    _require_rank_for_each_device(request, ranks)
    if line.has(_CHAIN.flag):
        _require_chain(line, request, options, ranks)
    price, has_chain = line.real(PRICE.flag), line.has(_CHAIN.flag)
    selection = workload_selection(request, ranks is not None, price, has_chain)
    return Run(selection, options, command).run()


def _require_chain(
    line: CommandLine, request: Request, options: RunOptions, ranks: int | None
) -> None:
    """Raises UsageError where the calls of a pass cannot be timed as one."""
    refused = {
        "phase=train: a model file states no order of the calls of a training step": (
            request.phase == "train"
        ),
        "--cache: the calls of a chain share the caches": line.has("--cache"),
        "--algorithm: a chain has the default algorithms": (
            options.rows.get("algorithm", "default") != "default"
        ),
        "--once: a chain is measured by samples": options.once,
        "--soak: a chain is measured by samples": "soak" in options.rows,
        "several ranks: a chain belongs to one process": ranks is not None,
    }
    for reason, applies in refused.items():
        if applies:
            raise UsageError(f"--chain cannot be combined with {reason}")


def _require_rank_for_each_device(request: Request, ranks: int | None) -> None:
    """Raises UsageError if a layer is divided among another number of devices than there are
    ranks."""
    for values in request.values:
        if ranks is not None and values.get("tp", 1) not in (1, ranks):
            tp = values["tp"]
            raise UsageError(
                f"tp={tp} with {ranks} ranks: the devices of a layer are its ranks; give tp=1, or "
                f"tp={ranks} if the model has it"
            )


def _refuse_options_of_runs(line: CommandLine, when: str) -> None:
    """Raises UsageError for an option that applies only to a run."""
    others = [name for name in line.values if name not in (_LIST.flag, "--format")]
    if others:
        raise UsageError(f"{others[0]} is for a run; {when}, nothing runs")
    if (name := line.get("--format")) not in (None, "table", "csv", "json"):
        raise UsageError(f"--format {name} is for a run; a list is printed as table, csv or json")


# ---- lists --------------------------------------------------------------------------------------


def _models_table() -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
    titles = ("workload", "title", "phases", "parameters", "GFLOP", "per")
    return titles, [_model_cells(model_file.builtin(name)) for name in model_file.available()]


def _model_cells(model: Model) -> tuple[Cell, ...]:
    phase = model.phases[0]
    found = expand(model, phase, default_values(model, phase), Target(_core.Problem.parse))
    parameters = " ".join(map(_parameter_text, model.parameters.values()))
    gflops = round(found.flops / found.batch / 1e9, 4)
    return (
        model.name, model.title, " ".join(model.phases), parameters, gflops, model.one_unit(phase)
    )  # fmt: skip


def _parameter_text(parameter: Parameter) -> str:
    return f"{parameter.name}={parameter.default}"


def _list_calls(line: CommandLine, request: Request) -> int:
    """Prints the calls of every pass and, in a table, their totals."""
    target = Target(_core.Problem.parse, request.precision)
    passes = [expand(request.model, request.phase, one, target) for one in request.values]
    several = len(passes) > 1
    titles = (*(("batch",) if several else ()), "layer", "kind", "problem", "count", "GFLOP", "MB")
    rows = [
        ((one.batch,) if several else ()) + _call_cells(item)
        for one in passes
        for item in one.items
    ]
    notes = [_sum_note(request, one) for one in passes]
    if request.model.unverified:
        notes.append(f"unverified: {request.model.unverified}")
    print_table(line, titles, rows, notes)
    return 0


def _call_cells(item: Item) -> tuple[Cell, ...]:
    """The cells of a call. GFLOP and MB are those of all its calls."""
    return (
        item.layer,
        item.kind,
        item.problem or f"not measured: {item.op}",
        item.count,
        round(item.count * item.flops / 1e9, 6),
        round(item.count * item.bytes / 1e6, 6),
    )


def _sum_note(request: Request, one: Pass) -> str:
    calls = sum(item.count for item in one.items)
    measured = sum(item.count for item in one.measured)
    return (
        f"batch={one.batch}: {calls:,} calls, {measured:,} of them measured with "
        f"{_part_of(one.measured_flops, one.flops)} GFLOP and "
        f"{_part_of(one.measured_bytes, one.bytes)} GB; "
        f"{one.flops / one.batch / 1e9:.4g} GFLOP per "
        f"{request.model.one_unit(request.phase)}"
    )


def _part_of(part: float, whole: float) -> str:
    """'0.35 of 0.42', in billions; a whole is stated once."""
    of_whole = f" of {whole / 1e9:.4g}" if part < whole else ""
    return f"{part / 1e9:.4g}{of_whole}"


def _completions() -> list[str]:
    names = model_file.available()
    phases = [f"phase={phase}" for phase in model_file.PHASES]
    return [*names, *phases, *(f"{name}=" for name in model_file.PARAMETERS), *precisions(ALL)]


command = Command("workload", _OPTIONS, main, _USAGE, _completions)
