"""Instructions of a rank in a schedule, and a rank on which they are played."""

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from app.core.quotation import quote_value
from app.core.translation import noted, say

LONGEST = 2000  # instructions of a rank
_LARGEST = 10**6  # of layers and micro-batches
_SHOWN = 60  # characters of a value in a sentence
_KINDS = ("x", "g", "W", "d", "D", "c", "done")  # of what is in memory
_MOST_PLACES = 2  # in a name: its layer and its micro-batch

Name = tuple[str | int, ...]  # of something in memory: ("x", layer, micro_batch), ("W", layer)

COMPUTE = frozenset({"F", "B", "I", "G", "drop"})
SENDING = frozenset({"send", "pass"})
RECEIVING = frozenset({"recv", "add"})
TOGETHER = frozenset({"gather", "scatter", "reduce"})  # all ranks at once

_FORMS = {
    **dict.fromkeys(("F", "B", "I", "G"), "({0!r}, layer, micro_batch)"),
    "drop": "({0!r}, name)",
    **dict.fromkeys(SENDING | RECEIVING, "({0!r}, rank, name)"),
    **dict.fromkeys(TOGETHER, "({0!r}, layer)"),
}


_Where = tuple[int, int]  # a rank, and the place of an instruction in its program


class ScheduleError(ValueError):
    """A schedule that cannot be played: the message says where and why."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: what it does, on which layer and micro-batch, or with whom and on what.

    *place* is its place in the program of its rank, and *after* that of the computation written
    before it, -1 if there is none.
    """

    op: str
    place: int
    after: int
    layer: int = 0
    batch: int = 0
    peer: int = 0
    name: Name = ()

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams of the rank that it takes."""
        if self.op in COMPUTE:
            return ("compute",)
        if self.op in TOGETHER:
            return ("out", "in")
        return ("out",) if self.op in SENDING else ("in",)

    def __str__(self) -> str:
        if self.op == "drop":
            return f"drop {memory_name(self.name)}"
        if self.op in SENDING:
            return say("{op} {name} to rank {peer}", op=self.op, name=memory_name(self.name), peer=self.peer)
        if self.op in RECEIVING:
            return say("{op} {name} from rank {peer}", op=self.op, name=memory_name(self.name), peer=self.peer)
        if self.op in TOGETHER:
            return f"{self.op}[{self.layer}]"
        return f"{self.op}[{self.layer}, {self.batch}]"


def memory_name(name: Name) -> str:
    """The name of something in memory as sentences write it: x[2, 0]."""
    kind, *places = name
    return f"{kind}[{', '.join(map(str, places))}]"


def read_program(rank: int, program: object, known: Collection[str], ranks: int) -> tuple[Instruction, ...]:
    """The instructions that the program of a *rank* returned; *known* are those of this machine.

    Raises:
        ScheduleError: it is not a list of them; the message says where, and what is expected.
    """
    if not isinstance(program, list | tuple):
        form = noted("program({rank}) must return a list of instructions, not {value}")
        raise ScheduleError(say(form, rank=rank, value=_shown_instructions(program)))
    if len(program) > LONGEST:
        form = noted("program({rank}) returns {count} instructions; at most {most} are played")
        raise ScheduleError(say(form, rank=rank, count=f"{len(program):,}", most=f"{LONGEST:,}"))
    return tuple(_read_instructions(rank, program, known, ranks))


def _read_instructions(
    rank: int, program: Sequence[object], known: Collection[str], ranks: int
) -> Iterator[Instruction]:
    after = -1
    for place, step in enumerate(program):
        where = rank, place
        op, operands = _split(where, step, known)
        yield _instruction(where, (rank, place, after), op, operands, ranks)
        if op in COMPUTE:
            after = place


def _schedule_error(where: _Where, problem: str) -> ScheduleError:
    rank, place = where
    return ScheduleError(say("rank {rank}, instruction {place}: {problem}", rank=rank, place=place, problem=problem))


def _split(where: _Where, step: object, known: Collection[str]) -> tuple[str, Sequence[object]]:
    if not isinstance(step, list | tuple) or not step or not isinstance(step[0], str):
        form = noted("{step} is not an instruction such as ('F', 0, 0)")
        raise _schedule_error(where, say(form, step=_shown_instructions(step)))
    op, *operands = step
    if op not in known:
        form = noted("{op} cannot be used here, only {known}")
        raise _schedule_error(where, say(form, op=_shown_instructions(op), known=", ".join(sorted(known))))
    form = _FORMS[op].format(op)
    if len(operands) != form.count(","):
        raise _schedule_error(where, say("{step} should be {form}", step=_shown_instructions(step), form=form))
    return op, operands


def _instruction(
    where: _Where, at: tuple[int, int, int], op: str, operands: Sequence[object], ranks: int
) -> Instruction:
    rank, place, after = at
    if op in SENDING | RECEIVING:
        peer, name = operands
        if not _is_whole(peer) or not 0 <= peer < ranks or peer == rank:
            form = noted("the rank must be another one, from 0 to {last}, not {rank}")
            raise _schedule_error(where, say(form, last=ranks - 1, rank=_shown_instructions(peer)))
        return Instruction(op, place, after, peer=peer, name=_name(where, name))
    if op == "drop":
        return Instruction(op, place, after, name=_name(where, operands[0]))
    numbers = [one for one in operands if _is_whole(one)]
    if len(numbers) < len(operands):
        raise _schedule_error(where, say("layers and micro-batches are whole numbers"))
    layer, batch = (*numbers, 0)[:2]
    return Instruction(op, place, after, layer, batch)


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < _LARGEST


def _name(where: _Where, value: object) -> Name:
    parts = value if isinstance(value, list | tuple) else ()
    kind, *places = parts[: _MOST_PLACES + 2] or ("",)
    is_one = isinstance(kind, str) and kind in _KINDS and 1 <= len(places) <= _MOST_PLACES
    numbers = [place for place in places if _is_whole(place)]
    if not is_one or len(numbers) < len(places):
        form = noted("{value} is not a name such as ('x', 0, 0)")
        raise _schedule_error(where, say(form, value=_shown_instructions(value)))
    return (kind, *numbers)


def _shown_instructions(value: object) -> str:
    return quote_value(value, _SHOWN)


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
        name: Name = ("x", step.layer, step.batch)
        if step.op == "F" and step.layer == 0 and name not in self.read:  # until then, tokens take no room
            there = (name in self.held) + (name in self.coming)
            self.read.add(name)
            self.used += there * self._size(name)
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
