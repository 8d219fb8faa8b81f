"""The guide's commands that need NVIDIA devices run: `bash gpu` and `bash gpus` blocks."""

from __future__ import annotations

from pathlib import Path

import pytest

from guide_commands import GUIDE, run_shell, shell_text

pytestmark = [pytest.mark.gpu, pytest.mark.slow]

PAGE_LIMIT_S = 900


def pages_with(needs: str) -> list[Path]:
    return [page for page in GUIDE if shell_text(page, needs)]


@pytest.mark.parametrize("page", pages_with("gpu"), ids=lambda page: page.stem)
def test_commands_for_one_device_run(page: Path, tmp_path: Path) -> None:
    run_commands(page, "gpu", tmp_path)


@pytest.mark.usefixtures("two_devices")
@pytest.mark.parametrize("page", pages_with("gpus"), ids=lambda page: page.stem)
def test_commands_for_two_devices_run(page: Path, tmp_path: Path) -> None:
    run_commands(page, "gpus", tmp_path)


def run_commands(page: Path, needs: str, folder: Path) -> None:
    done = run_shell(shell_text(page, needs), folder, PAGE_LIMIT_S)
    assert done.returncode == 0, f"{page.name}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
