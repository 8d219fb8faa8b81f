"""Creates the package's measured references from result files.

    python tools/measured_references.py [RESULTS [FOLDER]]

Reads all result files below RESULTS (default results) and writes a compressed result file for each
kind of device and measured.json, their index, to FOLDER (default python/deepbench/references). A
reference has the sound rows without their samples. Where several devices measured the same rows,
the index states by how much the devices differ, and a row of at least five devices has the time and
the energy of each. The same files give the same bytes.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import re
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

from deepbench import _core, references, results
from deepbench.references import (
    family_of,
    kind_of_device,
    kind_of_identity,
    processor_identity,
)
from deepbench.references.admission import is_sound
from deepbench.results import ResultFile, Row, schema
from deepbench.results.build import version_text
from deepbench.results.fleet import counted_ranks
from deepbench.results.row import DeviceFigures

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "python/deepbench/references"

Json = dict[str, Any]

DIGITS = 7  # of a time, more than its interval resolves
# Options that a context states for all rows of a file, so that a reference of several files cannot.
EXCLUDED_OPTIONS = frozenset({"inputs", "threads"})
# Facts of the device that a reference states; only processors have more than a name of them.
FACTS = ("name", "cores", "isa", "shares_host_memory")
FEWEST_ROWS = 10  # that devices have to share, so that their means are those of a family
KEPT: Mapping[str, Sequence[str]] = {
    "algorithm": ("mode", "name", "candidate"),
    "regime": ("cache", "cold", "fits_cache", "launch", "timer", "power", "threads", "ranks"),
    "statistics": ("median_ns", "low_ns", "high_ns", "q1_ns", "q3_ns", "stdev_ns",
                   "relative_standard_error", "n", "visits"),
    "work": ("flops", "bytes"),
    "verification": ("status",),
    "observed": ("sm_clock_mhz",),
}  # fmt: skip
KEPT_OF_VISITS = ("count", "class_degrees_of_freedom", "class_deviation")


class Kind(NamedTuple):
    """The result files of one kind of device."""

    name: str
    backend: str
    files: list[ResultFile]


def main() -> None:
    if len(sys.argv) > 3:
        sys.exit(__doc__)
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "results"
    write_references(Path(sys.argv[2]) if len(sys.argv) > 2 else FOLDER, source)


def write_references(folder: Path, source: Path) -> None:
    """Writes a file for each kind of device, and measured.json."""
    index = []
    for kind in kinds_of_devices(source):
        file = re.sub(r"[^a-z0-9]+", "_", kind.name.lower()).strip("_") + ".jsonl.gz"
        measured = figures_by_setup(kind.files)
        rows = [
            thinned(position, row, judging_devices(measured.get(setup_of(row), {})))
            for position, row in enumerate(reference_rows(kind))
        ]
        lines = [json.dumps(reference_context(kind, len(rows)), ensure_ascii=False)]
        lines += map(_core.line_of_members, rows)
        data = "".join(line + "\n" for line in lines).encode()
        (folder / file).write_bytes(gzip.compress(data, 9, mtime=0))
        index.append(index_entry(kind, file, rows, data))
    (folder / "measured.json").write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")


def kinds_of_devices(source: Path) -> list[Kind]:
    """The result files below a folder by the kind of device, without those of EXCLUDED_OPTIONS.

    A processor that has collectives alone is the host of several GPUs, and no kind of its own."""
    kinds: dict[tuple[str, str], Kind] = {}
    for path in sorted(source.rglob("*.jsonl")):
        result = results.read(path)
        if not EXCLUDED_OPTIONS & result.context["options"].keys():
            kind = kind_of_device(result.context["device"])
            about = str(kind), result.context["backend"]["name"]
            kinds.setdefault(about, Kind(*about, [])).files.append(result)
    found = [kinds[about] for about in sorted(kinds)]
    return [kind for kind in found if has_rows_of_one_device(kind)]


def has_rows_of_one_device(kind: Kind) -> bool:
    return any(not row.regime.ranks for result in kind.files for row in result.rows)


def common_facts(files: Sequence[ResultFile]) -> Json:
    """The facts of a device in which the files agree."""
    first, *others = (result.context["device"] for result in files)
    return {
        name: first[name]
        for name in FACTS
        if first.get(name) and all(one.get(name) == first[name] for one in others)
    }


def reference_rows(kind: Kind) -> Iterator[Row]:
    """The sound rows, each problem from the first file that has it in the same regime, with the
    same library and choice of algorithm. Rows of a fleet are those of several devices, not of
    one."""
    known: set[Hashable] = set()
    for result in kind.files:
        rows = [row for row in result.rows if is_sound(row) and not is_of_fleet(row)]
        yield from (row for row in rows if (row.application, setup_of(row)) not in known)
        known.update((row.application, setup_of(row)) for row in rows)


def is_of_fleet(row: Row) -> bool:
    """Whether several devices measured the row, each for itself."""
    return row.ranks is not None and not row.regime.ranks


def setup_of(row: Row) -> Hashable:
    """What two rows have in common that repeat each other. A device of a file without rests may
    have rested, so that its rows count as such."""
    regime = row.regime
    power = "rested" if regime.power == "unrecorded" else regime.power
    conditions = (
        regime.cache, regime.cold, regime.launch, power, regime.threads, regime.ranks
    )  # fmt: skip
    return row.problem, conditions, row.library, row.algorithm.mode


def judging_devices(measured: Mapping[str, DeviceFigures]) -> list[Json]:
    """What devices with an identity measured, if these are enough to judge another device by; their
    energies, if enough devices state one."""
    known = [one for one in measured.values() if one.identity]
    # A machine has one identity for root and another one for all other users.
    has_one_kind = len({kind_of_identity(one.identity) for one in known}) == 1
    if len(known) < references.FEWEST_DEVICES or not has_one_kind:
        return []
    energies = sum(one.energy_j is not None for one in known)
    kept = [asdict(one) for one in known]
    for one in kept:
        if energies < references.FEWEST_DEVICES or one["energy_j"] is None:
            del one["energy_j"]
    return kept


def thinned(position: int, row: Row, devices: Sequence[Json]) -> Json:
    """The members of a row that a comparison needs, and what each of several devices measured."""
    kept: Json = {
        "type": "row",
        "position": position,
        **{name: row.members.get(name) for name in ("problem", "op", "attributes", "application")},
        "backend": row.backend,
        "device": {"index": row.device.index, "name": row.device.name},
        "library": row.library,
        "status": row.status,
        "reason": row.reason,
    }
    for name, keys in KEPT.items():
        members = row.members.get(name) or {}
        kept[name] = {key: members[key] for key in keys if members.get(key) is not None}
    if "visits" in kept["statistics"]:
        visits = kept["statistics"]["visits"]
        kept["statistics"]["visits"] = {key: visits.get(key) for key in KEPT_OF_VISITS}
    if devices:
        kept["devices"] = devices
    return rounded(kept)


def rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def reference_context(kind: Kind, rows: int) -> Json:
    newest = max(kind.files, key=lambda result: str(result.context["started"])).context
    devices = len(devices_of(kind.files))
    versions = ", ".join(f"{name} {text}" for name, text in libraries_of(kind.files).items())
    measured = (
        f"{kind.name}: measured by deepbench on {devices} device{'s' if devices > 1 else ''}, "
        f"{dates(kind)}, with {versions}"
    )
    device = common_facts(kind.files)
    if not device.get("shares_host_memory"):
        measured += f"; driver {drivers(kind) or 'not recorded'}"
    return {
        "type": "context",
        "schema": schema.VERSION,
        "command": None,
        "started": newest["started"],
        "set": None,
        "rows": rows,
        "version": newest["version"],
        "backend": {"name": kind.backend},
        "device": device,
        "libraries": {name: {"version": text} for name, text in libraries_of(kind.files).items()},
        "options": {},
        "reference": {"devices": devices},
        "footnotes": [measured],
    }


def index_entry(kind: Kind, file: str, rows: Sequence[Json], data: bytes) -> Json:
    """The facts about a reference that are available without opening it."""
    return {
        "name": kind.name,
        "file": file,
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "rows": len(rows),
        "sets": sorted({result.context["set"] or "" for result in kind.files} - {""}),
        "ops": dict(sorted(Counter(row["op"] for row in rows).items())),
        "precisions": sorted({str(row["attributes"].get("precision", "")) for row in rows} - {""}),
        "backend": kind.backend,
        "libraries": libraries_of(kind.files),
        "driver": drivers(kind),
        "power": sorted({row["regime"]["power"] for row in rows}),
        "builds": sorted({str(version_text(result.context)) for result in kind.files}),
        "date": dates(kind),
        "devices": len(devices_of(kind.files)),
        "sources": digest_of([result.path for result in kind.files]),
        "spread": spread_between_devices(kind.files),
    }


def digest_of(paths: Iterable[Path]) -> str:
    """By which a test finds that result files have changed since."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def libraries_of(files: Iterable[ResultFile]) -> dict[str, str]:
    """The versions of the libraries that measured rows, without parts of deepbench that have
    none."""
    versions: defaultdict[str, set[str]] = defaultdict(set)
    for result in files:
        for name in {row.library.split()[0] for row in result.rows if row.library}:
            version = (result.context["libraries"].get(name) or {}).get("version")
            versions[name].update([version] if version else [])
    return {name: ", ".join(sorted(versions[name])) for name in sorted(versions) if versions[name]}


