"""Schedules as programs of ranks, those of papers among them, played with three streams each."""

import base64
import binascii
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from app.core.simulators.pipeline import Pass, PipelineSchedule, build
from app.core.simulators.programs import instructions
from app.core.simulators.programs.instructions import Instruction, Name, ScheduledRank, ScheduleError, Summed
from app.core.translation import join_sentences, noted, say, value_error

_LATEST = 10_000  # units of time


@dataclass(frozen=True)
class ScheduleMachine:
    """What a schedule is played on: layers, what the ranks hold at first, costs and sizes.

    *start* is what each rank holds, by name; *costs* are units of time by instruction, a hop for
    messages; *sizes* are units of memory by the first word of a name, 0 of those left out. *limit*
    is what a rank should hold at most, which is drawn and not enforced.
    """

    layers: int
    start: tuple[Mapping[Name, Summed], ...]
    costs: Mapping[str, int]
    sizes: Mapping[str, int]
    limit: int | None = None

    @property
    def ops(self) -> set[str]:
        """The instructions that it knows."""
        messages = instructions.SENDING | instructions.RECEIVING if "hop" in self.costs else frozenset[str]()
        return {*self.costs, *messages, "drop"} - {"hop"}

    def cost(self, op: str) -> int:
        """Units of time of an instruction."""
        return 0 if op == "drop" else self.costs.get(op, self.costs.get("hop", 0))


@dataclass(frozen=True, slots=True)
class PlayedSpan:
    """An instruction on a stream of a rank, from when to when."""

    rank: int
    stream: str
    start: int
    end: int
    instruction: Instruction


@dataclass(frozen=True, slots=True)
class PlayedSchedule:
    """A schedule as it was played: when it ended, what was held, and what was done when.

    *memory* is, for each moment at which it changes, what each rank holds; *problem* says why it
    could not be played to its end.
    """

    machine: ScheduleMachine
    time: int
    memory: tuple[tuple[int, tuple[int, ...]], ...]
    spans: tuple[PlayedSpan, ...]
    held: tuple[Mapping[Name, Summed], ...]
    problem: str = ""

    @property
    def peaks(self) -> tuple[int, ...]:
        """The most that each rank held."""
        return tuple(map(max, zip(*(held for _, held in self.memory), strict=True)))

    @property
    def sends(self) -> int:
        """Messages and parts in collectives that the ranks send, all ranks together."""
        return sum(span.stream == "out" for span in self.spans)

    @property
    def first_wait(self) -> PlayedSpan | None:
        """The first computation that did not follow on the one before it on its rank."""
        ends: dict[int, int] = {}
        work = (span for span in self.spans if span.stream == "compute")
        for span in sorted(work, key=lambda span: (span.start, span.end)):
            if span.start > ends.get(span.rank, span.start):
                return span
            ends[span.rank] = span.end
        return None


def play_schedule(machine: ScheduleMachine, programs: Sequence[object], order: Sequence[int] = ()) -> PlayedSchedule:
    """Play one program per rank; nothing depends on the *order* in which ranks are looked at."""
    ranks = len(machine.start)
    game = _Game(machine, list(order) or list(range(ranks)))
    try:
        for rank, program in enumerate(programs):
            game.ranks[rank].load(instructions.read_program(rank, program, machine.ops, ranks))
        game.play()
    except ScheduleError as error:
        return game.result(str(error))
    return game.result("")


@dataclass(slots=True)
class _Job:
    """What is under way until *end*: an instruction of each rank that takes part."""

    end: int
    parts: list[tuple[int, Instruction]]
    carried: Summed = None


