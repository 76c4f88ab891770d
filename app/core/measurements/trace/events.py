"""The events of a trace file, some thousands at a time.

A gigabyte is read in tens of megabytes: the list is cut where one event ends and the next begins.
A cut inside of a text leaves JSON that is not valid, so it is noticed; such a piece is read event
by event, and what is damaged is counted and left out.
"""

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import BinaryIO

import msgspec

from app.core.errors import InputError
from app.core.measurements.packed_files import CutOffError, blocks

_LONGEST = 16 << 20  # bytes of one event, and of what stands before the list
_KEPT = 1 << 20  # bytes before and after the list that are looked at for the job's record
_NEAR_END = 256 << 10  # bytes at the end of a piece where the last event is looked for
_BLANK = b"\xef\xbb\xbf \t\r\n"  # a mark of UTF-8, and white space
_TRIES = 16  # ends that are tried for one event
_START = re.compile(rb'"traceEvents"\s{0,64}:\s{0,64}\[')
_BETWEEN = re.compile(rb"\}\s{0,64},\s{0,64}(?=\{)")
_END = re.compile(rb"\}\s{0,64}(?:,\s{0,64}(?=\{)|\])")
_BAD = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class Arguments(msgspec.Struct, gc=False, omit_defaults=True):
    """Of the arguments of an event, those that are needed; the decoder skips the others."""

    correlation: object = None
    stream: object = None
    device: object = None
    external: object = msgspec.field(default=None, name="External id")
    bytes: object = None
    collective: object = msgspec.field(default=None, name="Collective name")
    given: object = msgspec.field(default=None, name="In msg nelems")
    received: object = msgspec.field(default=None, name="Out msg nelems")
    group_size: object = msgspec.field(default=None, name="Group size")
    group_name: object = msgspec.field(default=None, name="Process Group Name")
    group_ranks: object = msgspec.field(default=None, name="Process Group Ranks")
    dtype: object = None
    name: object = None  # of a process


# What is said about a collective.
SAID = ("collective", "given", "received", "group_size", "group_name", "group_ranks", "dtype")


class Event(msgspec.Struct, gc=False, omit_defaults=True):
    """An event of a trace: *ts* and *dur* are microseconds."""

    ph: str = ""
    cat: str = ""
    name: str = ""
    pid: object = None
    tid: object = None
    ts: float = 0.0
    dur: float = 0.0
    args: Arguments | None = None


class TracedJob(msgspec.Struct):
    """What a trace says about the job, beside the events."""

    distributed: dict[str, object] | None = msgspec.field(default=None, name="distributedInfo")
    devices: list[dict[str, object]] | None = msgspec.field(default=None, name="deviceProperties")


@dataclass
class EventFile:
    """A trace file as it is read: its events, and afterwards what was wrong with it."""

    file: BinaryIO
    damaged: int = 0  # events that could not be read
    cut_off: bool = False
    job: TracedJob = field(default_factory=TracedJob)
    _rest: bytes = b""  # from the first event that has not been read
    _ended: bool = False  # the list of events has ended

    def events(self) -> Iterator[list[Event]]:
        """The events, in the order of the file.

        Raises:
            InputError: the file is not a trace, or is too large.
        """
        source = self._blocks()
        self._find_list(source)
        for block in source:
            self._rest += block
            if found := self._piece():
                yield found
            if self._ended:
                break
            if len(self._rest) > _LONGEST:
                raise InputError(f"an event is longer than {_LONGEST >> 20} MiB")
        if not self._ended and (found := self._one_by_one(final=True)):
            yield found
        self.cut_off = self.cut_off or not self._ended
        if self._ended:
            self._read_tail(source)

    def _blocks(self) -> Iterator[bytes]:
        try:
            yield from blocks(self.file)
        except CutOffError:
            self.cut_off = True

    def _find_list(self, source: Iterator[bytes]) -> None:
        """Go to where the first event begins."""
        for block in source:
            self._rest += block
            bare = self._rest.lstrip(_BLANK)
            if bare[:1] == b"[":
                self._rest = bare[1:].lstrip()
                return
            if bare and bare[:1] != b"{":
                break
            if found := _START.search(self._rest):
                self._read_job(self._rest[max(0, found.start() - _KEPT) : found.start()], b"}")
                self._rest = self._rest[found.end() :].lstrip()
                return
            if len(self._rest) > _LONGEST:
                break
        raise InputError("not a trace of the PyTorch profiler: it has no list of traceEvents")

    def _piece(self) -> list[Event]:
        near_end = max(0, len(self._rest) - _NEAR_END)
        cuts = deque(_BETWEEN.finditer(self._rest, near_end), maxlen=1)
        if not cuts:
            return []
        cut = cuts[0]
        try:
            found = _LIST.decode(b"[" + self._rest[: cut.start() + 1] + b"]")
        except _BAD:
            return self._one_by_one(final=False)
        self._rest = self._rest[cut.end() :]
        return found

    def _one_by_one(self, *, final: bool) -> list[Event]:
        """The complete events, each decoded alone; those that are damaged are counted."""
        found: list[Event] = []
        text, start = self._rest, 0
        self._ended = text[:1] == b"]"
        while not self._ended and (ends := list(islice(_END.finditer(text, start, start + _LONGEST), _TRIES))):
            event, end = _decoded(text, start, ends)
            if end is None and not final and len(text) - start < _NEAR_END:
                break  # perhaps the next block has its end
            if event is None:
                self.damaged += 1
            else:
                found.append(event)
            end = end or ends[0]
            start = end.end()
            self._ended = end.group().endswith(b"]") and event is not None
        self._rest = text[start:]
        return found

    def _read_tail(self, source: Iterator[bytes]) -> None:
        """What stands after the list, if it is short."""
        tail = self._rest
        for block in source:
            tail += block
            if len(tail) > _KEPT:
                return
        self._read_job(b"{" + tail.lstrip(b" \t\r\n]").lstrip(b", \r\n\t"), b"")

    def _read_job(self, text: bytes, end: bytes) -> None:
        try:
            job = _JOB.decode(b"{" + text.strip(_BLANK).strip(b"{,") + end)
        except _BAD:
            return
        self.job.distributed = self.job.distributed or job.distributed
        self.job.devices = self.job.devices or job.devices


_LIST = msgspec.json.Decoder(list[Event], strict=False)
_ONE = msgspec.json.Decoder(Event, strict=False)
_JOB = msgspec.json.Decoder(TracedJob)


def _decoded(text: bytes, start: int, ends: list[re.Match[bytes]]) -> tuple[Event | None, re.Match[bytes] | None]:
    """The event that begins at *start*, and its end among *ends*; nothing if it is damaged."""
    for end in ends:
        try:
            return _ONE.decode(text[start : end.start() + 1]), end
        except _BAD:
            continue
    return None, None
