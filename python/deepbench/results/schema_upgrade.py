"""Upgrades rows of older schema versions: maps their keys and values to those of the current one.

Version 2 renamed keys and changed no meaning, so that a row of version 1 loses nothing. Version 3
has other power regimes: `burst` was any row that was not `steady`, whether devices could rest or
not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# The object that holds a key, as its path in the row -> old name -> new name.
_RENAMED_IN_VERSION_2: Mapping[tuple[str, ...], Mapping[str, str]] = {
    ("algorithm",): {"gain": "speedup"},
    ("regime",): {"resident": "fits_cache", "shuffled": "schedule_perturbed"},
    ("regime", "published"): {"meant": "intended_attributes"},
    ("statistics",): {"error": "relative_standard_error", "fold": "batches_per_sample"},
    ("verification",): {"what": "scope", "worst": "max_error_ratio"},
    ("ranks",): {
        "of": "representative",
        "limit": "outlier_threshold",
        "apart": "mismatched",
        "error": "relative_standard_error",
    },
    ("ranks", "outliers"): {"off": "deviation"},
}


def upgrade_row(row: dict[str, Any], version: object, file_has_rests: bool) -> dict[str, Any]:
    """Returns a row of schema `version` with the keys of the current version. `file_has_rests`
    tells whether the device rested in any row of the same file. A value that should be an object
    but is not stays unchanged; the schema check that follows reports it."""
    if version not in (1, 2):
        return row
    upgraded = dict(row)
    if version == 1:
        for path, names in _RENAMED_IN_VERSION_2.items():
            _rename(upgraded, path, names)
    return _with_power_regime(upgraded, file_has_rests)


def upgrade_ceiling(
    ceiling: dict[str, Any], version: object, file_has_rests: bool
) -> dict[str, Any]:
    """Upgrades a ceiling in the same way, but not its key, because the file's rows name it."""
    return _with_power_regime(dict(ceiling), file_has_rests) if version == 2 else ceiling


def _with_power_regime(line: dict[str, Any], file_has_rests: bool) -> dict[str, Any]:
    regime = line.get("regime")
    if isinstance(regime, dict) and regime.get("power") == "burst":
        line["regime"] = {**regime, "power": "rested" if file_has_rests else "unrecorded"}
    return line


def _rename(parent: dict[str, Any], path: tuple[str, ...], names: Mapping[str, str]) -> None:
    """Renames the keys of the object at `path` below `parent`, or of each object of a list there.
    Copies what it changes."""
    key, *rest = path
    value = parent.get(key)
    if isinstance(value, list):
        parent[key] = [_renamed(item, names) for item in value]
    elif isinstance(value, dict) and rest:
        parent[key] = dict(value)
        _rename(parent[key], tuple(rest), names)
    elif isinstance(value, dict):
        parent[key] = _renamed(value, names)


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """A copy of the object with keys renamed, in their order; another value as it is."""
    if not isinstance(value, dict):
        return value
    return {names.get(key, key): kept for key, kept in value.items()}