class _Game:
    """A schedule while it is played."""

    def __init__(self, machine: ScheduleMachine, order: list[int]) -> None:
        self.machine = machine
        self.order = order
        self.ranks = [ScheduledRank(number, machine.sizes) for number in range(len(machine.start))]
        for one, held in zip(self.ranks, machine.start, strict=True):
            for name, what in held.items():
                one.hold(name, what)
        self.now = 0
        self.running: list[_Job] = []
        self.spans: list[PlayedSpan] = []
        self.memory: list[tuple[int, tuple[int, ...]]] = []

    def result(self, problem: str) -> PlayedSchedule:
        """What was played so far."""
        self._measure()
        return PlayedSchedule(
            self.machine,
            self.now,
            tuple(self.memory),
            tuple(self.spans),
            tuple(one.held for one in self.ranks),
            problem,
        )

    def play(self) -> None:
        """Play to the end.

        Raises:
            ScheduleError: it waits forever, takes too long, or adds something twice.
        """
        while True:
            while self._settle():
                pass
            self._measure()
            if not self.running:
                break
            self.now = min(job.end for job in self.running)
            if self.now > _LATEST:
                raise ScheduleError(say("it takes longer than {units} units of time", units=f"{_LATEST:,}"))
        if stuck := [text for one in self.ranks if (text := self._waiting(one))]:
            raise ScheduleError(join_sentences(stuck))

    def _settle(self) -> bool:
        """End and start what can be at this moment; whether anything changed."""
        done = [job for job in self.running if job.end <= self.now]
        self.running = [job for job in self.running if job.end > self.now]
        for job in done:
            for number, step in job.parts:
                self.ranks[number].end(step, self.machine.layers)
                self._finish(self.ranks[number], step, job.carried)
        started = [self._compute(number) or self._message(number) for number in self.order]
        return bool(done) or any(started) or self._collective()

    def _compute(self, number: int) -> bool:
        one = self.ranks[number]
        step = one.head("compute")
        if not step or not self._can(one, step):
            return False
        self._begin(_Job(self._end(step), [(number, step)]))
        return True

    def _message(self, number: int) -> bool:
        one = self.ranks[number]
        step = one.head("out")
        if not step or step.op not in instructions.SENDING or not self._can(one, step):
            return False
        other = self.ranks[step.peer]
        there = other.head("in")
        if not there or there.op not in instructions.RECEIVING or there.peer != number:
            return False
        if not self._can(other, there):
            return False
        if there.name != step.name:
            form = noted("rank {rank} expects {name} from rank {other}, which sends {sent}")
            expected, sent = instructions.memory_name(there.name), instructions.memory_name(step.name)
            raise ScheduleError(say(form, rank=step.peer, name=expected, other=number, sent=sent))
        parts = [(number, step), (step.peer, there)]
        self._begin(_Job(self._end(step), parts, one.held[step.name]))
        return True

    def _collective(self) -> bool:
        heads = [one.head("out") for one in self.ranks]
        first = heads[0]
        if not first or first.op not in instructions.TOGETHER:
            return False
        for one, step in zip(self.ranks, heads, strict=True):
            same = step and (step.op, step.layer) == (first.op, first.layer)
            if not step or not same or one.head("in") != step or not self._can(one, step):
                return False
        total = self._total(first) if first.op != "gather" else None
        parts = [(one.number, step) for one, step in zip(self.ranks, heads, strict=True) if step]
        self._begin(_Job(self._end(first), parts, total))
        return True

    def _total(self, step: Instruction) -> Summed:
        total: frozenset[int] = frozenset()
        for one in self.ranks:
            own = one.held[("d", step.layer)] or frozenset()
            if twice := total & own:
                numbers = ", ".join(map(str, sorted(twice)))
                raise ScheduleError(say("{step} adds the contribution of {numbers} twice", step=step, numbers=numbers))
            total |= own
        return total

    def _can(self, one: ScheduledRank, step: Instruction) -> bool:
        return one.is_free(step) and not one.lacks(step, self.machine.layers)

    def _end(self, step: Instruction) -> int:
        return self.now + self.machine.cost(step.op)

    def _begin(self, job: _Job) -> None:
        for number, step in job.parts:
            self.ranks[number].begin(step, self.machine.layers)
            self.spans.append(PlayedSpan(number, step.streams[0], self.now, job.end, step))
        self.running.append(job)

    def _finish(self, one: ScheduledRank, step: Instruction, carried: Summed) -> None:
        """What is in memory once *step* has ended."""
        layer, batch = step.layer, step.batch
        if step.op == "F":
            is_last = layer == self.machine.layers - 1
            one.hold(("g" if is_last else "x", layer + 1, batch))
        elif step.op in ("B", "I", "G"):
            self._backward(one, step)
        elif step.op == "gather":
            one.hold(("W", layer))
        elif step.op in ("drop", "pass"):
            one.drop(step.name)
        elif step.op == "recv":
            one.hold(step.name, carried)
        elif step.op == "add":
            one.contribute(step.name, carried)
        elif step.op in ("scatter", "reduce"):
            one.drop(("d", layer))
            one.hold(("d" if step.op == "reduce" else "D", layer), carried)

    def _backward(self, one: ScheduledRank, step: Instruction) -> None:
        layer, batch = step.layer, step.batch
        if step.op in ("B", "I") and layer:
            one.hold(("g", layer, batch))
        if step.op == "I":
            one.hold(("done", layer, batch))
            return
        one.contribute(("d", layer), frozenset([batch]))
        for name in (("x", layer, batch), ("g", layer + 1, batch), ("done", layer, batch)):
            one.drop(name)

    def _measure(self) -> None:
        held = tuple(one.used for one in self.ranks)
        if not self.memory or self.memory[-1][1] != held:
            self.memory.append((self.now, held))

    def _waiting(self, one: ScheduledRank) -> str:
        """Where a rank has stopped, and for what; empty if it is done."""
        for stream in instructions.STREAMS:
            if step := one.head(stream):
                lacks = one.lacks(step, self.machine.layers) or noted("the other ranks")
                return say("rank {rank} waits at {step} for {lacks}", rank=one.number, step=step, lacks=lacks)
        return ""


