"""The words and options of a command line."""

from __future__ import annotations

from contextlib import suppress

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbench.cli import command
from deepbench.cli.command import Option
from deepbench.cli.options import OPTIONS, run_options
from deepbench.errors import UsageError
from deepbench.problems.problem_arguments import (
    operation_name,
    parse_problem_arguments,
    problem_lines,
    quoted,
)

# ---- options ----------------------------------------------------------------------------------

SAMPLES = Option("--samples", "", "N")
OUTPUT = Option("--output", "", "FILE", short="-o")
QUICK = Option("--quick", "")
CACHE = Option("--cache", "", "WORD", click.Choice(("hot", "cold")))
SOME = (SAMPLES, OUTPUT, QUICK, CACHE)


@pytest.mark.parametrize(
    "arguments",
    [
        ["gemm", "--samples", "5", "-o", "x", "--quick", "half"],
        ["--samples=5", "gemm", "-ox", "half", "--quick"],
        ["--quick", "--output=x", "gemm", "half", "--samples", "5"],
    ],
)
def test_any_order_and_spelling(arguments: list[str]) -> None:
    line = command.parse_arguments(arguments, SOME)
    assert line.words == ("gemm", "half")
    assert line.values == {"--samples": "5", "--output": "x", "--quick": ""}


@pytest.mark.parametrize(
    "words", [("--samples", "5"), ("--energy",), ("--algorithm", "best"), ("--power", "sustained")]
)
def test_one_call_is_not_sampled_or_chosen(words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match=f"^--once makes one call: .*{words[0]}"):
        row_options("--once", *words)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sampels", "5"], "no option '--sampels' here .did you mean '--samples'"),
        (["-x"], "no option '-x'"),
        (["--samples"], "--samples needs a value: --samples N"),
        (["--samples", "--quick"], "--samples needs a value"),
        (["--samples="], "--samples needs a value"),
        (["--quick=yes"], "--quick takes no value, not 'yes'"),
        (["--quick", "--quick"], "--quick is given twice"),
        (["-o", "a", "--output", "b"], "--output is given twice"),
        (["--cache", "warm"], "--cache 'warm': must be one of hot cold"),
    ],
)
def test_wrong_options(arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        command.parse_arguments(arguments, SOME)


def test_negative_number_is_a_value_and_dashes_end_options() -> None:
    assert command.parse_arguments(["--samples", "-1"], SOME).get("--samples") == "-1"
    assert command.parse_arguments(["--", "--quick"], SOME).words == ("--quick",)


def row_options(*arguments: str) -> dict[str, str]:
    return run_options(command.parse_arguments(arguments, OPTIONS)).rows


def test_row_options() -> None:
    assert row_options() == {}
    assert row_options("--no-verify", "--time-limit", "2.5", "--once", "--constant=a,b") == {
        "time_limit": "2.5",
        "verify": "no",
        "constant": "a,b",
        "once": "yes",
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--samples", "many"], "--samples 'many': must be a whole number from 1"),
        (["--threads", "-1"], "--threads '-1': must be a whole number from 1"),
        (["--power", "full"], "--power 'full': must be one of rested sustained both"),
        (["--inputs", "ones "], "--inputs 'ones ': must be one of"),
        (["--hang-limit", "soon"], "--hang-limit 'soon': must be a number above 0"),
        (["--hang-limit", "0"], "--hang-limit '0': must be a number above 0"),
        (["--resume"], "--resume needs -o FILE"),
        (["--overwrite"], "--overwrite needs -o FILE"),
        (["-o", "x", "--resume", "--overwrite"], "exclude each other"),
    ],
)
def test_wrong_row_options(arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        row_options(*arguments)


@pytest.mark.parametrize(
    ("word", "powers", "recorded"),
    [
        ("both", ("rested", "sustained"), {"power": "both"}),
        ("sustained", ("sustained",), {"power": "sustained"}),
        ("rested", ("rested",), {}),
    ],
)
def test_power_regimes(word: str, powers: tuple[str, ...], recorded: dict[str, str]) -> None:
    parsed = run_options(command.parse_arguments(["--power", word], OPTIONS))
    assert (parsed.powers, parsed.recorded()) == (powers, recorded)


def test_both_caches() -> None:
    parsed = run_options(command.parse_arguments(["--cache", "both"], OPTIONS))
    assert parsed.caches == ("hot", "cold")
    assert parsed.recorded() == {"cache": "both"}
    assert run_options(command.parse_arguments([], OPTIONS)).recorded() == {}


@given(st.text(min_size=1).filter(lambda text: text.isprintable()))
def test_quoted_text_survives_the_native_parser(text: str) -> None:
    from deepbench import _core

    problem = _core.Problem.parse(f"gemm m=1 n=1 k=1 application={quoted(text)}")
    assert problem.metadata == {"application": text}


# ---- words ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "set_name", "precision"),
    [
        (["train", "half"], "training", "half"),
        (["half", "train"], "training", "half"),
        (["inference", "int8"], "inference_server", "int8"),
        (["inference-server"], "inference_server", None),
        (["inference-device"], "inference_device", None),
        (["device", "fp32"], "inference_device", "float"),
        (["bf16"], None, "bfloat16"),
        (["e4m3", "training"], "training", "fp8_e4m3"),
        (["float32"], None, "float"),
        (["FP16"], None, "half"),
        (["float16"], None, "half"),
        (["BF16"], None, "bfloat16"),
        (["fp8"], None, "fp8_e4m3"),
        (["float8_e4m3fn"], None, "fp8_e4m3"),
        (["float8_e5m2"], None, "fp8_e5m2"),
        ([], None, None),
    ],
)
def test_sets_and_precisions(words: list[str], set_name: str | None, precision: str | None) -> None:
    parsed = parse_problem_arguments("gemm", words)
    assert (parsed.set, parsed.precision, parsed.values) == (set_name, precision, {})


