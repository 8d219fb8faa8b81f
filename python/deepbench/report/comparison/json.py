"""A comparison for programs: every pair with its ratio, limits and verdict, all unrounded."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from deepbench.compare import (
    AllCalls,
    ComparedRow,
    Comparison,
    Entry,
    Group,
    PairwiseComparison,
    Ratio,
    ResultSet,
    Unmatched,
    headline,
)
from deepbench.compare.reference_differences import reference_differences

from .headline import headlines
from .wording import result_set_letter
from .workloads import workload_members


def render_json(comparison: Comparison) -> str:
    rules = comparison.rules
    document = {
        "type": "comparison",
        "base": _result_set_json(comparison.base, 0),
        "across": list(rules.across),
        "noise": rules.noise,
        "fail_over": rules.fail_over,
        "any_clock": rules.any_clock,
        "against": [
            _comparison_json(comparison, one, i) for i, one in enumerate(comparison.others, start=1)
        ],
        "regressions": comparison.regressions,
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _result_set_json(result_set: ResultSet, index: int) -> dict[str, Any]:
    return {
        "letter": result_set_letter(index),
        "name": result_set.name,
        "about": result_set.about,
        "published": result_set.published,
        "is_reference": result_set.is_reference,
        "footnotes": list(result_set.footnotes),
        "rows": len(result_set.entries),
    }


def _comparison_json(
    comparison: Comparison, against: PairwiseComparison, index: int
) -> dict[str, Any]:
    return {
        "side": _result_set_json(against.result_set, index),
        "reference_differences": list(
            reference_differences(comparison.base, against, result_set_letter(index))
        ),
        "headline": _headline_json(comparison, index),
        "mean": None if against.overall is None else _group_json(against.overall),
        "calls_by_regime": {
            regime: _all_calls_json(found) for regime, found in against.calls_by_regime.items()
        },
        "workload": workload_members(against.workload),
        "families": [_group_json(group) for group in against.families],
        "applications": [_group_json(group) for group in against.applications],
        "rows": [_row_json(row) for row in against.rows],
        "only_in_base": [_unmatched_json(row) for row in against.missing],
        "not_in_base": [_unmatched_json(row) for row in against.extra],
        "sums_left_out": against.derived,
    }


def _headline_json(comparison: Comparison, index: int) -> dict[str, Any]:
    found = headline(comparison.others[index - 1], comparison.rules.change_threshold)
    return {
        "text": headlines(comparison)[index - 1],
        "faster": None if found.faster is None else result_set_letter(found.faster and index),
        "factor": found.factor,
        "low": found.low,
        "high": found.high,
        "rows": found.rows,
        "left_out": found.left_out,
        "verdict": found.verdict,
        "across": list(found.across),
    }


def _row_json(row: ComparedRow) -> dict[str, Any]:
    return {
        "problem": row.base.problem,
        "op": row.base.op,
        "attributes": dict(row.base.attributes),
        "application": row.base.application,
        "base": _entry_json(row.base),
        "other": _entry_json(row.other),
        **_ratio_json(row.ratio),
        "noise": row.noise,
        "verdict": row.verdict,
        "same_algorithm": row.same_algorithm,
        "same_by_clock": row.explained_by_clock,
        "mended": row.is_fixed,
        "broken": row.is_broken,
    }


def _entry_json(entry: Entry) -> dict[str, Any]:
    return {
        "problem": entry.problem,
        "position": entry.position,
        "count": entry.count,
        "applications": [asdict(one) for one in entry.applications],
        "status": entry.status,
        "reason": entry.reason,
        "time_ns": entry.time_ns,
        "tflops": entry.tflops,
        "gbps": entry.gbps,
        "backend": entry.backend,
        "device": entry.device,
        "library": entry.library,
        "algorithm": entry.algorithm,
        "algorithm_name": entry.choice.text,
        "candidate": entry.choice.candidate,
        "published": entry.published,
        "doubt": entry.doubt,
    }


def _ratio_json(ratio: Ratio | None) -> dict[str, float | None]:
    if ratio is None:
        return {"ratio": None, "low": None, "high": None}
    return {"ratio": ratio.value, "low": ratio.low, "high": ratio.high}


def _group_json(group: Group) -> dict[str, Any]:
    return {
        "name": group.name,
        "rows": group.rows,
        "left_out": group.left_out,
        **_ratio_json(group.ratio),
        "faster": group.faster,
        "slower": group.slower,
        "verdict": group.verdict,
        "all_calls": _all_calls_json(group.all_calls),
    }


def _all_calls_json(found: AllCalls | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "rows": found.rows,
        "calls": found.calls,
        "base_ns": found.base_ns,
        "other_ns": found.other_ns,
        "speedup": found.speedup,
    }


def _unmatched_json(row: Unmatched) -> dict[str, Any]:
    return {
        "problem": row.entry.problem,
        "position": row.entry.position,
        "status": row.entry.status,
        "reason": row.reason,
    }
