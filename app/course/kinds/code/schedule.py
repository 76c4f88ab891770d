"""Exercises that ask for a schedule, written as a program per rank and played by a simulator."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import Field, PrivateAttr, model_validator

from app.core.quotation import escape_markdown
from app.core.simulators.programs import Name, PlayedSchedule, ScheduleMachine, Summed, memory_name, play_schedule
from app.core.translation import localize, noted, plural, translate
from app.course.kinds.base import Answer, Base, Finding, Markdown, Strict, ValueCache, Verdict, Where, mistake_key
from app.course.kinds.code.calls import outcome_sentence, refuse_lost, source_in
from app.course.kinds.code.function import WrongProgram
from app.course.sandbox.process import CallReturned, Plain
from app.course.sandbox.runner import Runner
from app.server.aside import aside

Units = Annotated[int, Field(ge=0, le=100)]
Op = Literal["F", "B", "I", "G", "gather", "scatter", "reduce", "hop"]
Thing = Literal["x", "g", "W", "d", "D", "c"]
_NONE: frozenset[int] = frozenset()
_LACKS_RANK = noted("Rank {rank} must end with {name}, which lacks rank {lacks}.")
_LACKS_BATCH = noted("Rank {rank} must end with {name}, which lacks micro-batch {lacks}.")


class TargetMachine(Strict):
    """The ranks, what is theirs, and what instructions and memory cost."""

    ranks: int = Field(ge=1, le=16)
    layers: int = Field(default=0, ge=0, le=64)
    batches: int = Field(default=1, ge=1, le=64, description="micro-batches, of all ranks")
    holds: Literal["weights", "nothing", "stages", "chunks"] = Field(
        description="weights: every rank all of them, and its own micro-batches; nothing: the "
        "micro-batches alone; stages: layers in turn, and rank 0 every micro-batch; chunks: a "
        "summand of every chunk"
    )
    cost: dict[Op, Units] = Field(description="instruction: its units of time; hop: of a message")
    size: dict[Thing, Units] = Field(default_factory=dict, description="what takes memory: its units")

    @model_validator(mode="after")
    def _divides(self) -> Self:
        whole = self.layers if self.holds == "stages" else self.batches
        if self.holds != "chunks" and whole % self.ranks:
            things = "layers" if self.holds == "stages" else "batches"
            raise ValueError(f"{things} must be a multiple of ranks: {whole} and {self.ranks}")
        return self

    @property
    def work(self) -> int:
        """Units of time of all passes that the goals need, on all ranks together."""
        halves = self.cost.get("I", 0) + self.cost.get("G", 0)
        passes = self.cost.get("F", 0) + self.cost.get("B", halves)
        return passes * self.layers * self.batches

    def built(self, limit: int | None) -> ScheduleMachine:
        """What schedules are played on; *limit* is what a rank should hold at most."""
        start = tuple(dict(self._held(rank)) for rank in range(self.ranks))
        costs: dict[str, int] = {str(op): units for op, units in self.cost.items()}
        sizes: dict[str, int] = {str(thing): units for thing, units in self.size.items()}
        return ScheduleMachine(self.layers, start, costs, sizes, limit)

    def _held(self, rank: int) -> Iterator[tuple[Name, Summed]]:
        """What a *rank* holds at first."""
        if self.holds == "chunks":
            yield from ((("c", chunk), frozenset([rank])) for chunk in range(self.ranks))
            return
        own = self.batches // self.ranks
        batches = range(rank * own, (rank + 1) * own)
        layers = range(self.layers if self.holds == "weights" else 0)
        if self.holds == "stages":
            layers = range(rank, self.layers, self.ranks)
            batches = range(0 if rank else self.batches)
        yield from ((("W", layer), None) for layer in layers)
        yield from ((("x", 0, batch), None) for batch in batches)

    def goals(self) -> Iterator[tuple[int, Name, Summed]]:
        """What each rank must hold at last: the sums, with every contribution."""
        for rank in range(self.ranks):
            if self.holds == "chunks":
                yield from ((rank, ("c", k), frozenset(range(self.ranks))) for k in range(self.ranks))
                continue
            name = "D" if self.holds == "nothing" else "d"
            step = self.ranks if self.holds == "stages" else 1
            for layer in range(rank if self.holds == "stages" else 0, self.layers, step):
                yield rank, (name, layer), frozenset(range(self.batches))

    def missing(self, played: PlayedSchedule) -> str:
        """The first sum that is not as it must be, as a sentence; empty if all are."""
        for rank, name, wanted in self.goals():
            got = played.held[rank].get(name) or _NONE
            if got != wanted:
                lacks = ", ".join(map(str, sorted((wanted or _NONE) - got)))
                form = _LACKS_RANK if self.holds == "chunks" else _LACKS_BATCH
                return translate(form, rank=rank, name=memory_name(name), lacks=lacks)
        return ""


ENTRY = "program"
_HALF, _QUARTER = 0.5, 0.25
_ORDERS = 20  # in which lint looks at the ranks
Key = tuple[int, tuple[int, ...], str]


@dataclass(frozen=True, slots=True)
class ScheduleQuestion:
    """The function to write, its machine and its targets."""

    starter: str
    machine: TargetMachine
    targets: "Targets"
    published: tuple[tuple[str, str], ...]


class Targets(Strict):
    """What a schedule must reach."""

    time: int = Field(ge=1, description="units of time until the last rank is done")
    memory: int | None = Field(default=None, ge=0, description="units that a rank may hold")


class Schedule(Base):
    """Write a schedule that meets a target in time and in memory."""

    kind_title = noted("Schedule")
    sample = "puzzles/one-forward-one-backward"
    pace = 6.0
    runs_code = True
    is_played = True
    kind: Literal["schedule"]
    machine: TargetMachine = Field(description="the ranks, what they hold, and what things cost")
    targets: Targets = Field(description="time, and memory if it matters")
    bound: Markdown = Field(description="why no schedule is faster, shown once it is solved")
    starter: str = Field(min_length=1, description="def program(rank): and a first attempt")
    right: str = Field(min_length=1, description="a program that meets the targets")
    wrong: list[WrongProgram] = Field(min_length=2, description="code and says of typical schedules that miss a target")
    published: dict[str, str] = Field(default_factory=dict, description="a known schedule to start from: its program")
    _foreseen: ValueCache[str, list[tuple[Key, str]]] = PrivateAttr(default_factory=ValueCache)

    @property
    def entry(self) -> str:
        """The name of the function to write."""
        return ENTRY

    def question(self, seed: int) -> ScheduleQuestion:
        """What to write, and for what."""
        published = tuple(self.published.items())
        return ScheduleQuestion(self.starter, self.machine, self.targets, published)

    def right_answer(self, seed: int) -> Answer:
        """A program that meets the targets."""
        return self.right

    def reveal(self, seed: int) -> str:
        """A right program, as a listing, and why none is faster."""
        return f"```python\n{self.right.rstrip()}\n```\n\n{self.bound}"

    def mistakes(self, seed: int) -> Iterator[tuple[Answer, str]]:
        """Each typical schedule that misses a target."""
        for wrong in self.wrong:
            yield wrong.code, wrong.says

    async def grade(self, seed: int, answer: Answer, runner: Runner, learner: str = "") -> Verdict:
        """Play the schedule: does it run to its end, add up all, fit, and finish in time?"""
        found = await self.play(answer, runner, learner)
        if isinstance(found, str):
            return Verdict(False, 0.0, (found,))
        says, score = await aside(self.judge, found)
        if not says:
            return Verdict(True, 1.0, (self._praise(found),), played=found)
        diagnosis = await self._diagnosis(found, runner)
        told = (says, *([diagnosis] if diagnosis else []))
        mistake = mistake_key(diagnosis) if diagnosis else ""
        return Verdict(False, score, told, mistake=mistake, played=found)

    async def play(self, answer: Answer, runner: Runner, learner: str = "") -> PlayedSchedule | str:
        """The schedule as it was played; or why the program returned none, in a sentence.

        Raises:
            AnswerError: there is nothing to run.
            UnavailableError: the sandbox cannot run it.
        """
        programs = await self._programs(answer, runner, learner)
        return programs if isinstance(programs, str) else await aside(self._played, programs)

    def _played(self, programs: Sequence[Plain], order: Sequence[int] = ()) -> PlayedSchedule:
        return play_schedule(self.machine.built(self.targets.memory), programs, order)

    async def _programs(self, answer: Answer, runner: Runner, learner: str = "") -> list[Plain] | str:
        """What the program returns for each rank; or why it does not, in a sentence."""
        source = source_in(answer)
        calls = [(rank,) for rank in range(self.machine.ranks)]
        report = await runner.run(source, ENTRY, calls, learner)
        refuse_lost(report)
        if report.body:
            return outcome_sentence(report.body)
        programs = []
        for rank, outcome in enumerate(report.outcomes):
            if not isinstance(outcome, CallReturned):
                return f"`{ENTRY}({rank})`: {outcome_sentence(outcome)}"
            programs.append(outcome.value)
        if len(programs) < self.machine.ranks:
            return translate(
                "`{call}` was not run: the time limit was reached before.", call=f"{ENTRY}({len(programs)})"
            )
        return programs

    def judge(self, played: PlayedSchedule) -> tuple[str, float]:
        """What is wrong with a schedule, and its score; nothing if it meets the targets."""
        if played.problem:
            problem = escape_markdown(localize(played.problem))  # it quotes what the program returned
            return translate("It stops at {time}: {problem}.", time=played.time, problem=problem), 0.0
        if missing := self.machine.missing(played):
            return missing, 0.0
        memory, peak = self.targets.memory, max(played.peaks)
        is_late = played.time > self.targets.time
        if memory is not None and peak > memory:
            rank = played.peaks.index(peak)
            says = translate(
                "Rank {rank} holds {peak} at its fullest, and {memory} is the limit.",
                rank=rank,
                peak=peak,
                memory=memory,
            )
            return says, _QUARTER if is_late else _HALF
        if is_late:
            return self._late(played), _HALF
        return "", 1.0

    def _late(self, played: PlayedSchedule) -> str:
        over = played.time - self.targets.time
        says = plural(
            "It takes {time}, which is {number} unit too long.",
            "It takes {time}, which is {number} units too long.",
            over,
            time=played.time,
        )
        if wait := played.first_wait:
            says += translate(
                " Rank {rank} first waits until {time}, for {instruction}.",
                rank=wait.rank,
                time=wait.start,
                instruction=wait.instruction,
            )
        return says

    def _praise(self, played: PlayedSchedule) -> str:
        if self.targets.memory is None:
            says = translate("Right: it finishes at {time}.", time=played.time)
        else:
            says = translate(
                "Right: it finishes at {time} and no rank holds more than {peak}.",
                time=played.time,
                peak=max(played.peaks),
            )
        return f"{says} {self.bound}"

    async def _diagnosis(self, played: PlayedSchedule, runner: Runner) -> str:
        """The sentence on the typical schedule that does the same; else nothing."""
        if ENTRY not in self._foreseen:
            found = [(await self.play(wrong.code, runner), wrong.says) for wrong in self.wrong]
            keys = [(_key(one), says) for one, says in found if isinstance(one, PlayedSchedule)]
            if len(keys) < len(self.wrong):
                return ""
            self._foreseen.keep(ENTRY, keys)
        own = _key(played)
        return next((says for key, says in self._foreseen[ENTRY] if key == own), "")

    @property
    def variation(self) -> str:
        """All seeds ask the same."""
        return ""

    def texts(self) -> Iterator[tuple[Where, str]]:
        """The bound and the sentences of wrong programs, too."""
        yield from super().texts()
        yield ("bound",), self.bound
        for index, wrong in enumerate(self.wrong):
            yield ("wrong", index, "says"), wrong.says

    async def prove_code(self, seeds: Sequence[int], runner: Runner) -> list[Finding]:
        """The right program meets the targets in any order of ranks; wrong ones get their word."""
        findings = []
        right = await self.grade(0, self.right, runner)
        programs = await self._programs(self.right, runner)
        if not right.correct or isinstance(programs, str):
            says = f"misses a target: {' '.join(right.feedback)}"
            return [Finding(("right",), says, "mend it, or give a target that it meets")]
        ranks = range(self.machine.ranks)
        orders = (random.Random(turn).sample(ranks, len(ranks)) for turn in range(_ORDERS))
        keys = {_key(self._played(programs, order)) for order in orders}
        if len(keys) > 1:
            says = "ends otherwise if ranks go in another order"
            findings.append(Finding(("right",), says, "report it: the player is at fault"))
        for index, wrong in enumerate(self.wrong):
            verdict = await self.grade(0, wrong.code, runner)
            if verdict.correct:
                findings.append(Finding(("wrong", index), "meets the targets", "remove it"))
            elif wrong.says not in verdict.feedback:
                says = f"does not get its feedback, but: {' '.join(verdict.feedback)}"
                findings.append(Finding(("wrong", index), says, "make it differ from the others"))
        for name, code in self.published.items():
            if isinstance(await self.play(code, runner), str):
                says, cure = "does not run", "try it on the page of the exercise"
                findings.append(Finding(("published", name), says, cure))
        return findings


def _key(played: PlayedSchedule) -> Key:
    """What two schedules share that go wrong in the same way."""
    return played.time, played.peaks, played.problem
