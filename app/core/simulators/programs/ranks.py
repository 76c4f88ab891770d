"""A rank on which a schedule is played: its streams, what it holds, and what it waits for."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from app.core.simulators.programs.instructions import RECEIVING, SENDING, Instruction, Name, ScheduleError, memory_name
from app.core.translation import noted, say

STREAMS = ("compute", "out", "in")
Summed = frozenset[int] | None  # the contributions in a sum; None of what is not one


@dataclass(slots=True)
class ScheduledRank:
    """A rank: its program, what is left of it by stream, and what it holds."""

    number: int
    sizes: Mapping[str, int]
    held: dict[Name, Summed] = field(default_factory=dict)
    queues: dict[str, deque[Instruction]] = field(default_factory=lambda: {stream: deque() for stream in STREAMS})
    busy: set[str] = field(default_factory=set)
    begun: set[int] = field(default_factory=lambda: {-1})
    ended: set[int] = field(default_factory=lambda: {-1})
    coming: set[Name] = field(default_factory=set)  # takes room, and is not there yet
    read: set[Name] = field(default_factory=set)  # inputs of layer 0 that a forward pass has read
    feeder: dict[int, int] = field(default_factory=dict)
    used: int = 0  # units of memory

    def load(self, program: tuple[Instruction, ...]) -> None:
        """Put a *program* into the streams, and note what must end before each message starts.

        Streams run in order: of all that was written above and feeds it, the last one is enough.
        """
        last: dict[object, int] = {}
        for step in program:
            for stream in step.streams:
                self.queues[stream].append(step)
            if step.op in SENDING:
                self.feeder[step.place] = last.get(step.name, -1)
            elif step.op in ("scatter", "reduce"):
                self.feeder[step.place] = last.get(step.layer, -1)
            elif step.op in RECEIVING:
                last[step.name] = step.place
            elif step.op in ("B", "G"):
                last[step.layer] = step.place

    def head(self, stream: str) -> Instruction | None:
        """The next instruction of a *stream*."""
        return self.queues[stream][0] if self.queues[stream] else None

    def lacks(self, step: Instruction, layers: int) -> str:
        """What *step* still waits for; empty if nothing."""
        if step.after not in self.begun:
            return noted("its turn")
        for name in needs(step, layers):
            if name not in self.held:
                return memory_name(name)
        late = self.feeder.get(step.place, -1) not in self.ended
        return noted("what is written above it") if late else ""

    def is_free(self, step: Instruction) -> bool:
        """Whether nothing runs on the streams that *step* takes."""
        return not self.busy.intersection(step.streams)

    def begin(self, step: Instruction, layers: int) -> None:
        """Take *step* from its streams, and room for what it makes."""
        for stream in step.streams:
            self.queues[stream].popleft()
            self.busy.add(stream)
        self.begun.add(step.place)
        if step.op == "F":
            self._read(("x", step.layer, step.batch))
        for name in makes(step, layers):
            if name not in self.coming and (name not in self.held or name[0] not in ("d", "c")):
                self.coming.add(name)
                self.used += self._size(name)

    def end(self, step: Instruction, layers: int) -> None:
        """Free the streams of *step*; what it made is still to be put in its place."""
        self.busy.difference_update(step.streams)
        self.ended.add(step.place)
        for name in makes(step, layers):
            if name in self.coming:
                self.coming.remove(name)
                self.used -= self._size(name)

    def hold(self, name: Name, what: Summed = None) -> None:
        """Put something in memory."""
        if name not in self.held:
            self.used += self._size(name)
        self.held[name] = what

    def drop(self, name: Name) -> None:
        """Free what is called *name*, if it is there."""
        if name in self.held:
            del self.held[name]
            self.used -= self._size(name)

    def contribute(self, name: Name, what: Summed) -> None:
        """Add *what* to a sum.

        Raises:
            ScheduleError: a part of it is there already.
        """
        old = self.held.get(name) or frozenset()
        if twice := old & (what or frozenset()):
            numbers = ", ".join(map(str, sorted(twice)))
            form = noted("rank {rank} adds the contribution of {numbers} to {name} twice")
            where = memory_name(name)
            raise ScheduleError(say(form, rank=self.number, numbers=numbers, name=where))
        self.hold(name, old | (what or frozenset()))

    def _read(self, name: Name) -> None:
        """Tokens take no room before the first layer reads them."""
        if name[1] == 0 and name not in self.read:
            there = (name in self.held) + (name in self.coming)
            self.read.add(name)
            self.used += there * self._size(name)

    def _size(self, name: Name) -> int:
        unread = name[0] == "x" and name[1] == 0 and name not in self.read
        return 0 if unread else self.sizes.get(str(name[0]), 0)


def needs(step: Instruction, layers: int) -> tuple[Name, ...]:
    """What must be in memory for *step* to start."""
    layer, batch = step.layer, step.batch
    given, gradient = ("x", layer, batch), ("g", layer + 1, batch)
    match step.op:
        case "F":
            return ("W", layer), given
        case "B" | "I":
            return ("W", layer), given, gradient
        case "G":
            return given, gradient, ("done", layer, batch)
        case "drop" | "send" | "pass":
            return (step.name,)
        case "scatter" | "reduce":
            return (("d", layer),)
    return ()


def makes(step: Instruction, layers: int) -> tuple[Name, ...]:
    """What takes room as soon as *step* starts."""
    layer, batch = step.layer, step.batch
    match step.op:
        case "F":
            return (("g", layers, batch) if layer == layers - 1 else ("x", layer + 1, batch),)
        case "I":
            return (("g", layer, batch),)
        case "B":
            return ("g", layer, batch), ("d", layer)
        case "G":
            return (("d", layer),)
        case "recv" | "add":
            return (step.name,)
        case "gather":
            return (("W", layer),)
    return ()