LONGEST_CODE = 2000  # characters; an address has room for some thousands
MOST_INSTRUCTIONS = 1000  # of all ranks
_UNPACKED = 24 * MOST_INSTRUCTIONS  # bytes
_CODE = re.compile(r"[A-Za-z0-9_-]+")
_WORD = re.compile(r"[A-Za-z]{1,7}")
_NUMBER = re.compile(r"[0-9]{1,3}")
_COUNTED = (instructions.COMPUTE - {"drop"}) | instructions.TOGETHER  # what they work on are numbers alone
_NO_CODE = noted("this is not a schedule in short form")

Program = list[tuple[object, ...]]  # as a learner's function returns it


def schedule_code(played: PlayedSchedule) -> str:
    """*played* in short form; empty if it did nothing, stopped before its end, or is too long.

    What starts when follows from the order of the instructions, so they are enough.
    """
    if played.problem or not 0 < len(played.spans) <= MOST_INSTRUCTIONS:
        return ""
    text = ";".join(" ".join(map(_instruction_text, own)) for own in _programs(played))
    code = base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")
    return code if len(code) <= LONGEST_CODE and len(text) <= _UNPACKED else ""


def read_schedule_code(code: str) -> list[Program]:
    """The program of each rank in a schedule in short form.

    Raises:
        ValueError: it is not one, or one that is too long.
    """
    if len(code) > LONGEST_CODE:
        form = noted("a schedule in short form has at most {most:,} characters, not {length:,}")
        raise value_error(form, most=LONGEST_CODE, length=len(code))
    text = _unpacked(code)
    if text.count(" ") + text.count(";") >= MOST_INSTRUCTIONS:
        raise value_error("a schedule in short form has at most {most:,} instructions", most=MOST_INSTRUCTIONS)
    return [[_instruction(one) for one in own.split(" ") if one] for own in text.split(";")]


def _programs(played: PlayedSchedule) -> Iterator[list[Instruction]]:
    for rank in range(len(played.machine.start)):
        own = (span.instruction for span in played.spans if span.rank == rank)
        yield sorted(own, key=lambda step: step.place)


def _instruction_text(step: Instruction) -> str:
    """An instruction as its words and numbers: F.0.1, pass.1.x.1.0, drop.x.0.1, gather.2."""
    if step.op in instructions.TOGETHER:
        parts: Sequence[object] = (step.layer,)
    elif step.op in _COUNTED:
        parts = (step.layer, step.batch)
    else:
        parts = step.name if step.op == "drop" else (step.peer, *step.name)
    return ".".join(map(str, (step.op, *parts)))


