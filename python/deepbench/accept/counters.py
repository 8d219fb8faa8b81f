"""Counts of errors and of throttling, which must not rise while a machine is accepted.

A backend states the counts of its device as facts of the device. The counts of a device that shares
the host's memory are the host's, which Linux keeps in /sys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from deepbench.json_types import JsonObject
from deepbench.runner.environment import read_text

Counts = Mapping[str, int | None]  # by what is counted; None: unknown

_ERRORS_OF_DEVICE = {
    "corrected memory errors": "ecc_corrected_errors",
    "uncorrected memory errors": "ecc_uncorrected_errors",
}
ERROR_COUNTS = tuple(_ERRORS_OF_DEVICE)
_EVENTS = {"throttling events": "throttle_events"}
# A device states one or both of these.
_THROTTLING_OF_DEVICE = {**_EVENTS, "time of throttling (ns)": "throttled_ns"}
_OF_HOST = {
    "corrected memory errors": "sys/devices/system/edac/mc/mc*/ce_count",
    "uncorrected memory errors": "sys/devices/system/edac/mc/mc*/ue_count",
    "throttling events": "sys/devices/system/cpu/cpu*/thermal_throttle/*_throttle_count",
}


def counts_of(device: JsonObject, root: Path = Path("/")) -> Counts:
    """The counts of a device with these facts. The files of the host's counts are below `root`."""
    if device.get("shares_host_memory"):
        return {what: _sum_of(root.glob(pattern)) for what, pattern in _OF_HOST.items()}
    told = {what: name for what, name in _THROTTLING_OF_DEVICE.items() if name in device}
    names = {**_ERRORS_OF_DEVICE, **(told or _EVENTS)}
    known = {what: device.get(name) for what, name in names.items()}
    return {what: int(count) if isinstance(count, (int, float)) else None
            for what, count in known.items()}  # fmt: skip


def _sum_of(files: Iterable[Path]) -> int | None:
    """None if there is no file, or if one has no number."""
    texts = [read_text(path).strip() for path in files]
    return sum(map(int, texts)) if texts and all(text.isdigit() for text in texts) else None
