"""A result for programs: every row with its pairs, ratio and limits, all unrounded."""

from __future__ import annotations

import json
from typing import Any

from deepbench.ab.paired_test import ALPHA, ALPHA_OF_ALL, DIFFERENCE, POWER, PairedTest
from deepbench.ab.result import AbResult, Library, Mean, RowResult
from deepbench.compare.result_set import Entry
from deepbench.redaction import without_secrets

from .content import headline


def render_json(result: AbResult) -> str:
    decisive = {id(row) for row in result.decisive}
    document = {
        "type": "ab",
        "headline": headline(result),
        "different": result.is_different,
        "pairs": result.pairs,
        "alpha": ALPHA,
        "alpha_of_all": ALPHA_OF_ALL,
        "power": POWER,
        "difference": DIFFERENCE,
        "sides": [
            {
                "letter": setup.letter,
                "variables": without_secrets(setup.variables),
                "file": None if setup.output is None else str(setup.output),
            }
            for setup in result.setups
        ],
        "same_environment": result.same_environment,
        "libraries": [_library_json(one) for one in result.libraries],
        "mean": None if result.mean is None else _mean_json(result.mean),
        "families": [_mean_json(mean) for mean in result.families],
        "rows": [_row_json(row, id(row) in decisive) for row in result.rows],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _library_json(library: Library) -> dict[str, Any]:
    return {"name": library.name, "same": library.is_same, "a": library.a, "b": library.b}


def _mean_json(mean: Mean) -> dict[str, Any]:
    return {"name": mean.name, "rows": mean.rows, **_test_json(mean.test)}


def _row_json(row: RowResult, is_decisive: bool) -> dict[str, Any]:
    return {
        "problem": row.a.problem,
        "op": row.a.op,
        "attributes": dict(row.a.attributes),
        "a": _entry_json(row.a),
        "b": _entry_json(row.b),
        "pairs_ns": [list(pair) for pair in row.pairs],
        "disturbed": row.disturbed,
        **_test_json(row.test),
        "verdict": row.verdict,
        "decisive": is_decisive,
    }


def _entry_json(entry: Entry) -> dict[str, Any]:
    return {
        "status": entry.status,
        "reason": entry.reason,
        "time_ns": entry.time_ns,
        "library": entry.library,
        "candidate": entry.choice.candidate,
    }


def _test_json(test: PairedTest | None) -> dict[str, float | None]:
    if test is None:
        return dict.fromkeys(("ratio", "low", "high", "deviation", "probability", "resolution"))
    low, high = test.interval
    return {
        "ratio": test.ratio,
        "low": low,
        "high": high,
        "deviation": test.deviation,
        "probability": test.probability,
        "resolution": test.resolution,
    }
