"""A trace without what is private: numbers and names of kernels, in a fraction of the size.

Left out are paths, the environment, the names of hosts and users, Python frames, the operators of
the CPU and annotations, save the steps; the report of the slim trace is that of the whole one.
"""

import gzip
import re
from collections.abc import Mapping
from hashlib import sha256
from typing import BinaryIO

import msgspec

from app.core.measurements.trace import activity
from app.core.measurements.trace.events import Arguments, Event, EventFile

_GENERATED = re.compile(r"[\w.\-]{0,16}")
_PATH = re.compile(r"(?:[A-Za-z]:)?(?:[/\\][\w.\-+@~ ]+){2,}[/\\]?")
_STEP = re.compile(activity.STEP + r"\d+")
_JOB = ("backend", "rank", "world_size", "nccl_version")
_LEVEL = 6  # of compression
_HEAD = b'{"schemaVersion":1,"traceEvents":['


def slim(source: BinaryIO, target: BinaryIO, *, packed: bool) -> tuple[int, int]:
    """Write the trace *source* to *target* without what is private; how many events were kept, of how many.

    If *packed*, with gzip.

    Raises:
        InputError: *source* is not a trace.
    """
    if not packed:
        return _write(EventFile(source), target)
    with gzip.GzipFile(fileobj=target, mode="wb", compresslevel=_LEVEL, mtime=0, filename="") as out:
        return _write(EventFile(source), out)


def _write(source: EventFile, out: BinaryIO | gzip.GzipFile) -> tuple[int, int]:
    kept = seen = 0
    out.write(_HEAD)
    for events in source.events():
        seen += len(events)
        some = [public(event) for event in events if is_needed(event)]
        if some:
            out.write(b",\n" if kept else b"")
            out.write(msgspec.json.encode(some)[1:-1].replace(b"},{", b"},\n{"))
            kept += len(some)
    out.write(b'],"distributedInfo":' + msgspec.json.encode(_job(source.job.distributed or {})))
    hardware = [device.get("name") for device in (source.job.devices or [])[:1]]
    names = [{"id": 0, "name": name[:100]} for name in hardware if isinstance(name, str)]
    out.write(b',"deviceProperties":' + msgspec.json.encode(names) + b"}\n")
    return kept, seen


def is_needed(event: Event) -> bool:
    """Whether the report needs *event*."""
    if event.ph != "X":
        return bool(activity.device_process(event))
    if activity.calls(event.cat):
        return activity.may_launch(event.name)
    if _STEP.match(event.name):
        return event.cat != "gpu_user_annotation"
    return activity.works(event.cat) or event.name == activity.CPU_COLLECTIVE or activity.is_foreign(event)


def public(event: Event) -> Event:
    """*event* without what may be private."""
    args = event.args or Arguments()
    step = _STEP.match(event.name)
    return Event(
        ph=event.ph,
        cat=event.cat,
        name=step[0] if step else _PATH.sub("/", event.name),
        pid=_short(event.pid),
        tid=_short(event.tid),
        ts=event.ts,
        dur=event.dur,
        args=Arguments(
            **{name: _short(getattr(args, name)) for name in Arguments.__struct_fields__}
            | {"group_name": _digest(args.group_name), "group_ranks": args.group_ranks}
            | {"name": activity.device_process(event) or None}
        ),
    )


def _short(value: object) -> object:
    """*value* if it is a number or a short word; texts may hold anything."""
    if isinstance(value, str):
        return value if _GENERATED.fullmatch(value) else _digest(value)
    return value if isinstance(value, int | float) else None


def _digest(value: object) -> str | None:
    """The same short text for the same *value*, on every rank; numbers stay what they are."""
    if value is None:
        return None
    text = str(value)
    return text if text.isdecimal() else sha256(text.encode("utf-8", "replace")).hexdigest()[:12]


def _job(distributed: Mapping[str, object]) -> Mapping[str, object]:
    found: dict[str, object] = {name: _short(distributed[name]) for name in _JOB if name in distributed}
    if isinstance(listed := distributed.get("pg_config"), list):
        groups = [one for one in listed if isinstance(one, dict) and isinstance(one.get("ranks"), list)]
        found["pg_config"] = [
            {"pg_name": _digest(one.get("pg_name")), "ranks": [rank for rank in one["ranks"] if isinstance(rank, int)]}
            for one in groups
        ]
    return found
