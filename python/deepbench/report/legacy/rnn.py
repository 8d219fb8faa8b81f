"""The output of `rnn_bench`. A call that computes both gradients appears in the column of the input
gradient."""

from __future__ import annotations

from deepbench.report.legacy.text import (
    PhaseCollector,
    Phases,
    attributes,
    banner,
    microseconds,
    row_of_any_phase,
    time_text,
)
from deepbench.results.row import Row

_HEADER = "    type    hidden   N     timesteps   precision   fwd_time (usec)   "
_TRAINING = "bwd_inputs_time (usec)  bwd_params_time (usec)"
_WIDTHS = {"cell": 8, "hidden": 8, "batch": 8, "timesteps": 8, "precision": 14}


class Rnn:
    """Recurrent layers."""

    def __init__(self, inference: bool, precision: str) -> None:
        del precision  # does not affect the columns
        self._inference = inference
        self._collector = PhaseCollector()

    def head(self) -> str:
        columns = "" if self._inference else _TRAINING
        return f"{banner(self._inference)}{'-' * 115}\n{_HEADER}{columns}\n"

    def row(self, row: Row) -> str:
        return "".join(map(self._phases_line, self._collector.add(row)))

    def end(self) -> str:
        return "".join(map(self._phases_line, self._collector.flush()))

    def _phases_line(self, phases: Phases) -> str:
        values = attributes(row_of_any_phase(phases))
        cells = [f"{values.get(name, 0):>{width}}" for name, width in _WIDTHS.items()]
        cells.append(f"{time_text(microseconds(phases.get('fwd'))):>18}")
        if not self._inference:
            inputs = phases.get("bwd_data") or phases.get("bwd")
            for row in (inputs, phases.get("bwd_weights")):
                cells.append(f"{time_text(microseconds(row)):>20}")
        return "".join(cells) + "\n"
