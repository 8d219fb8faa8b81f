"""The variables of a side, and the refusal of those that a side cannot have."""

from __future__ import annotations

import pytest

from deepbench.ab.variables import parse_variables
from deepbench.errors import UsageError


def test_words_become_variables() -> None:
    words = ("OMP_NUM_THREADS=2", "LD_PRELOAD=", "DEEPBENCH_FAKE_SCRIPT=time 1; model=2")
    assert parse_variables("--a", words) == {
        "OMP_NUM_THREADS": "2",
        "LD_PRELOAD": "",
        "DEEPBENCH_FAKE_SCRIPT": "time 1; model=2",
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("OMP_NUM_THREADS",), "must set a variable, as in --a OMP_NUM_THREADS=2"),
        (("=2",), "must set a variable"),
        (("2X=1",), "must set a variable"),
        (("X=1", "Y=1", "X=2"), "--a X is given twice"),
        (("RANK=1",), "--a RANK: cannot be set: ab measures without ranks"),
        (("OMPI_COMM_WORLD_SIZE=2",), "ab measures without ranks"),
        (("PYTHONPATH=/other",), "one Python runs both sides"),
        (("CUDA_VISIBLE_DEVICES=1",), "one device, which --device names"),
        (("_DEEPBENCH_WORKER=1",), "finds its workers by it"),
    ],
)
def test_other_words_are_refused(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_variables("--a", words)
    assert message in str(caught.value)
