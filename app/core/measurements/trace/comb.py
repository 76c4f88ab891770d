"""One step of a trace as a comb: the work of the GPU by stream over time."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import nlargest
from math import inf

from app.core.measurements.trace.activity import COMMUNICATION, Activity
from app.core.measurements.trace.communication import collective_bytes, collective_kind
from app.core.measurements.trace.tolls import MICRO, Window, events_in_order
from app.core.units import Seconds

MOST = 1200  # events of a comb
_LONGEST = 60  # letters of a short name
_STREAMS = 24
_ARGUMENTS = re.compile(r"\((?!anonymous).*$", re.DOTALL)
_NOISE = re.compile(r"^(?:static |void )+|\(anonymous namespace\)::|\b(?:at|c10)::(?:native::)?")


@dataclass(frozen=True, slots=True)
class CombEvent:
    """A kernel or copy: *stream* and *name* are positions in the comb's lists."""

    begin: Seconds  # after the first of the comb
    time: Seconds
    sort: int
    stream: int
    name: int
    size: int  # bytes of a copy or a collective, 0 if unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Comb:
    """The work of one step, by begin."""

    step: int | None  # which of the steps, from 1; None without steps
    span: Seconds
    streams: tuple[str, ...]
    names: tuple[str, ...]
    works: tuple[CombEvent, ...]
    left_out: int  # shorter events, where there are too many
    left_out_time: Seconds


def comb_of(activity: Activity, window: Window) -> Comb | None:
    """The comb of the step whose length is the median; of everything if no steps are marked."""
    spans = _spans(activity, window)
    if not spans:
        return None
    middle = sorted(spans, key=lambda step: spans[step][1] - spans[step][0])[len(spans) // 2]
    events = [event for event, step in _by_step(activity, window) if step == middle]
    return _comb(activity, events, middle if window.until < inf else None)


def _by_step(activity: Activity, window: Window) -> Iterator[tuple[int, int]]:
    """Each event in the window, and its step, from 1."""
    begins = [step[0] for step in activity.steps] if window.until < inf else []
    at = activity.launched if window.by_launch else activity.begin
    for event in events_in_order(activity, window):
        yield event, bisect_right(begins, at[event]) if begins else 1


def _spans(activity: Activity, window: Window) -> dict[int, tuple[float, float]]:
    """When the work of each step begins and ends; what precedes the first is of no step."""
    spans: dict[int, tuple[float, float]] = {}
    for event, step in _by_step(activity, window):
        begin = activity.begin[event]
        end = begin + activity.duration[event]
        if step:
            first, last = spans.get(step, (begin, end))
            spans[step] = (first, max(last, end))
    return spans


def _comb(activity: Activity, events: Sequence[int], step: int | None) -> Comb:
    duration = activity.duration.__getitem__
    longest = sorted(nlargest(MOST, events, key=duration), key=activity.begin.__getitem__)
    first = min(map(activity.begin.__getitem__, events))
    last = max(activity.begin[event] + duration(event) for event in events)
    names: dict[str, int] = {}
    streams = {lane: at for at, lane in enumerate(_streams(activity, longest))}
    works = tuple(
        CombEvent(
            begin=(activity.begin[event] - first) * MICRO,
            time=duration(event) * MICRO,
            sort=activity.sort[event],
            stream=streams[activity.stream[event]],
            name=names.setdefault(_name(activity, event), len(names)),
            size=_size(activity, event),
        )
        for event in longest
        if activity.stream[event] in streams
    )
    shown = sum(map(duration, longest))
    return Comb(
        step=step,
        span=(last - first) * MICRO,
        streams=tuple(activity.streams[lane][:_STREAMS] for lane in streams),
        names=tuple(names),
        works=works,
        left_out=len(events) - len(works),
        left_out_time=max(sum(map(duration, events)) - shown, 0.0) * MICRO,
    )


def _streams(activity: Activity, events: Sequence[int]) -> Sequence[int]:
    """The streams with the most work, those first that have the most."""
    busy: dict[int, float] = {}
    for event in events:
        lane = activity.stream[event]
        busy[lane] = busy.get(lane, 0.0) + activity.duration[event]
    return nlargest(_STREAMS, busy, key=lambda lane: busy[lane])


def _name(activity: Activity, event: int) -> str:
    return short(activity.names[activity.name[event]])


def _size(activity: Activity, event: int) -> int:
    said = activity.collectives.get(event)
    if activity.sort[event] != COMMUNICATION or said is None:
        return activity.copied[event]
    return collective_bytes(collective_kind(str(said.collective or "")), said) or 0


def short(name: str) -> str:
    """The name of a kernel without its arguments and the noise of C++.

    >>> short("void at::native::vectorized_elementwise_kernel<4, at::native::Add<float>>(int)")
    'vectorized_elementwise_kernel'
    >>> short("Memcpy HtoD (Pinned -> Device)")
    'Memcpy HtoD (Pinned -> Device)'
    """
    if name.startswith("Mem"):
        return name[:_LONGEST]
    bare = _ARGUMENTS.sub("", _NOISE.sub("", name)).partition("<")[0].strip()
    return (bare or name)[:_LONGEST]
