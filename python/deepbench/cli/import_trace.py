"""Makes a suite of a trace or log and, of its times, a result file."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from deepbench.errors import UsageError, counted, in_quotes
from deepbench.problems.suite_reader import MAX_BYTES
from deepbench.results import ResultWriter, atomic_write
from deepbench.results.output_names import conversion_command
from deepbench.traces import Recording, read_trace, suite_text, time_file

_REPLACES = "--overwrite replaces it"


def import_trace(
    source: Path, output: str, times: str | None, overwrite: bool
) -> tuple[Sequence[str], str]:
    """Writes the suite and, if asked for, the result file. Returns remarks and a summary, each a
    line."""
    _require_names(source, output, times)
    atomic_write.require_writable(Path(output), overwrite)
    recording = read_trace(source)
    suite = suite_text(recording, source.name).encode("utf-8")
    if len(suite) > MAX_BYTES:
        raise UsageError(
            f"{source}: its problems make more than {MAX_BYTES >> 20} MiB, the limit for suites"
        )
    if times is None:
        atomic_write.write(Path(output), suite, overwrite)
    else:
        _write_both(recording, source, suite, Path(output), Path(times), overwrite)
    return remarks_of(recording), summary_of(recording, source)


def _require_names(source: Path, output: str, times: str | None) -> None:
    """Raises UsageError for names of outputs that would mislead."""
    if output.lower().endswith(".jsonl"):
        suite = shlex.quote(output[: -len(".jsonl")] + ".txt")
        raise UsageError(
            f"-o {in_quotes(output)}: a trace becomes a suite; write deepbench import "
            f"{shlex.quote(str(source))} -o {suite} --times {shlex.quote(output)}"
        )
    if times is None:
        return
    rows = str(Path(times).with_suffix(".jsonl"))
    if conversion_command(rows, times) is not None:
        raise UsageError(f"--times {in_quotes(times)}: rows are kept as JSON lines; name {rows}")
    if Path(output).resolve() == Path(times).resolve():
        raise UsageError(f"-o and --times both name {in_quotes(times)}; name two files")


def _write_both(
    recording: Recording, source: Path, suite: bytes, output: Path, times: Path, overwrite: bool
) -> None:
    context, rows = time_file(recording, source.name)
    if not rows:
        raise UsageError(f"--times: {recording.source} has no times of its problems")
    writer = ResultWriter.create(times, overwrite=overwrite, cure=_REPLACES)
    try:
        atomic_write.write(output, suite, overwrite)
        writer.replace(context, (row.line for row in rows))
    finally:
        writer.close()


def remarks_of(recording: Recording) -> list[str]:
    """A line for each kind of call that was not read."""
    return [
        f"not read: {one.name}: {_share(one.calls, one.sum_ns, recording)}"
        + (f": {one.reason}" if one.reason else "")
        for one in recording.left_out
    ]


def summary_of(recording: Recording, source: Path) -> str:
    """The line that states what was read."""
    problems = counted(len(recording.problems), "problem")
    device = f" on {recording.device}" if recording.device else ""
    share = _share(recording.read_calls, recording.read_ns, recording)
    return f"{source.name}: {recording.source}{device}: {problems}, {share}"


def _share(calls: int, time_ns: float, recording: Recording) -> str:
    """The calls, and their share of the time, or of the calls if there are no times."""
    known = counted(calls, "call")
    if recording.total_ns > 0:
        part = 100 * time_ns / recording.total_ns
        return f"{known}, {part:.1f} % of the time ({time_ns / 1e6:.3g} ms)"
    return f"{known}, {100 * calls / max(1, recording.calls):.1f} % of the calls"