def drivers(kind: Kind) -> str | None:
    versions = {str(result.context["device"].get("driver") or "") for result in kind.files}
    return ", ".join(sorted(versions - {""})) or None


def dates(kind: Kind) -> str:
    """'2026-11-22 to 2026-11-23'."""
    days = sorted(str(result.context["started"])[:10] for result in kind.files)
    return " to ".join(dict.fromkeys((days[0], days[-1])))


def devices_of(files: Iterable[ResultFile]) -> set[str]:
    """The identities of all devices that measured rows."""
    return {device for result in files for device in file_devices(result)}


def file_devices(result: ResultFile) -> list[str]:
    """The identities of the devices of a file: of each rank if there are several. Devices without
    one are one device."""
    ranks = (result.context.get("ranks") or {}).get("devices")
    if ranks:
        return [str(device.get("uuid") or device["name"]) for device in ranks]
    device = result.context["device"]
    return [str(device.get("uuid") or processor_identity(result.context) or device["name"])]


def spread_between_devices(files: Sequence[ResultFile]) -> dict[str, Json]:
    """For each family the deviation of the logarithm of the time between devices: each device has
    the geometric mean of the rows that all of them measured in the same setup."""
    families: defaultdict[str, list[dict[str, float]]] = defaultdict(list)
    for (family, _), times in times_by_setup(files).items():
        if len(times) > 1:
            families[family].append(times)
    spreads = {family: deviation_between_devices(rows) for family, rows in families.items()}
    return {family: spreads[family] for family in sorted(spreads) if spreads[family]}