def _instruction(text: str) -> tuple[object, ...]:
    op, *parts = text.split(".")
    found = [_part(part) for part in (op, *parts)]
    if op in _COUNTED:
        return tuple(found)
    if op == "drop":
        return (op, tuple(found[1:]))
    return (op, *found[1:2], tuple(found[2:]))


def _part(text: str) -> str | int:
    """A word or a number of an instruction.

    Raises:
        ValueError: it is neither.
    """
    if _NUMBER.fullmatch(text):
        return int(text)
    if _WORD.fullmatch(text):
        return text
    raise value_error(_NO_CODE)


def _unpacked(code: str) -> str:
    """What *code* packs, which is never more than _UNPACKED bytes.

    Raises:
        ValueError: it is not a schedule in short form.
    """
    if not _CODE.fullmatch(code):
        raise value_error(_NO_CODE)
    unpacking = zlib.decompressobj()
    try:
        packed = base64.urlsafe_b64decode(code + "=" * (-len(code) % 4))
        text = unpacking.decompress(packed, _UNPACKED)
    except (binascii.Error, zlib.error):
        raise value_error(_NO_CODE) from None
    if not unpacking.eof or unpacking.unused_data or not text.isascii():
        raise value_error(_NO_CODE)
    return text.decode()


_WHOLE = ("gpipe", "1f1b")  # with a backward pass in one piece
_SPLIT = ("zb_h1", "zb_h2")


def known_schedules(machine: ScheduleMachine, microbatches: int) -> Mapping[str, PlayedSchedule]:
    """The published schedules that can be played on *machine*, by name.

    Its ranks have the layers in turn, and all *microbatches* start on the first one. A schedule of
    one stage per rank gets layers that are neighbors instead.
    """
    ranks = len(machine.start)
    chunks = machine.layers // ranks
    if not chunks:
        return {}
    start: list[Mapping[Name, Summed]] = []
    for rank, held in enumerate(machine.start):  # with layers that are neighbors on each rank
        others = {name: what for name, what in held.items() if name[0] != "W"}
        start.append({**others, **{("W", layer): None for layer in range(rank * chunks, (rank + 1) * chunks)}})
    beside = replace(machine, start=tuple(start))
    names = (*_WHOLE, *(_SPLIT if "I" in machine.costs else ()))
    tried = [(build(name, ranks, microbatches), beside, chunks) for name in names]
    if chunks > 1 and microbatches % ranks == 0:
        tried.append((build("interleaved", ranks, microbatches, chunks), machine, 1))
    played = {
        schedule.name: play_schedule(where, [list(_program(schedule, where, rank, each)) for rank in range(ranks)])
        for schedule, where, each in tried
    }
    return {name: one for name, one in played.items() if not one.problem}


def _program(
    schedule: PipelineSchedule, machine: ScheduleMachine, rank: int, each: int
) -> Iterator[tuple[object, ...]]:
    for block in schedule.orders[rank]:
        for one in block:
            yield from _instructions(schedule, machine, one, each)


def _instructions(
    schedule: PipelineSchedule, machine: ScheduleMachine, one: Pass, each: int
) -> Iterator[tuple[object, ...]]:
    """A pass: what it receives, what it computes, and what it passes on."""
    kind, batch, stage = one
    layers = range(stage * each, (stage + 1) * each)
    if kind == "W":
        yield from (("G", layer, batch) for layer in reversed(layers))
    elif kind == "F":
        if stage > 0:
            yield "recv", schedule.device_of(batch, stage - 1), ("x", layers[0], batch)
        yield from (("F", layer, batch) for layer in layers)
        if stage < schedule.depth - 1:
            yield "pass", schedule.device_of(batch, stage + 1), ("x", layers[-1] + 1, batch)
    else:
        if stage < schedule.depth - 1:
            yield "recv", schedule.device_of(batch, stage + 1), ("g", layers[-1] + 1, batch)
        halves = ("I", "G") if kind == "B" and "B" not in machine.costs else (kind,)
        yield from ((half, layer, batch) for layer in reversed(layers) for half in halves)
        if stage > 0:
            yield "pass", schedule.device_of(batch, stage - 1), ("g", layers[0], batch)