def test_a_precision_has_its_own_name_wherever_it_is_given() -> None:
    words = parse_problem_arguments("gemm", ["m=1", "precision=FP16,fp8,float32"])
    assert words.values["precision"] == ["half", "fp8_e4m3", "float"]


def test_operations_and_their_other_names() -> None:
    assert operation_name("gemm") == "gemm"
    assert operation_name("sparse") == "sparse_gemm"
    assert operation_name("allreduce") == "all_reduce"
    assert operation_name("all") == "all"
    assert operation_name("gem") is None


@pytest.mark.parametrize(
    ("op", "words", "message"),
    [
        ("gemm", ["trainig"], "'trainig' is neither .*did you mean 'training'"),
        ("gemm", ["haf"], "did you mean 'half'"),
        ("gemm", ["train", "device"], "two sets, train and device"),
        ("gemm", ["half", "float"], "two precisions, half and float"),
        ("gemm", ["half", "precision=float"], "precision is given twice"),
        ("gemm", ["m=1", "m=2"], "m is given twice"),
        ("gemm", ["m="], "'m=' has an empty value"),
        ("gemm", ["m=1,,2"], "has an empty value"),
        ("gemm", ["=1"], "has no attribute"),
        ("gemm", ["m=0..8"], "'0..8' must go up from 1 or more, as in 1..64M"),
        ("gemm", ["m=8..4"], "'8..4' must go up"),
        (
            "gemm",
            ["m=64..100"],
            "'64..100' contains no doubling of its start: write 64,100 or 64..128",
        ),
        ("gemm", ["m=99999999999G"], "is more than 9223372036854775807"),
        ("memory", ["half"], "'half' is neither a set nor KEY=VALUE"),
        (
            "gemm",
            ["m=1...4"],
            "'1...4' is not a range: LEAST..MOST is every doubling, as in 16..128",
        ),
        ("gemm", ["m=1..x"], "'1..x' is not a range"),
        (
            "gemm",
            [f"m={1 << 62}..{(1 << 63) - 1}"],
            r"no doubling of its start: write 4611686018427387904,9223372036854775807$",
        ),
        ("gemm", ["m=1..9223372036854775808"], "is more than 9223372036854775807"),
        ("gemm", ["m=1.." + "9" * 5000], "is more than 9223372036854775807"),
        ("gemm", ["m=1..1\N{KELVIN SIGN}"], "is not a range"),
        (
            "gemm",
            ["m=1:64"],
            "'1:64' is not a number: write 1,64 for these two, or 1..64 for every",
        ),
        ("gemm", ["m=1-64"], "'1-64' is not a number"),
        (
            "gemm",
            ["m=1,024"],
            "'m=1,024': 024 begins with 0; write numbers without commas, as in m=1024; write",
        ),
        ("memory", ["bytes=64MB"], "write 64M or 64MiB, which is 64 x 1048576$"),
        ("gemm", ["double"], "^there is no precision 'double'; there are float tf32 half bfloat16"),
        ("gemm", ["uint8"], "^there is no precision 'uint8'"),
        ("gemm", ["conv"], "^two operations, gemm and conv: give one; 'all' runs every"),
        (
            "gemm",
            ["half", "float", "m=1"],
            "or precision=half,float beside the attributes of a problem$",
        ),
    ],
)
def test_wrong_words(op: str, words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_problem_arguments(op, words)


def test_the_number_of_problems_is_bounded_before_they_are_listed() -> None:
    numbers = ",".join(map(str, range(1, 1001)))
    million = parse_problem_arguments("gemm", [f"m={numbers}", f"n={numbers}", "k=1"])
    assert len(problem_lines("gemm", million)) == 1_000_000
    more = parse_problem_arguments("gemm", [f"{key}={numbers}" for key in "mnk"])
    with pytest.raises(UsageError, match="lists stand for 1,000,000,000 problems; a run has at mo"):
        problem_lines("gemm", more)


@pytest.mark.parametrize(
    ("word", "values"),
    [
        ("1..8", ["1", "2", "4", "8"]),
        ("3..20,7", ["3", "6", "12", "7"]),
        ("64M", ["67108864"]),
        ("2K,1G", ["2048", "1073741824"]),
        ("64K..128K", ["65536", "131072"]),
        (
            "4611686018427387903..9223372036854775807",
            ["4611686018427387903", "9223372036854775806"],
        ),
        ("00000000000000000000001..2", ["1", "2"]),
        ("1\N{KELVIN SIGN}", ["1\N{KELVIN SIGN}"]),
        ("08", ["08"]),  # the core's to judge, like all that is no such number
        ("4m,2k", ["4194304", "2048"]),
        ("64MiB,1KiB", ["67108864", "1024"]),
        ("1KiB..4KiB", ["1024", "2048", "4096"]),
    ],
)
def test_doublings_and_units(word: str, values: list[str]) -> None:
    assert parse_problem_arguments("gemm", [f"m={word}"]).values == {"m": values}


def test_all_powers_of_two() -> None:
    (sizes,) = parse_problem_arguments("gemm", ["m=1..9000000000000000000"]).values.values()
    assert sizes == [str(1 << power) for power in range(63)]
    (elements,) = parse_problem_arguments("all_reduce", ["elements=1..64M"]).values.values()
    assert elements == [str(1 << power) for power in range(27)]


def test_lists_expand_in_order() -> None:
    words = parse_problem_arguments("gemm", ["n=16,32", "m=1", "k=2,3", "half"])
    assert problem_lines("gemm", words) == [
        "gemm n=16 m=1 k=2 precision=half",
        "gemm n=16 m=1 k=3 precision=half",
        "gemm n=32 m=1 k=2 precision=half",
        "gemm n=32 m=1 k=3 precision=half",
    ]


def test_counts_belong_to_suites() -> None:
    for word in ("count=3", "count=0", "count=", "count=1,2"):
        with pytest.raises(UsageError, match=f"^'{word}': counts belong to the lines of a suite; "):
            parse_problem_arguments("gemm", ["m=1", word])


def test_application_is_one_text() -> None:
    words = parse_problem_arguments("gemm", ["application=speech, output"])
    assert problem_lines("gemm", words) == ['gemm application="speech, output"']


WORD = st.sampled_from(
    ["train", "half", "m=1", "n=16,32", "k=2", "precision=int8", "--quick", "-o", "x",
     "--samples=3", "--cache", "both", "=", "m==", "--", "-", "-1", "\x00", "sparse"]
) | st.text(max_size=8)  # fmt: skip


@given(st.sampled_from(["gemm", "conv", "memory", "all"]), st.lists(WORD, max_size=6))
def test_any_words_are_understood_or_refused(op: str, arguments: list[str]) -> None:
    from deepbench.problems.selection import select

    with suppress(UsageError):
        line = command.parse_arguments(arguments, OPTIONS)
        run_options(line)
        assert select(op, line.words, corrected=False).title
