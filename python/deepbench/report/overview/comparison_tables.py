"""Tables of paired rows by family: the effect of algorithm selection, of cold caches, or of another
machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from deepbench.compare.ratios import Ratio, geometric_mean
from deepbench.report.comparison.content import Section, TableRow
from deepbench.report.comparison.wording import number_text, ratio_cells

from .pairs import Pair, ReferenceComparison
from .report_rows import ReportFile

Key = tuple[str, ...]


def algorithm_section(files: Sequence[ReportFile], pairs: Sequence[Pair]) -> Section | None:
    if not pairs:
        return None
    rows = [
        TableRow((*key, *_algorithm_cells(group)))
        for key, group in _group_pairs(files, pairs, _file_family_regime).items()
    ]
    columns = ("file", "family", "regime", "rows", "other algorithm", "mean gain", "where changed",
               "with conversion", "largest", "selected most often")  # fmt: skip
    lines = (
        "The gain is the time of the library's default algorithm over the time of the selected "
        "one, from the interleaved comparison of the row; it is 1 where the default is kept.",
        *(
            ["Some rows convert a constant operand beforehand, which their time excludes. The "
             "column 'with conversion' divides the default's time by call plus conversion."]
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
        number_text(geometric_mean([pair.ratio for pair in group]).value),
        number_text(geometric_mean(switched).value) if switched else "-",
        number_text(geometric_mean(converted).value) if any(map(_conversion_ns, group)) else "-",
        number_text(max(pair.ratio.value for pair in group)),
        _most_frequent_algorithm(group),
    ]


def _most_frequent_algorithm(group: Sequence[Pair]) -> str:
    """Counts algorithms by id, since a library may give several candidates the same name."""
    choices = [pair.row.entry.choice for pair in group if pair.changed]
    counts = Counter(choice.id or choice.text or "unnamed" for choice in choices)
    [(name, count)] = counts.most_common(1) or [("-", 0)]
    return f"{name} ({count} of {len(choices)})" if count else name


def _gain_with_conversion(pair: Pair) -> Ratio:
    conversion_ns = _conversion_ns(pair)
    if not conversion_ns:
        return pair.ratio
    return Ratio(pair.other_ns / (pair.time_ns + conversion_ns), None)


def _conversion_ns(pair: Pair) -> float:
    return pair.row.entry.conversion_ns or 0.0


def cache_section(files: Sequence[ReportFile], pairs: Sequence[Pair]) -> Section | None:
    if not pairs:
        return None

    def key(pair: Pair) -> Key:
        assert pair.other is not None
        letters = dict.fromkeys(files[one.file_index].letter for one in (pair.row, pair.other))
        return "/".join(letters), pair.row.family, f"{pair.other.regime} over {pair.row.regime}"

    rows = []
    for name, group in _group_pairs(files, pairs, lambda _, pair: key(pair)).items():
        values = [pair.ratio.value for pair in group]
        rows.append(TableRow((
            *name, str(len(group)), *ratio_cells(geometric_mean([pair.ratio for pair in group])),
            number_text(min(values)), number_text(max(values)),
        )))  # fmt: skip
    columns = ("file", "family", "regimes", "rows", "mean ratio", "95 %", "lowest", "highest")
    lines = ("The ratio is the cold time over the hot time of rows that are otherwise alike.",)
    return Section("Hot against cold", lines, columns, frozenset((0, 1, 2)), tuple(rows))


def reference_sections(every: Sequence[ReferenceComparison]) -> list[Section]:
    """One table for each reference, with its footnotes."""
    names = list(dict.fromkeys(one.reference.name for one in every))
    return [
        _reference_section(name, [one for one in every if one.reference.name == name])
        for name in names
    ]


def _reference_section(name: str, every: Sequence[ReferenceComparison]) -> Section:
    rows: list[TableRow] = []
    lines = [
        "The ratio is the reference's time over the row's: 4 means that the row is 4 times faster.",
        *every[0].reference.footnotes,
    ]
    reasons = dict.fromkeys(one.no_pairs_reason for one in every if one.no_pairs_reason)
    for reason in reasons:
        letters = ", ".join(one.file.letter for one in every if one.no_pairs_reason == reason)
        lines.append(f"{letters}: {reason}")
    converted = sum(bool(_conversion_ns(pair)) for one in every for pair in one.pairs)
    if converted:
        lines.append(f"the times of {converted} rows exclude the conversion of an operand")
    for one in every:
        groups = _group_pairs(
            [one.file], one.pairs, lambda files, pair: _reference_group(files[0], pair)
        )
        rows += [_reference_row(key, group) for key, group in groups.items()]
    columns = ("file", "family", "regime", "rows", "excluded", "mean ratio", "95 %", "lowest",
               "highest")  # fmt: skip
    words = frozenset((0, 1, 2))
    about = every[0].reference.about
    lines = [*([about] if about not in ("", name) else []), *lines]
    return Section(f"Against {every[0].label}", tuple(lines), columns, words, tuple(rows))


def _reference_group(file: ReportFile, pair: Pair) -> Key:
    """Cold rows that are compared with hot published figures form separate groups, which say so."""
    hot = " (published figures are hot)" if pair.cold else ""
    return file.letter, pair.row.family, pair.row.regime + hot


def _reference_row(key: Key, group: Sequence[Pair]) -> TableRow:
    counted = [pair.ratio for pair in group if not pair.doubt]
    excluded = str(len(group) - len(counted))
    if not counted:
        return TableRow((*key, "0", excluded, "-", "-", "-", "-"))
    values = [one.value for one in counted]
    ends = (number_text(min(values)), number_text(max(values)))
    return TableRow(
        (*key, str(len(counted)), excluded, *ratio_cells(geometric_mean(counted)), *ends)
    )


def _file_family_regime(files: Sequence[ReportFile], pair: Pair) -> Key:
    return files[pair.row.file_index].letter, pair.row.family, pair.row.regime


def _group_pairs(
    files: Sequence[ReportFile],
    pairs: Iterable[Pair],
    key: Callable[[Sequence[ReportFile], Pair], Key],
) -> dict[Key, list[Pair]]:
    groups: dict[Key, list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(key(files, pair), []).append(pair)
    return groups
