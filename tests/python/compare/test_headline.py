"""deepbench compare: the headline, the order and width of the output, and advice that works."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from comparison_rows import make_published_row, make_result_set, render, timed_gemm, with_regime
from deepbench.cli import main
from deepbench.compare import Comparison, ResultSet, Rules, compare
from deepbench.report.comparison.headline import headlines
from deepbench.report.comparison.remarks import remarks
from example_rows import make_context, make_row, without_times

OURS, V100 = "Example CPU", "NVIDIA Tesla V100"


def renamed_result_set(one: ResultSet, name: str, device: str = OURS) -> ResultSet:
    return replace(one, name=f"results/{name}", about=f"{device}, cpu", device=device)


def timed_rows(count: int, time_ns: float = 100_000.0, **changes: Any) -> list[dict[str, Any]]:
    return [timed_gemm(i, time_ns, **changes) for i in range(count)]


def compare_result_sets(*sides: ResultSet, **rules: Any) -> Comparison:
    return compare(sides, Rules(**rules))


def as_published(one: ResultSet) -> ResultSet:
    return replace(one, name=V100, about=V100, device=V100, published=True)


# ---- the headline ------------------------------------------------------------------------------


def test_the_faster_device_is_named_with_its_factor_and_the_number_of_rows() -> None:
    figures = as_published(
        make_result_set(*(make_published_row(i, 100_000.0 / 48.5) for i in range(17)))
    )
    found = compare_result_sets(
        renamed_result_set(make_result_set(*timed_rows(17)), "mine.jsonl"), figures
    )
    [text] = headlines(found)
    assert text == (
        f"{V100} is 48.5 times faster than {OURS} (geometric mean of 17 rows of gemm float; "
        "published figures have no interval)"
    )
    assert render(found, "table").splitlines()[0] == text


def test_files_of_one_device_are_named_by_file_and_the_faster_one_comes_first() -> None:
    before, after = (renamed_result_set(make_result_set(*timed_rows(3, ns)), name)
                     for ns, name in ((1e5, "before.jsonl"), (1.2e5, "after.jsonl")))  # fmt: skip
    pattern = (
        r"before\.jsonl is 1\.200 times faster than after\.jsonl \(geometric mean of 3 rows of "
        r"gemm float; 95 % interval 1\.19\d to 1\.20\d\)"
    )
    for sides in ((before, after), (after, before)):
        [text] = headlines(compare_result_sets(*sides))
        assert re.fullmatch(pattern, text), text
    same_names = (before, replace(after, name="other/before.jsonl"))
    assert headlines(compare_result_sets(*same_names))[0].startswith(
        "A is 1.200 times faster than B ("
    )


def test_the_interval_contains_the_factor_in_both_directions() -> None:
    slow, quick = make_result_set(*timed_rows(3, 2e5)), make_result_set(*timed_rows(3))
    for sides, letter in (((slow, quick), "B"), ((quick, slow), "A")):
        found = json.loads(render(compare_result_sets(*sides), "json"))["against"][0]["headline"]
        assert found["faster"] == letter
        assert found["factor"] == pytest.approx(2.0)
        assert 1.99 < found["low"] < 2 < found["high"] < 2.01
        assert (found["rows"], found["left_out"], found["across"]) == (3, 0, [])


def test_the_headline_states_that_no_difference_exceeds_noise() -> None:
    found = compare_result_sets(
        make_result_set(*timed_rows(3)), make_result_set(*timed_rows(3, 1.01e5))
    )
    assert headlines(found)[0].startswith(
        "B and A do not differ beyond noise (B/A 1.010; geometric"
    )
    clocks = [
        timed_rows(3, ns, observed={"sm_clock_mhz": mhz}) for ns, mhz in ((1e5, 2000.0), (2e5, 1e3))
    ]
    slowed = [make_result_set(*one) for one in clocks]
    assert " beyond noise at equal clocks (B/A 2.000" in headlines(compare_result_sets(*slowed))[0]
    assert headlines(compare_result_sets(*slowed, any_clock=True))[0].startswith(
        "A is 2.000 times faster"
    )
    figures = as_published(make_result_set(*(make_published_row(i, 1.01e5) for i in range(3))))
    [text] = headlines(
        compare_result_sets(renamed_result_set(make_result_set(*timed_rows(3)), "a.jsonl"), figures)
    )
    assert f"{V100} and {OURS} do not differ beyond 3.0 % (" in text


def test_the_headline_states_its_reservations() -> None:
    single = timed_rows(2, 5e4)
    for row in single:
        row["statistics"]["n"] = 1
    [text] = headlines(
        compare_result_sets(make_result_set(*timed_rows(2)), make_result_set(*single))
    )
    assert "no interval, so it may be noise" in text
    mixed = make_result_set(*timed_rows(2), make_published_row(2))
    assert (
        "; 1 more excluded"
        in headlines(compare_result_sets(make_result_set(*timed_rows(3, 2e5)), mixed))[0]
    )
    assert (
        "(1 of 3 rows of gemm"
        in headlines(
            compare_result_sets(
                make_result_set(*timed_rows(3, 2e5)), make_result_set(timed_gemm(0))
            )
        )[0]
    )
    lost = make_result_set(*(without_times(row, "failed", "it crashed") for row in timed_rows(2)))
    assert headlines(compare_result_sets(make_result_set(*timed_rows(2)), lost)) == [
        "B and A have no pair of rows with two times"
    ]


def test_the_headline_of_disturbed_rows_gives_advice() -> None:
    disturbed = timed_rows(2)
    for row in disturbed:
        row["statistics"]["waited_share"] = 0.5
    found = compare_result_sets(make_result_set(*timed_rows(2)), make_result_set(*disturbed))
    assert headlines(found) == [
        "B and A have no undisturbed pair of rows with two times: stop other work on the machine, "
        "then '--resume --retry' measures disturbed rows again"
    ]


def test_rows_of_two_regimes_have_a_column_of_the_regime() -> None:
    both = [timed_gemm(0), with_regime(timed_gemm(0), cache="cold", cold="flush")]
    found = compare_result_sets(make_result_set(*both), make_result_set(*both))
    table = render(found, "table")
    assert re.search(r"^ *cache +A time", table, re.MULTILINE)
    assert [line.split()[0] for line in table.splitlines() if " same " in line] == ["hot", "cold"]
    alike = compare_result_sets(make_result_set(*both[:1]), make_result_set(*both[:1]))
    assert "cache" not in render(alike, "table")


def test_the_headline_names_differing_regimes() -> None:
    cold = [with_regime(row, cache="cold", cold="flush") for row in timed_rows(2, 3e5)]
    [text] = headlines(
        compare_result_sets(
            make_result_set(*timed_rows(2)), make_result_set(*cold), across=("cache",)
        )
    )
    assert text.endswith("; across cache)")
    half = make_result_set(*timed_rows(2, precision="half"))
    assert (
        "; across precision)"
        in headlines(
            compare_result_sets(make_result_set(*timed_rows(2, 2e5)), half, across=("precision",))
        )[0]
    )
    larger = make_result_set(*(timed_gemm(i, 2e5, m=9 + i) for i in range(2)))
    assert (
        "; across dimensions)"
        in headlines(
            compare_result_sets(make_result_set(*timed_rows(2)), larger, across=("dimensions",))
        )[0]
    )
    figures = as_published(make_result_set(*(make_published_row(i) for i in range(2))))
    [text] = headlines(compare_result_sets(make_result_set(*cold), figures))
    assert "published figures are hot in the caches, and 2 rows are cold" in text


def test_several_files_have_a_headline_each() -> None:
    sides = [renamed_result_set(make_result_set(*timed_rows(2, ns)), f"{name}.jsonl")
             for name, ns in (("a", 1e5), ("b", 2e5), ("c", 5e4))]  # fmt: skip
    lines = render(compare_result_sets(*sides), "table").splitlines()
    assert lines[0].startswith("a.jsonl is 2.000 times faster than b.jsonl (")
    assert lines[1].startswith("c.jsonl is 2.000 times faster than a.jsonl (")


# ---- the sections below the headline -----------------------------------------------------------


@pytest.mark.parametrize("name", ["table", "markdown", "html"])
def test_sections_are_headline_then_legend_then_families_then_rows(name: str) -> None:
    mixed = [[*timed_rows(2, ns), *timed_rows(2, ns, precision="half")] for ns in (1e5, 2e5)]
    found = compare_result_sets(
        *(renamed_result_set(make_result_set(*one), f"{i}.jsonl") for i, one in enumerate(mixed))
    )
    text = render(found, name)
    order = ["0.jsonl is 2.000 times faster", "A = results/0.jsonl", "B = results/1.jsonl",
             "families", "gemm float", "gemm half", "gemm: rows"]  # fmt: skip
    places = [text.index(words) for words in order]
    assert places == sorted(places)


def test_a_single_family_is_not_repeated() -> None:
    text = render(
        compare_result_sets(make_result_set(*timed_rows(3)), make_result_set(*timed_rows(3, 2e5))),
        "table",
    )
    assert "3 rows of gemm float" in text
    assert "families" not in text
    assert "applications" not in text


def test_a_long_table_ends_with_its_headline() -> None:
    text = render(
        compare_result_sets(
            make_result_set(*timed_rows(60)), make_result_set(*timed_rows(60, 2e5))
        ),
        "table",
    )
    assert text.count("A is 2.000 times faster than B (") == 2
    assert text.splitlines()[-1].startswith("regressions: ")


def test_shared_attributes_and_remarks_appear_once() -> None:
    best = timed_rows(3)
    for row in best:
        row["algorithm"] = {**row["algorithm"], "mode": "best"}
    lines = render(
        compare_result_sets(make_result_set(*timed_rows(3)), make_result_set(*best)), "table"
    ).splitlines()
    assert lines.count("all: best against default") == 1
    assert not any("best" in line for line in lines if not line.startswith("all: "))


def test_published_rows_have_no_column_of_verdicts() -> None:
    figures = as_published(make_result_set(*(make_published_row(i) for i in range(3))))
    text = render(
        compare_result_sets(
            make_result_set(*timed_rows(3)), make_result_set(*timed_rows(3)), figures
        ),
        "table",
    )
    assert "all: C: published, without a verdict" in text
    [titles] = [line for line in text.splitlines() if "C time" in line]
    assert titles.count("verdict") == 1
    mixed = make_result_set(make_published_row(0), *timed_rows(3)[1:])
    text = render(compare_result_sets(make_result_set(*timed_rows(3)), mixed), "table")
    assert "without a verdict" not in text
    assert "published" in text


def test_a_comparison_with_published_figures_alone_omits_regressions() -> None:
    figures = as_published(make_result_set(*(make_published_row(i) for i in range(3))))
    assert "regressions" not in render(
        compare_result_sets(make_result_set(*timed_rows(3)), figures), "table"
    )
    both = compare_result_sets(
        make_result_set(*timed_rows(3)), make_result_set(*timed_rows(3)), figures
    )
    assert "no regressions" in render(both, "table")


def rows_with_many_attributes(factor: float) -> list[dict[str, Any]]:
    """Rows of an operation with as many differing attributes as a convolution, and with remarks."""
    names = ("w", "h", "c", "n", "k", "s", "r", "pad_w", "pad_h", "stride_w", "stride_h")
    found = []
    for i in range(12):
        attributes = dict.fromkeys(names, 1 + i % 2) | {"w": 700 + i, "c": 1024, "k": 2048 + i}
        row = make_row("conv", attributes, i, 1e9)
        statistics = timed_gemm(0, 10_000.0 * factor)["statistics"]
        observed = {"sm_clock_mhz": 1500.0 + 100 * i * factor}
        found.append({**row, "statistics": statistics, "observed": observed})
    return found


@pytest.mark.parametrize("width", [80, 120])
def test_lines_fit_the_screen(width: int) -> None:
    found = compare_result_sets(
        renamed_result_set(make_result_set(*rows_with_many_attributes(1)), "before.jsonl"),
        renamed_result_set(make_result_set(*rows_with_many_attributes(0.5)), "after.jsonl"),
    )
    full = render(found, "table")
    text = render(found, "table", width)
    assert max(map(len, full.splitlines())) > 120
    assert max(map(len, text.splitlines())) <= width
    lines = [line.split() for line in text.splitlines()]
    row = next(line for line in lines if line[:2] == ["700", "1"])
    assert {"10.00", "5.000", "0.500"} <= set(row)
    assert ("95 %" in text.replace("\n", " ")) == ("95 %" in full)
    assert "clock" in text


def test_means_of_several_files_fit_a_narrow_screen() -> None:
    names = ("Character Language Modelling", "Machine Translation")
    sides = [
        renamed_result_set(
            make_result_set(*(timed_gemm(i, ns, application=names[i % 2]) for i in range(4))),
            f"{ns}.jsonl",
        )
        for ns in (1e5, 2e5, 5e4)
    ]
    text = render(compare_result_sets(*sides), "table", 80)
    assert "C/A Character Language Modelling" in " ".join(text.split())
    assert max(map(len, text[text.index("applications:") :].splitlines())) <= 80


# ---- selected algorithms -----------------------------------------------------------------------


def with_algorithm(
    row: dict[str, Any], name: str, candidate: str | None, **more: Any
) -> dict[str, Any]:
    algorithm = {**row["algorithm"], "mode": "best", "name": name, "default_name": "jit",
                 "candidate": candidate, **more}  # fmt: skip
    return {**row, "algorithm": algorithm}


def without_candidate(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "algorithm": {**row["algorithm"], "name": "jit", "candidate": None}}


def test_the_winner_is_named_by_its_id_where_the_default_has_its_name() -> None:
    defaults = make_result_set(*(without_candidate(row) for row in timed_rows(3)))
    winners = ("nhwc:jit", "library:brgemm", None)
    best = make_result_set(
        *(
            with_algorithm(row, "brgemm" if "brgemm" in str(winner) else "jit", winner)
            for row, winner in zip(timed_rows(3), winners, strict=True)
        )
    )
    found = compare_result_sets(defaults, best)
    said = [list(remarks(row)) for row in found.others[0].rows]
    assert said == [
        ["best against default", "B: algorithm nhwc:jit"],
        ["best against default", "B: algorithm brgemm"],
        ["best against default"],
    ]
    assert "2 with another algorithm of the same library" in render(found, "table")
    back = list(remarks(compare_result_sets(best, defaults).others[0].rows[0]))
    assert back == ["default against best", "A: algorithm nhwc:jit"]


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (("jit", "nhwc:jit"), ("jit", "nhwc:jit"), True),
        (("jit", "nhwc:jit"), ("jit", "nchw:jit"), False),
        (("jit", None), ("jit", None), True),
        (("jit", None), ("brgemm", None), False),
        # The default, whose id the row has, against the same candidate as the winner of a
        # selection.
        (("jit", None, "nhwc:jit"), ("jit", "nhwc:jit"), True),
        (("jit", "onednn:jit"), ("jit", "jit"), True),  # several libraries competed in one of them
    ],
)
def test_ids_decide_whether_choices_are_the_same(
    a: tuple[str, ...], b: tuple[str, ...], same: bool
) -> None:
    sides = []
    for name, candidate, *default in (a, b):
        row = with_algorithm(
            timed_gemm(0), name, candidate, default_candidate=default[0] if default else None
        )
        sides.append(make_result_set(row))
    assert compare_result_sets(*sides).others[0].rows[0].same_algorithm is same


def test_algorithms_of_other_libraries_or_problems_are_not_compared() -> None:
    one, other = (
        with_algorithm(timed_gemm(0), "jit", "a"),
        with_algorithm(timed_gemm(0, library="mkl 1"), "jit", "b"),
    )
    assert (
        compare_result_sets(make_result_set(one), make_result_set(other))
        .others[0]
        .rows[0]
        .same_algorithm
        is None
    )
    half = with_algorithm(timed_gemm(0, precision="half"), "jit", "b")
    found = compare_result_sets(make_result_set(one), make_result_set(half), across=("precision",))
    assert found.others[0].rows[0].same_algorithm is None


# ---- advice ------------------------------------------------------------------------------------


def write_result_file(path: Path, found: list[dict[str, Any]], **context: Any) -> str:
    lines = [make_context(rows=len(found), **context), *found]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def int8_rows(b_type: str) -> list[dict[str, Any]]:
    found = timed_rows(3, precision="int8")
    for row in found:
        row["attributes"] = {**row["attributes"], "b_type": b_type}
    return found


COLD = [with_regime(row, cache="cold", cold="flush") for row in timed_rows(3)]
CASES: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {
    "cache": (timed_rows(3), COLD),
    "cache, power": (timed_rows(3), [with_regime(row, power="sustained") for row in COLD]),
    "launch": (timed_rows(3), [with_regime(row, launch="graph") for row in timed_rows(3)]),
    "threads": (timed_rows(3), [with_regime(row, threads=64) for row in timed_rows(3)]),
    "ranks": (
        [with_regime(row, ranks=2) for row in timed_rows(3)],
        [with_regime(r, ranks=4) for r in timed_rows(3)],
    ),
    "precision": (timed_rows(3), timed_rows(3, precision="half")),
    "precision, cache": (timed_rows(3, precision="half"), COLD),
    "types of operands": (int8_rows("s8"), int8_rows("u8")),
    "types that one side lacks": (int8_rows("s8"), timed_rows(3)),
    "most rows": (
        [with_regime(timed_gemm(9), power="sustained"), *timed_rows(3)],
        [timed_gemm(9), *COLD],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_following_the_advice_of_a_refusal_works(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [write_result_file(tmp_path / f"{i}.jsonl", one) for i, one in enumerate(CASES[case])]
    assert main(["compare", *files]) == 2
    said = capsys.readouterr().err
    advice = re.search(r"(--across) (\S+) compares them", said)
    assert advice, said
    assert main(["compare", *files, *advice.groups(), "--format", "json"]) in (0, 1)
    assert len(json.loads(capsys.readouterr().out)["against"][0]["rows"]) >= 3


def test_inputs_that_differ_can_be_compared_as_advised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [
        write_result_file(tmp_path / f"{inputs}.jsonl", timed_rows(2), options={"inputs": inputs})
        for inputs in ("zeros", "uniform")
    ]
    assert main(["compare", *files]) == 2
    assert "inputs is zeros in the first, uniform in the second; --across inputs compares" in (
        capsys.readouterr().err
    )
    assert main(["compare", *files, "--across", "inputs"]) == 0


def test_following_the_advice_for_single_rows_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = write_result_file(tmp_path / "a.jsonl", [timed_gemm(8), *timed_rows(3)])
    b = write_result_file(tmp_path / "b.jsonl", [timed_gemm(8), *COLD])
    assert main(["compare", a, b]) == 0
    advice = re.search(r"B has the same problem, but cache is cold by flush \((--across) (\S+)\)",
                       capsys.readouterr().out)  # fmt: skip
    assert advice
    assert main(["compare", a, b, *advice.groups()]) == 0
    assert "B against A: 4 rows compared: 4 same" in capsys.readouterr().out


def test_following_the_advice_on_clocks_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [
        write_result_file(
            tmp_path / f"{mhz:.0f}.jsonl", timed_rows(3, ns, observed={"sm_clock_mhz": mhz})
        )
        for ns, mhz in ((1e5, 2000.0), (2e5, 1000.0))
    ]
    assert main(["compare", *files]) == 0
    assert "3 same only at equal clocks, which differ by -50.0 % in the median (--any-clock" in (
        capsys.readouterr().out
    )
    assert main(["compare", *files, "--any-clock"]) == 1
    assert "3 slower" in capsys.readouterr().out


def test_error_does_not_suggest_across_without_a_common_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = write_result_file(tmp_path / "a.jsonl", timed_rows(2))
    b = write_result_file(tmp_path / "b.jsonl", [timed_gemm(0, m=7), timed_gemm(1, m=8)])
    memory = write_result_file(tmp_path / "c.jsonl", [make_row("memory", {"kind": "copy"}, 0, 0.0)])
    for other, said in ((b, "no problem in common"), (memory, "no operation in common")):
        assert main(["compare", a, other]) == 2
        error = capsys.readouterr().err
        assert said in error
        assert "--across" not in error
