"""The suite files against the original's numbers, and the reader against every broken file.

The numbers in tests/golden/problem_sets were taken from the original's header files on their own
(applications from its published workbooks), so a slip in a suite file shows here.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from deepbench import suites
from deepbench.suites import Entry, Suite, SuiteError
from source_tree import ROOT

GOLDEN = ROOT / "tests/golden/problem_sets"

COUNTS = {
    ("training", "gemm"): 160,
    ("training", "conv"): 94,
    ("training", "rnn"): 53,
    ("training", "all_reduce"): 7,
    ("inference_server", "gemm"): 75,
    ("inference_server", "conv"): 107,
    ("inference_server", "rnn"): 69,
    ("inference_server", "sparse_gemm"): 24,
    ("inference_device", "gemm"): 13,
    ("inference_device", "conv"): 16,
    ("inference_device", "rnn"): 3,
    ("inference_device", "sparse_gemm"): 8,
}

# Where a problem stands that a set has twice, counted from 0.
DUPLICATES = {
    ("training", "conv"): {(22, 74), (28, 90), (69, 72), (85, 88)},
    ("inference_server", "conv"): {(20, 87), (26, 103), (82, 85), (98, 101)},
    ("inference_device", "conv"): {(7, 10)},
}

TYPOS = {
    ("inference_server", "sparse_gemm"): ("m=7860", "m=7680", [1, 2, 4, 5, 13, 14, 16, 17]),
    ("training", "all_reduce"): ("elements=16777217", "elements=16777216", [4]),
}

every_set = pytest.mark.parametrize("pair", COUNTS, ids="/".join)


def golden_lines(pair: tuple[str, str]) -> list[tuple[str, str | None]]:
    """(problem, application) of each line that the suite file must have, from the numbers."""
    with (GOLDEN / f"{pair[1]}.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["set"] == pair[0]]
    assert [int(row["index"]) for row in rows] == list(range(len(rows)))
    return [(problem_text(pair[1], row), row["application"] or None) for row in rows]


def problem_text(op: str, row: dict[str, str]) -> str:
    dimensions = {
        key: {"0": "n", "1": "t"}[value] if key.startswith("trans_") else value
        for key, value in row.items()
        if key not in ("set", "index", "application")
    }
    return " ".join([op, *(f"{key}={value}" for key, value in dimensions.items())])


def suite_of(text: str | bytes) -> Suite:
    data = text.encode() if isinstance(text, str) else text
    return suites.from_bytes(data, "my.txt", "my")


# ---- the original's sets --------------------------------------------------------------------


def test_available_sets_of_the_originals_operations_are_its_sets() -> None:
    originals = {op for _, op in COUNTS}
    there = [pair for pair in suites.available() if pair[0] in suites.ORIGINALS]
    assert [pair for pair in there if pair[1] in originals] == list(COUNTS)
    assert {path.stem for path in GOLDEN.glob("*.csv")} == originals


@every_set
def test_every_line_is_the_originals(pair: tuple[str, str]) -> None:
    suite = suites.builtin(*pair)
    assert [(entry.text, entry.application) for entry in suite.entries] == golden_lines(pair)
    assert len(suite.entries) == COUNTS[pair]
    assert suite.name == "/".join(pair)
    assert {entry.source for entry in suite.entries} == {suite.name}


@every_set
def test_duplicates_are_kept(pair: tuple[str, str]) -> None:
    texts = [entry.text for entry in suites.builtin(*pair).entries]
    twice = {
        tuple(index for index, other in enumerate(texts) if other == text)
        for text, count in Counter(texts).items()
        if count > 1
    }
    assert twice == DUPLICATES.get(pair, set())


@pytest.mark.parametrize("pair", TYPOS, ids="/".join)
def test_corrected_sets_differ_in_the_typos_alone(pair: tuple[str, str]) -> None:
    wrong, right, where = TYPOS[pair]
    expected = golden_lines(pair)
    assert [index for index, (text, _) in enumerate(expected) if wrong in text.split()] == where
    expected = [(text.replace(wrong, right), application) for text, application in expected]
    suite = suites.builtin(*pair, corrected=True)
    assert [(entry.text, entry.application) for entry in suite.entries] == expected
    assert suite.name == "/".join(pair) + "_corrected"


@every_set
def test_headers(pair: tuple[str, str]) -> None:
    suite = suites.builtin(*pair)
    op, inference = pair[1], pair[0] != "training"
    backward = {"conv": "bwd_filter", "rnn": "bwd_weights"}
    phases = ("fwd", "bwd_data", backward[op]) if op in backward and not inference else ()
    defaults = {"conv": {"phase": "fwd"}, "rnn": {"phase": "fwd", "mode": "inference"}}
    assert suite.phases == phases
    assert suite.defaults == (defaults.get(op, {}) if inference else {})
    assert suite.constant == ({"gemm": ("a",), "conv": ("w",)}.get(op, ()) if inference else ())


@every_set
def test_a_suite_file_says_what_it_is(pair: tuple[str, str]) -> None:
    path = Path(suites.__file__).parent / pair[0] / f"{pair[1]}.txt"
    title, source, *_ = path.read_text(encoding="ascii").splitlines()
    assert title.startswith("# DeepBench's ")
    assert title.endswith(f": {COUNTS[pair]} problems.")
    assert "Baidu" in source
    assert "Apache-2.0" in source


def test_builtin_that_does_not_exist_names_those_that_do() -> None:
    with pytest.raises(SuiteError, match=r"no suite 'training/sparse_gemm'; .*training/gemm"):
        suites.builtin("training", "sparse_gemm")
    with pytest.raises(SuiteError, match=r"'training/gemm_corrected'; there are "):
        suites.builtin("training", "gemm", corrected=True)
    for outside in ("../training/gemm", "gemm_corrected", "", "all_reduce_corrected"):
        with pytest.raises(SuiteError):
            suites.builtin("training", outside)


def test_set_words() -> None:
    words = {
        "training": "train training",
        "inference_server": "inference inference-server inference_server server",
        "inference_device": "inference-device inference_device device",
    }
    words |= {name: name for name in (*suites.MODELS, *suites.AIMATRIX)}
    assert tuple(words) == suites.SETS
    for name, aliases in words.items():
        assert {suites.set_name(word) for word in aliases.split()} == {name}
    assert [suites.set_name(word) for word in ("gemm", "", "Training")] == [None] * 3


# ---- a user's file --------------------------------------------------------------------------

WHOLE = """\
# A comment; headers follow.
# default: precision=half layout=nchw
# default: mode=inference
# phases: fwd bwd_data
#constant: a b

