"""deepbench accept on the processor of this machine. Its verdict depends on what else runs here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from command_line import run_command
from deepbench.accept.gaps import WORDS
from deepbench.accept.measurement import device_facts
from deepbench.accept.verdict import Outcome
from deepbench.runner.environment import machine_identity
from example_rows import make_context, make_gemm
from report_files import result_file_text


def test_a_processor_gets_a_verdict(
    cpu: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    device, machine = device_facts("cpu", 0)["device"], machine_identity()
    row = make_gemm(m=64, n=64, k=64, device={"index": 0, "name": device["name"]})
    context = make_context(rows=1, device={**device, "index": 0}, host={"machine": machine})
    file = tmp_path / "mine.jsonl"
    file.write_text(result_file_text([row], context))
    status, out, err = run_command(
        capsys, "accept", "--against", str(file), "--backend", "cpu", "--minutes", "0.05",
        "--without", ",".join(WORDS),
    )  # fmt: skip
    kinds = {line.partition(":")[0] for line in out.splitlines()}
    outcome = "FAIL" if "alarm" in kinds else "INCOMPLETE" if "missing" in kinds else "PASS"
    assert out.startswith(f"{outcome}: "), err
    assert status == Outcome[outcome].value
    assert outcome != "PASS" or re.search(r"^compute .* within$", out, re.MULTILINE)
    assert ("without: energy: there is no counter" in out) == (not device.get("energy"))
    assert ("device 0 is one of those that made the reference" in out) == (machine is not None)
