"""Reads a Chrome trace of torch.profiler with shapes.

An operator's event covers those of the operators that it calls. A call is therefore read at the
outermost event that states it completely, and what lies below belongs to it: aten::convolution is
read itself, and aten::cudnn_convolution below it belongs to it; aten::linear is read itself only if
no call such as aten::addmm lies below it, which is otherwise read in its place. If the trace has
kernels, the time of a call is that of the kernels that were launched below it; else it is the time
of the event.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from deepbench.traces.aten_calls import COMPOSITES, LISTS, NAMES, Arguments, problems_of_call
from deepbench.traces.errors import CallError, TraceError
from deepbench.traces.recording import Recording, short_name

_OPERATOR, _SCOPE, _DEVICE, _GRAPH_LAUNCH = "operator", "scope", "device", "graph launch"
_DEVICE_CATEGORIES = ("kernel", "gpu_memcpy", "gpu_memset")
_LAUNCH_CATEGORIES = ("cuda_runtime", "cuda_driver")
_NUMBERS = ("External id", "Sequence number", "Fwd thread id", "correlation")  # arguments of events
_MODULE = "nn.Module: "
_STEP = "ProfilerStep#"
_TF32_KERNEL = re.compile(r"tf32|s1688", re.IGNORECASE)
_MOST_US = 1e18  # the largest timestamp, in microseconds
_RECORD = "record it with torch.profiler.profile(record_shapes=True)"
_CALLERS = "operators around the calls that were read"
_OF_GRAPHS = "kernels of replayed CUDA graphs"
_HAS_NAMES_ONLY = (
    "the kernels of a replayed CUDA graph have names only; record the capture, or a run without "
    "graphs"
)


@dataclass(slots=True, eq=False)
class Event:
    """An event with a duration. Times are microseconds."""

    kind: str
    name: str
    thread: tuple[object, object]
    start: float
    end: float
    arguments: Mapping[str, Any]
    above: Event | None = None  # the operator that called it
    scope: str = ""  # the innermost module or annotation around it
    forward: int | None = None  # of a gradient: the number of the forward call
    inner_us: float = 0.0  # of the operators that it calls
    has_call: bool = False  # whether an operator below it is a call
    call: Call | None = None  # the call that it is or belongs to


@dataclass(slots=True, eq=False)
class Call:
    """An operator that is read as a whole."""

    event: Event
    time_us: float = 0.0
    kernels: list[str] = field(default_factory=list)


def read_chrome_trace(data: bytes) -> Recording:
    """The calls of a trace. Raises TraceError, without the name of the file."""
    document = _parsed(data)
    events = document.get("traceEvents") if isinstance(document, dict) else document
    if not isinstance(events, list):
        raise TraceError("is JSON, but no Chrome trace: it has no list traceEvents")
    return _Reader([one for one in events if isinstance(one, Event)], document).recording()


def _parsed(data: bytes) -> Any:
    """The JSON of a trace, in which every event is an Event or None."""
    try:
        return json.loads(data, object_hook=_reduced, parse_constant=lambda name: None)
    except RecursionError:
        raise TraceError("is nested too deeply for a trace") from None
    except ValueError:  # also bytes that are not UTF-8
        raise TraceError("is not JSON, or is cut short; export the trace again") from None


def _reduced(members: dict[str, Any]) -> Any:
    """An event in a compact form, so that a long trace fits into memory; None for an event that is
    not needed. Other objects stay as they are."""
    if "ph" not in members:
        return members
    name, category = members.get("name"), members.get("cat")
    if members["ph"] != "X" or not isinstance(name, str) or not isinstance(category, str):
        return None
    start, duration = _number(members.get("ts")), _number(members.get("dur"))
    kind = _kind(name, category.lower())
    if kind is None or start is None or duration is None or duration < 0:
        return None
    thread = (_key(members.get("pid")), _key(members.get("tid")))
    arguments = members.get("args")
    known = {}
    if isinstance(arguments, dict):
        wanted = (*_NUMBERS, *LISTS) if name in NAMES else _NUMBERS
        known = {key: arguments[key] for key in wanted if key in arguments}
    return Event(kind, name, thread, start, start + duration, known)


def _kind(name: str, category: str) -> str | None:
    if category in ("cpu_op", "operator"):
        return _OPERATOR
    if category in _DEVICE_CATEGORIES:
        return _DEVICE
    if category in _LAUNCH_CATEGORIES:
        return _GRAPH_LAUNCH if "GraphLaunch" in name else None
    named = category == "user_annotation" and not name.startswith(_STEP)
    return _SCOPE if named or (category == "python_function" and name.startswith(_MODULE)) else None


def _number(value: object) -> float | None:
    """A number of microseconds."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if abs(value) <= _MOST_US else None


def _key(value: object) -> object:
    """A value that a dictionary can hold."""
    return value if isinstance(value, (int, str)) else None


