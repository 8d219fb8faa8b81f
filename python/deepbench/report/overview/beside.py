"""What pairs of rows come to, by family: how much the choice of an algorithm, caches that are cold,
or another machine make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from deepbench.compare.ratios import Ratio, mean
from deepbench.report.comparison.content import Row, Section
from deepbench.report.comparison.words import number, ratio_cells

from .pairs import Against, Pair
from .runs import Run

Key = tuple[str, ...]


def algorithm_section(files: Sequence[Run], pairs: Sequence[Pair]) -> Section | None:
    if not pairs:
        return None
    rows = [
        Row((*key, *_algorithm_cells(group)))
        for key, group in _grouped(files, pairs, _file_family_regime).items()
    ]
    columns = ("file", "family", "regime", "rows", "other algorithm", "mean gain", "where changed",
               "with conversion", "largest", "chosen most often")  # fmt: skip
    lines = (
        "The gain is the time of the library's own choice over that of the algorithm found, as "
        "both were measured in turns for the same row; 1 where the choice stands.",
        *(
            ["Some have operands that are constant in use converted beforehand, outside their "
             "time; with conversion: the default's time over that of call and conversion together."]
            if any(_conversion_ns(pair) for pair in pairs)
            else []
        ),
    )  # fmt: skip
    return Section("Default against best", lines, columns, frozenset((0, 1, 2, 9)), tuple(rows))


def _algorithm_cells(group: Sequence[Pair]) -> list[str]:
    switched = [pair.ratio for pair in group if pair.changed]
    converted = [_gain_with_conversion(pair) for pair in group]
    return [
        str(len(group)),
        str(len(switched)),
        number(mean([pair.ratio for pair in group]).value),
        number(mean(switched).value) if switched else "-",
        number(mean(converted).value) if any(map(_conversion_ns, group)) else "-",
        number(max(pair.ratio.value for pair in group)),
        _most_often(group),
    ]


def _most_often(group: Sequence[Pair]) -> str:
    """By id, as the library may call several candidates alike."""
    choices = [pair.shown.entry.choice for pair in group if pair.changed]
    counts = Counter(choice.id or choice.text or "unnamed" for choice in choices)
    [(name, count)] = counts.most_common(1) or [("-", 0)]
    return f"{name} ({count} of {len(choices)})" if count else name


def _gain_with_conversion(pair: Pair) -> Ratio:
    conversion_ns = _conversion_ns(pair)
    if not conversion_ns:
        return pair.ratio
    return Ratio(pair.other_ns / (pair.time_ns + conversion_ns), None)


def _conversion_ns(pair: Pair) -> float:
    return pair.shown.entry.conversion_ns or 0.0


def cache_section(files: Sequence[Run], pairs: Sequence[Pair]) -> Section | None:
    if not pairs:
        return None

    def key(pair: Pair) -> Key:
        assert pair.other is not None
        letters = dict.fromkeys(files[one.run].letter for one in (pair.shown, pair.other))
        return "/".join(letters), pair.shown.family, f"{pair.other.regime} over {pair.shown.regime}"

    rows = []
    for name, group in _grouped(files, pairs, lambda _, pair: key(pair)).items():
        values = [pair.ratio.value for pair in group]
        rows.append(Row((
            *name, str(len(group)), *ratio_cells(mean([pair.ratio for pair in group])),
            number(min(values)), number(max(values)),
        )))  # fmt: skip
    columns = ("file", "family", "regimes", "rows", "mean ratio", "95 %", "least", "most")
    lines = ("The ratio is the cold time over the hot one, of rows that differ in nothing else.",)
    return Section("Hot against cold", lines, columns, frozenset((0, 1, 2)), tuple(rows))


def against_sections(every: Sequence[Against]) -> list[Section]:
    """A table for each of the others, and what must be known of it."""
    names = list(dict.fromkeys(one.side.name for one in every))
    return [_against(name, [one for one in every if one.side.name == name]) for name in names]


def _against(name: str, every: Sequence[Against]) -> Section:
    rows: list[Row] = []
    lines = [
        "The ratio is their time over ours: 4 means that ours took a quarter of it.",
        *every[0].side.footnotes,
    ]
    reasons = dict.fromkeys(one.nothing for one in every if one.nothing)
    for reason in reasons:
        letters = ", ".join(one.run.letter for one in every if one.nothing == reason)
        lines.append(f"{letters}: {reason}")
    converted = sum(bool(_conversion_ns(pair)) for one in every for pair in one.pairs)
    if converted:
        lines.append(f"of {converted} rows of ours an operand was converted outside the time")
    for one in every:
        groups = _grouped([one.run], one.pairs, lambda files, pair: _told_apart(files[0], pair))
        rows += [_against_row(key, group) for key, group in groups.items()]
    columns = ("file", "family", "regime", "rows", "left out", "mean ratio", "95 %", "least",
               "most")  # fmt: skip
    words = frozenset((0, 1, 2))
    about = every[0].side.about
    lines = [*([about] if about not in ("", name) else []), *lines]
    return Section(f"Against {every[0].label}", tuple(lines), columns, words, tuple(rows))


def _told_apart(run: Run, pair: Pair) -> Key:
    """Cold rows of ours have lines of their own, which say what stands beside them."""
    beside = " beside published figures that are hot" if pair.cold else ""
    return run.letter, pair.shown.family, pair.shown.regime + beside


def _against_row(key: Key, group: Sequence[Pair]) -> Row:
    counted = [pair.ratio for pair in group if not pair.doubt]
    left_out = str(len(group) - len(counted))
    if not counted:
        return Row((*key, "0", left_out, "-", "-", "-", "-"))
    values = [one.value for one in counted]
    ends = (number(min(values)), number(max(values)))
    return Row((*key, str(len(counted)), left_out, *ratio_cells(mean(counted)), *ends))


def _file_family_regime(files: Sequence[Run], pair: Pair) -> Key:
    return files[pair.shown.run].letter, pair.shown.family, pair.shown.regime


def _grouped(
    files: Sequence[Run], pairs: Iterable[Pair], key: Callable[[Sequence[Run], Pair], Key]
) -> dict[Key, list[Pair]]:
    groups: dict[Key, list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(key(files, pair), []).append(pair)
    return groups
