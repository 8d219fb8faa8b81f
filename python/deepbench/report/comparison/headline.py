"""The headline of a comparison: 'NVIDIA Tesla V100 is 48.5 times faster than ...'."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deepbench.compare import Comparison, Headline, PairwiseComparison, ResultSet, headline
from deepbench.compare.regimes import PUBLISHED_IS_HOT, compares_hot_with_cold
from deepbench.compare.verdicts import DISTURBED
from deepbench.report.fields import percent

from .wording import factor_text, result_set_letter

_LONGEST_NAME = 40  # characters


def headlines(comparison: Comparison) -> list[str]:
    """One sentence for each result set that is compared with the baseline."""
    base, *names = _distinct_names(
        [comparison.base, *(against.result_set for against in comparison.others)]
    )
    return [
        _headline_sentence(comparison, against, base, name, f"{result_set_letter(index)}/A")
        for index, (against, name) in enumerate(zip(comparison.others, names, strict=True), start=1)
    ]


def _headline_sentence(
    comparison: Comparison, against: PairwiseComparison, base: str, other: str, quotient: str
) -> str:
    found = headline(against, comparison.rules.change_threshold)
    if against.overall is None:
        return f"{other} and {base} {_no_mean_text(against)}"
    rows, ratio = _rows_text(comparison, against, found), against.overall.ratio
    if found.faster is None or found.factor is None:
        mean = [
            f"{quotient} {factor_text(ratio.value)}",
            rows,
            *_interval_text(ratio.low, ratio.high, found),
        ]
        basis = "; ".join([*mean, *_reservation_texts(against, found)])
        beyond = _threshold_text(comparison, against, found)
        return f"{other} and {base} do not differ beyond {beyond} ({basis})"
    winner, loser = (base, other) if found.faster == 0 else (other, base)
    basis = "; ".join(
        [rows, *_interval_text(found.low, found.high, found), *_reservation_texts(against, found)]
    )
    return f"{winner} is {factor_text(found.factor)} times faster than {loser} ({basis})"


def _no_mean_text(against: PairwiseComparison) -> str:
    """The reason why there is no mean."""
    if any(row.verdict == DISTURBED for row in against.rows):
        return (
            "have no undisturbed pair of rows with two times: stop other work on the machine, then "
            "'--resume --retry' measures disturbed rows again"
        )
    return "have no pair of rows with two times"


def _threshold_text(comparison: Comparison, against: PairwiseComparison, found: Headline) -> str:
    if found.verdict != "same":
        return f"{percent(comparison.rules.change_threshold)} %"
    return (
        "noise at equal clocks" if any(row.explained_by_clock for row in against.rows) else "noise"
    )


def _rows_text(comparison: Comparison, against: PairwiseComparison, found: Headline) -> str:
    """'geometric mean of 17 rows of gemm half', or 'of 17 of 20 rows' where some rows have no
    partner."""
    of = f" of {len(against.rows) + len(against.missing)}" if against.missing else ""
    family = f" of {against.families[0].name}" if len(against.families) == 1 else ""
    rows = f"{found.rows}{of} row{'s' if found.rows > 1 or of else ''}{family}"
    return f"geometric mean of {rows}" if found.rows > 1 else rows


def _interval_text(low: float | None, high: float | None, found: Headline) -> Iterator[str]:
    if low is not None and high is not None:
        yield f"95 % interval {factor_text(low)} to {factor_text(high)}"
    elif found.verdict == "published":
        yield "published figures have no interval"
    else:
        yield "no interval, so it may be noise"


def _reservation_texts(against: PairwiseComparison, found: Headline) -> Iterator[str]:
    cold = sum(compares_hot_with_cold(row.base, row.other) for row in against.rows)
    if cold:
        yield f"{PUBLISHED_IS_HOT}, and {cold} rows are cold"
    if found.left_out:
        yield f"{found.left_out} more excluded"
    if found.across:
        yield f"across {', '.join(found.across)}"


def _distinct_names(result_sets: Sequence[ResultSet]) -> list[str]:
    """Names for the result sets: device names if they differ, else file names, else letters."""
    for names in (
        [result_set.device or "" for result_set in result_sets],
        [_file_name(result_set) for result_set in result_sets],
    ):
        if len(set(names)) == len(names) and all(0 < len(name) <= _LONGEST_NAME for name in names):
            return names
    return [result_set_letter(index) for index in range(len(result_sets))]


def _file_name(result_set: ResultSet) -> str:
    is_device = result_set.published or result_set.is_reference
    return result_set.name if is_device else result_set.name.rpartition("/")[2]