\tgemm   m=1 n=2\tk=3 application="x, \\"y\\" \\\\ z"
   # indented comment
gemm application="in between" m=4 n=5 k=6
gemm m=7
gemm m=8 application=plain
gemm m=7
"""


def test_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "my model.txt"
    path.write_text(WHOLE)
    suite = suites.read(path)
    entries = (
        Entry("gemm m=1 n=2 k=3", 'x, "y" \\ z', str(path), 7),
        Entry("gemm m=4 n=5 k=6", "in between", str(path), 9),
        Entry("gemm m=7", None, str(path), 10),
        Entry("gemm m=8", "plain", str(path), 11),
        Entry("gemm m=7", None, str(path), 12),
    )
    defaults = {"precision": "half", "layout": "nchw", "mode": "inference"}
    assert suite == Suite("my model", entries, defaults, ("fwd", "bwd_data"), ("a", "b"), {})
    assert (
        suite.lines["phases", "bwd_data"] == WHOLE.splitlines().index("# phases: fwd bwd_data") + 1
    )


def test_bom_crlf_and_a_missing_last_newline_change_nothing() -> None:
    assert suite_of(b"\xef\xbb\xbf" + WHOLE.replace("\n", "\r\n").encode()) == suite_of(WHOLE)
    assert suite_of(WHOLE.rstrip("\n")) == suite_of(WHOLE)


def test_only_real_line_ends_count() -> None:
    text = "# form feed \f, next line \x85 and separator \u2028 in a comment\ngemm m=1\n"
    assert suite_of(text).entries == (Entry("gemm m=1", None, "my.txt", 2),)


BROKEN: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "my.txt: has no problems; "),
    "comments only": ("# phases: fwd\n\n# x\n", "my.txt: has no problems; "),
    "a result": (b'{"type": "context"}\n', "my.txt:1: is not a suite but looks like a result file"),
    "binary": (b"\x7fELF\n\x00\x01", "my.txt:2: is not a text file, it has a NUL byte"),
    "utf-16": ("gemm m=1\n".encode("utf-16"), "my.txt:1: is not a text file"),
    "latin-1": (b"gemm m=1\n# caf\xe9\n", "my.txt:2: is not a text file, it has bytes"),
    "long line": ("#\n#" + "x" * 4096, "my.txt:2: the line has 4,097 characters; at most 4,096"),
    "many lines": ("\n" * 1_000_001, "my.txt:1000001: too many lines; "),
    "control": ("gemm m=1\x1b[2J", "my.txt:1: the line has the invisible character U+001B; "),
    "mac line ends": ("gemm m=1\rgemm m=2", "my.txt:1: the line has the invisible char"),
    "no-break space": ("gemm m=1\u00a0n=2", "my.txt:1: the line has the invisible char"),
    "open quote": ('gemm application="x', "my.txt:1: a quote is not closed; "),
    "open quote after one": ('gemm application="x"" m=1', "my.txt:1: a quote is not closed; "),
    "text after quote": ('gemm application="x"y', "my.txt:1: the application is not quoted"),
    "single quotes": ("gemm application='x y'", "my.txt:1: the application is not quoted"),
    "two applications": ("a\ngemm application=x application=y", "my.txt:2: application is given"),
    "empty application": ('gemm application=" "', "my.txt:1: the application is empty; "),
    "no value of application": ("gemm application=", "my.txt:1: the application is empty; "),
    "no problem": ('application="x"', "my.txt:1: an application without a problem; "),
    "count of zero": ("gemm m=1 count=0", "my.txt:1: the count '0' is not an integer from 1 to 1,"),
    "negative count": ("#\ngemm count=-3 m=1", "my.txt:2: the count '-3' is not an integer"),
    "fraction as count": ("gemm m=1 count=1.5", "my.txt:1: the count '1.5' is not an integer"),
    "exponent as count": ("gemm m=1 count=1e3", "my.txt:1: the count '1e3' is not an integer"),
    "count with a sign": ("gemm m=1 count=+3", "my.txt:1: the count '+3' is not an integer"),
    "count of 10^15 + 1": (f"gemm count={10**15 + 1}", "my.txt:1: the count '1000000000000001' is"),
    "count of 10^30": (f"gemm count={10**30}", "my.txt:1: the count '1000000000000000000000000000"),
    "count of many digits": (f"gemm count={'9' * 4000}", "my.txt:1: the count '9999999999999999"),
    "other digits": ("gemm m=1 count=\u0663", "my.txt:1: the count '\u0663' is not an integer"),
    "no value of count": ("gemm m=1 count=", "my.txt:1: the count '' is not an integer"),
    "two counts": ("a\ngemm m=1 count=3 count=3", "my.txt:2: count is given twice; "),
    "default count": ("# default: count=3\ngemm m=1", "my.txt:1: count has no default; "),
    "count without problem": ("count=3", "my.txt:1: a count without a problem; "),
    "comment": ("gemm m=1 # x=1\n", "my.txt:1: a comment follows a problem; "),
    "late header": ("gemm m=1\n# phases: fwd", "my.txt:2: '# phases:' comes after a problem; "),
    "plural header": ("# defaults: a=b\ngemm", "my.txt:1: there is no header '# defaults:'; "),
    "singular header": ("# phase: fwd\ngemm", "my.txt:1: there is no header '# phase:'; "),
    "empty header": ("# constant:\ngemm", "my.txt:1: '# constant:' is empty; "),
    "not a default": ("# default: precision\ngemm", "my.txt:1: 'precision' is not a default; "),
    "no value": ("# default: m=\ngemm", "my.txt:1: 'm=' is not a default; "),
    "quoted default": ('# default: m="1"\ngemm', "my.txt:1: 'm=\"1\"' is not a default; "),
    "default application": ("# default: application=x\ngemm", "my.txt:1: application has no def"),
    "two defaults": ("# default: m=1\n# default: m=1\na", "my.txt:2: the default of m is given tw"),
    "commas": ("# phases: fwd,bwd\ngemm", "my.txt:1: 'fwd,bwd' is not a name; "),
    "phase named twice": ("# phases: fwd fwd\ngemm", "my.txt:1: '# phases:' names fwd twice; "),
    "phases and phase": ("# phases: fwd\n# default: phase=fwd\na", "my.txt:2: '# phases:' and a "),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_named_with_its_line(case: str) -> None:
    text, message = BROKEN[case]
    with pytest.raises(SuiteError) as caught:
        suite_of(text)
    check_message(str(caught.value), message)


def check_message(message: str, begins: str) -> None:
    assert message.startswith(begins)
    assert "; " in message
    assert message.isprintable()


def test_paths_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    large = tmp_path / "large"
    large.write_bytes(bytes(16 * 1024 * 1024 + 1))
    unreadable = {
        str(tmp_path / "absent"): "there is no such file",
        str(Path(__file__) / "below"): "cannot be read (Not a directory)",
        str(tmp_path / ("x" * 300)): "cannot be read (File name too long)",
        str(loop): "cannot be read (",
        str(tmp_path): "is a directory",
        str(large): "is too large; a suite has at most 16 MiB",
    }
    for path, what in unreadable.items():
        check_read_fails(path, f"{path}: {what}")
    check_read_fails("", "'': is a directory")
    check_read_fails("a\0b", "a\\x00b: cannot be the name of a file")
    check_read_fails("a\nb", "a\\nb: there is no such file")

    def forbidden(*_: object, **__: object) -> NoReturn:
        raise PermissionError(13, "Permission denied")  # chmod would not stop root

    monkeypatch.setattr(os, "open", forbidden)
    check_read_fails(__file__, f"{__file__}: may not be read; ")


def check_read_fails(path: str, begins: str) -> None:
    with pytest.raises(SuiteError) as caught:
        suites.read(path)
    check_message(str(caught.value), begins)


@every_set
def test_the_native_parser_takes_every_problem(pair: tuple[str, str]) -> None:
    core = pytest.importorskip("deepbench._core", reason="the native module is not built")
    suite = suites.builtin(*pair)
    keys = {parameter.name for operation in core.operations() for parameter in operation.parameters}
    parsed = suites.problems(suite, core.Problem.parse, {"precision": "half"}, keys)
    assert len(parsed) == COUNTS[pair] * max(1, len(suite.phases))
    for entry, problem in parsed:
        assert set(entry.text.split()) <= set(str(problem).split())


# ---- anything at all ------------------------------------------------------------------------

FRAGMENTS = st.sampled_from(
    ["gemm", " m=1", ' application="', '"', "\\", "'", "#", " default:", " phases:", " constant:",
     " a=b", " fwd", "=", "\n", "\r\n", "\t", "\x00", "\u2028", "\ufeff", "\xff", "é", " " * 5000]
)  # fmt: skip
JUMBLE = st.lists(FRAGMENTS, max_size=40).map(lambda parts: "".join(parts).encode())


def suite_or_message(data: bytes) -> Suite | str:
    try:
        return suite_of(data)
    except SuiteError as error:
        return str(error)


@given(st.one_of(st.binary(max_size=300), JUMBLE, st.text(max_size=300).map(str.encode)))
@example(b'"\t"')
@example(b"\xef\xbb\xbf\xef\xbb\xbfgemm")
def test_any_bytes_are_a_suite_or_a_suite_error(data: bytes) -> None:
    suite = suite_or_message(data)
    if isinstance(suite, str):
        check_message(suite, "my.txt:")
        return
    numbers = [entry.line for entry in suite.entries]
    assert numbers
    assert numbers == sorted(set(numbers))
    assert numbers[-1] <= data.count(b"\n") + 1
    for entry in suite.entries:
        assert entry.text.strip() == entry.text != ""
        assert entry.text.replace("\t", " ").isprintable()  # a tab only inside quotes
    assert len(suites.problems(suite, lambda *words: " ".join(words))) >= len(numbers)


@given(st.lists(st.characters(categories=["L", "N", "P", "S"]) | st.just(" "), min_size=1))
def test_a_quoted_application_comes_back(characters: list[str]) -> None:
    application = "".join(characters)
    assume(application.strip())
    quoted = application.replace("\\", "\\\\").replace('"', '\\"')
    (entry,) = suite_of(f'gemm m=1 application="{quoted}"\n').entries
    assert entry.text == "gemm m=1"
    assert entry.application == application


def test_importing_suites_is_cheap() -> None:
    code = "import sys, deepbench.suites; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
    )
    assert not {"numpy", "rich", "deepbench._core"} & set(done.stdout.split())