class _Reader:
    """Arranges the events of a trace and reads its calls."""

    def __init__(self, events: list[Event], document: Any) -> None:
        self._operators = _arranged_operators(events)
        self._device = [one for one in events if one.kind == _DEVICE]
        self._graphs = {
            _integer(one.arguments, "correlation") for one in events if one.kind == _GRAPH_LAUNCH
        } - {None}
        self._recording = Recording("a trace of PyTorch's profiler", "torch.profiler")
        self._recording.device = _device_name(document)
        self._calls: list[Call] = []

    def recording(self) -> Recording:
        self._find_calls()
        self._require_calls()
        if self._device:
            self._charge_kernels()
        else:
            self._charge_operators()
        forward = {
            number: one.scope
            for one in self._operators
            if one.scope and one.forward is None
            and (number := _integer(one.arguments, "Sequence number")) is not None
        }  # fmt: skip
        for call in self._calls:
            event = call.event
            of_forward = forward.get(event.forward, "") if event.forward is not None else ""
            self._add(call, of_forward or event.scope or event.name)
        return self._recording

    def _find_calls(self) -> None:
        for event in self._operators:
            if event.name in NAMES:
                above = event.above
                while above is not None and not above.has_call:
                    above.has_call = True
                    above = above.above
        for event in self._operators:  # a caller comes before what it calls
            event.call = event.above.call if event.above is not None else None
            is_call = event.name in NAMES and not (event.name in COMPOSITES and event.has_call)
            if event.call is None and is_call:
                event.call = Call(event)
                self._calls.append(event.call)
        self._calls.sort(key=lambda call: call.event.start)  # those of all threads

    def _require_calls(self) -> None:
        """Raises TraceError for a trace from which nothing can be read, with the reason."""
        if not self._operators and self._graphs:
            raise TraceError(f"holds replays of CUDA graphs alone: {_HAS_NAMES_ONLY}")
        if not self._operators:
            raise TraceError(f"has no operators of PyTorch; {_RECORD}")
        shapes = [Arguments(one.event.arguments).has_shapes for one in self._calls]
        if shapes and not any(shapes):
            raise TraceError(
                f"has {len(shapes)} products and convolutions without shapes; {_RECORD}"
            )

    def _charge_operators(self) -> None:
        """The time of an operator without that of those that it calls, to the call or the name."""
        for event in self._operators:
            self._charge(event, max(0.0, event.end - event.start - event.inner_us))

    def _charge_kernels(self) -> None:
        operators = {_integer(one.arguments, "External id"): one for one in self._operators}
        operators.pop(None, None)
        for kernel in self._device:
            took_us = kernel.end - kernel.start
            if _integer(kernel.arguments, "correlation") in self._graphs:
                self._recording.leave_out(_OF_GRAPHS, _HAS_NAMES_ONLY, took_us * 1e3)
                continue
            above = operators.get(_integer(kernel.arguments, "External id"), kernel)
            self._charge(above, took_us)
            if above.call is not None:
                above.call.kernels.append(kernel.name)

    def _charge(self, event: Event, took_us: float) -> None:
        if event.call is not None:
            event.call.time_us += took_us
        elif event.has_call:
            self._recording.leave_out(_CALLERS, time_ns=took_us * 1e3)
        else:
            self._recording.leave_out(event.name, time_ns=took_us * 1e3)

    def _add(self, call: Call, application: str) -> None:
        name, time_ns = call.event.name, call.time_us * 1e3
        tf32 = any(_TF32_KERNEL.search(kernel) for kernel in call.kernels)
        try:
            problems = problems_of_call(name, Arguments(call.event.arguments), tf32)
        except CallError as error:
            self._recording.leave_out(name, str(error), time_ns)
        else:
            self._recording.add_call(name, problems, application, time_ns)


def _arranged_operators(events: Iterable[Event]) -> list[Event]:
    """The operators, a caller before those that it calls; each learns what is around it."""
    threads: dict[tuple[object, object], list[Event]] = {}
    for event in events:
        if event.kind in (_OPERATOR, _SCOPE):
            threads.setdefault(event.thread, []).append(event)
    operators: list[Event] = []
    for thread in threads.values():
        thread.sort(key=lambda one: (one.start, -one.end))
        around: list[Event] = []
        for event in thread:
            # Microseconds of the time of day are rounded to a quarter of one.
            slack = 2 * math.ulp(event.start)
            while around and around[-1].end <= event.start + slack:
                around.pop()
            if around:
                _place_below(event, around[-1])
            if event.kind == _OPERATOR:
                operators.append(event)
                # Only operators of a gradient have it.
                if _integer(event.arguments, "Fwd thread id"):
                    event.forward = _integer(event.arguments, "Sequence number")
            around.append(event)
    return operators


def _place_below(event: Event, outer: Event) -> None:
    """Tells an event what is around it, the innermost of which is `outer`."""
    event.above, event.scope = outer, outer.scope
    if outer.kind == _SCOPE:
        event.above = outer.above
        event.scope = short_name(outer.name.removeprefix(_MODULE)) or outer.scope
    event.forward = outer.forward
    if event.kind == _OPERATOR and event.above is not None:
        event.above.inner_us += event.end - event.start


def _integer(arguments: Mapping[str, Any], name: str) -> int | None:
    value = arguments.get(name)
    return value if type(value) is int else None


def _device_name(document: Any) -> str | None:
    devices = document.get("deviceProperties") if isinstance(document, dict) else None
    first = devices[0] if isinstance(devices, list) and devices else None
    name = first.get("name") if isinstance(first, dict) else None
    return (short_name(name) or None) if isinstance(name, str) else None