def times_by_setup(files: Sequence[ResultFile]) -> dict[tuple[str, Hashable], dict[str, float]]:
    """The time of each device, by family and setup."""
    families = {
        setup_of(row): family_of(row.op, row.attributes) for one in files for row in one.rows
    }
    return {
        (families[setup], setup): {
            device: one.median_ns for device, one in devices.items() if one.median_ns
        }
        for setup, devices in figures_by_setup(files).items()
    }


def figures_by_setup(files: Sequence[ResultFile]) -> dict[Hashable, dict[str, DeviceFigures]]:
    """What each device measured, by setup and name. The first energy of a device counts, since few
    files state one. Collective operations have no figures of one device."""
    found: defaultdict[Hashable, dict[str, DeviceFigures]] = defaultdict(dict)
    for result in files:
        devices, has_identities = file_devices(result), states_identities(result)
        for row in result.rows:
            if not is_sound(row) or row.regime.ranks:
                continue
            known = found[setup_of(row)]
            for place, time in times_by_place(row):
                device = devices[place]
                new = DeviceFigures(device if has_identities else "", time)
                first = known.setdefault(device, new)
                if first.energy_j is None and row.ranks is None:
                    known[device] = replace(first, energy_j=row.energy_j)
    return found


def times_by_place(row: Row) -> list[tuple[int, float]]:
    """The time on the device of the file, or on each device of a fleet that counts."""
    if row.ranks is None:
        return [(0, row.time_ns)] if row.time_ns else []
    medians = row.ranks.median_ns
    return [(rank, float(medians[rank] or 0)) for rank in sorted(counted_ranks(row.ranks))]


def states_identities(result: ResultFile) -> bool:
    """Whether the file tells its devices apart from others of their kind."""
    ranks = (result.context.get("ranks") or {}).get("devices")
    if ranks:
        return all(device.get("uuid") for device in ranks)
    return bool(result.context["device"].get("uuid") or processor_identity(result.context))


def deviation_between_devices(rows: Sequence[Mapping[str, float]]) -> Json:
    """The deviation between the most devices that share enough rows; empty if none do."""
    shared = {
        frozenset(times): [one for one in rows if times.keys() <= one.keys()] for times in rows
    }
    enough = {devices: same for devices, same in shared.items() if len(same) >= FEWEST_ROWS}
    if not enough:
        return {}
    devices = max(enough, key=lambda one: (len(one), len(enough[one]), sorted(one)))
    means = [
        statistics.fmean(math.log(times[device]) for times in enough[devices])
        for device in sorted(devices)
    ]
    return {"devices": len(devices), "log_sd": float(f"{statistics.stdev(means):.3g}")}


if __name__ == "__main__":
    main()
