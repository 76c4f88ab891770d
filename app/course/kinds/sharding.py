"""Exercises that ask for a plan of collectives between layouts, judged by playing it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Annotated, Literal, Self

from pydantic import Field, PrivateAttr, model_validator

from app.core.errors import AnswerError, nearest
from app.core.expressions import ExpressionError, evaluate
from app.core.simulators.sharding import Move, PlayedPlan, RankMesh, Resharding, WorkingPlan, play_plan, working_plans
from app.core.translation import noted, translate
from app.core.units import BYTE, Reading, show
from app.course.kinds.answer_key import AskedQuantity, part_sentences
from app.course.kinds.answers import Answer, PartVerdict, Verdict, first_mistake, mistake_key
from app.course.kinds.base import Finding, Markdown, Remembered, Where
from app.course.kinds.drawn_values import Draw
from app.course.kinds.layouts import (
    THEN,
    ArrayLayout,
    dearer,
    layout_rows,
    read_plan,
    refuse_unrelated,
    task_of,
    tolerated,
    trouble_of,
    whole_count,
    written_plan,
)
from app.course.kinds.numeric import refuse_unclear_answers
from app.course.kinds.quantities_base import Asking, Box
from app.course.sandbox.runner import Runner

PLAN = "plan"  # the name of the plan among the answers
MOVES = 5  # that a plan may have
_MOST_RANKS = 8
_FORESEEN = 2  # wrong plans and numbers that have a sentence, at least
_HALF = 0.5  # the credit for a plan that works and sends too much
_ROUNDED = 1e-6
Letter = Annotated[str, Field(pattern="^[A-Z]$")]


@dataclass(frozen=True, slots=True)
class ShardingQuestion:
    """The mesh, the arrays, the moves to choose from by array, and the numbers asked for."""

    mesh: str
    rows: tuple[ArrayLayout, ...]
    moves: tuple[tuple[str, tuple[str, ...]], ...]
    fields: tuple[Box, ...]


class Sharding(Asking):
    """Choose moves that bring arrays into a layout, and say what they send."""

    kind_title = noted("Sharding plan")
    sample = "algebra/summed-dimension"
    pace = 3.0
    only_draws = True
    is_played = True
    kind: Literal["sharding"]
    mesh: dict[Letter, str | int] = Field(min_length=1, max_length=2, description="axis: its number of ranks")
    have: dict[Letter, str] = Field(min_length=1, max_length=2, description="array: its layout, such as I/X, J")
    want: dict[Letter, str] = Field(min_length=1, max_length=1, description="array: the target layout")
    sizes: dict[Letter, str | int] = Field(description="dimension: its size")
    element: str = Field(default="2 B", description="bytes of a number")
    accept: str = Field(
        default="cheapest", description="cheapest; right, for any plan that works; or how much more it may send, 10 %"
    )
    says: dict[str, Markdown] = Field(
        default_factory=dict, description="a plan that is not right, its moves with ; between them"
    )
    answers: dict[str, AskedQuantity] = Field(min_length=1, description="numbers beside the plan")
    sent: str = Field(description="the answer that is what each rank sends in the cheapest plan")
    _tasks: Remembered[int, Resharding] = PrivateAttr(default_factory=Remembered)

    @property
    def asked(self) -> Mapping[str, AskedQuantity]:
        """The quantities by name."""
        return self.answers

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        refuse_unrelated([*self.mesh], self.have, self.want, self.sizes)
        if self.sent not in self.answers:
            raise ValueError(f"sent: no answer is called {self.sent!r}")
        if PLAN in self.answers:
            raise ValueError(f"answers: {PLAN} is the plan itself")
        tolerated(self.accept)
        return self

    def task(self, seed: int) -> Resharding:
        """The arrays on the mesh, as *seed* draws it.

        Raises:
            ExpressionError: an axis has no number of ranks, or too many.
        """
        return self._tasks.of(seed, lambda: self._task(self.draw(seed)))

    def _task(self, drawn: Draw) -> Resharding:
        shape = tuple(whole_count(f"mesh: {a}", n, drawn) for a, n in self.mesh.items())
        if not 1 < prod(shape) <= _MOST_RANKS:
            raise ExpressionError(f"mesh: {prod(shape)} ranks are not 2 to {_MOST_RANKS}")
        return task_of(RankMesh(tuple(self.mesh), shape), self.have, self.want)

    def array_sizes(self, seed: int) -> dict[str, float]:
        """The bytes of each whole array."""
        drawn = self.draw(seed)
        element = evaluate(self.element, drawn.names).value
        sizes = {dim: whole_count(f"sizes: {dim}", n, drawn) for dim, n in self.sizes.items()}
        dims = self.task(seed).dims
        return {name: element * prod(sizes[dim] for dim in dims[name]) for name in dims}

    def plans(self, seed: int) -> list[WorkingPlan]:
        """Every plan of a few moves that works, the cheapest first.

        Raises:
            ExpressionError: there is none.
        """
        sizes = self.array_sizes(seed)
        found = working_plans(self.task(seed))
        if not found:
            raise ExpressionError("no plan of up to three moves reaches the target layout")
        return sorted(found, key=lambda plan: (plan.bytes(sizes), len(plan.moves)))

    def question(self, seed: int) -> ShardingQuestion:
        """The layouts, the moves and the boxes to fill in."""
        task, sizes = self.task(seed), self.array_sizes(seed)
        moves: dict[str, list[str]] = {}
        for move in task.moves:
            moves.setdefault(move.array, []).append(str(move))
        return ShardingQuestion(
            mesh=" × ".join(f"{axis} = {n}" for axis, n in task.mesh.sides),
            rows=layout_rows(task, sizes),
            moves=tuple((name, tuple(texts)) for name, texts in moves.items()),
            fields=self.boxes(seed),
        )

    def right_answer(self, seed: int) -> Answer:
        """The cheapest plan, and the numbers to twelve figures."""
        numbers = {name: key.asked.typed(key.right) for name, key in self.keys(seed).items()}
        return {PLAN: written_plan(self.plans(seed)[0].moves), **numbers}

    def reveal(self, seed: int) -> str:
        """The moves of the cheapest plan, and the numbers."""
        moves = self.plans(seed)[0].moves
        return "\n".join([*(f"1. {move}" for move in moves), "", *self.listed_answers(seed)])

    def mistakes(self, seed: int) -> Iterator[tuple[Answer, str]]:
        """Each plan and each number that the author speaks of, the rest right."""
        right, drawn = self.right_answer(seed), self.draw(seed)
        if not isinstance(right, dict):
            raise TypeError("the answer has several parts")
        for plan, says in self.says.items():
            yield {**right, PLAN: plan}, self.fill(says, drawn)
        for name, key in self.keys(seed).items():
            for value, says in key.mistakes:
                yield {**right, name: key.asked.typed(value)}, says

    async def grade(self, seed: int, answer: Answer, runner: Runner, learner: str = "") -> Verdict:
        """Play the plan, and compare each number with its key."""
        given = self._read(answer)
        plan = read_plan(given[PLAN], self.task(seed), MOVES)
        played, keys = play_plan(self.task(seed), plan), self.keys(seed)
        readings = {name: self._number(name, given[name]) for name in keys if given.get(name)}
        refuse_unclear_answers(keys, readings, given)
        parts = {PLAN: self._judge(seed, plan, played)}
        parts |= {
            name: key.judge(readings[name]) if name in readings else PartVerdict(None, "") for name, key in keys.items()
        }
        score = sum(part.share for part in parts.values()) / len(parts)
        titles = {name: self.title_of(name, seed) for name in parts}
        says = part_sentences(parts, titles)
        if missing := [titles[name] for name, part in parts.items() if part.correct is None]:
            says.append(translate("Still empty: {missing}.", missing="; ".join(missing)))
        return Verdict(score == 1, score, tuple(says), parts, first_mistake(parts.values()), played)

    def _judge(self, seed: int, plan: Sequence[Move], played: PlayedPlan) -> PartVerdict:
        """The verdict on a plan; what it sends is left to the numbers."""
        says = self._said(seed, plan)
        mistake = mistake_key(says) if says else ""
        told = self.fill(says, self.draw(seed))
        if not played.is_right:
            return PartVerdict(False, told or trouble_of(played), mistake)
        sizes = self.array_sizes(seed)
        own = sum(part * sizes[name] for name, part in played.sent.items())
        most, best = tolerated(self.accept), self.plans(seed)[0].bytes(sizes)
        if most is None or own <= best * most:
            told = translate("Right: every rank ends with the block of the target.")
            return PartVerdict(True, told)
        return PartVerdict(False, told or dearer(own, best), mistake, _HALF)

    def _said(self, seed: int, plan: Sequence[Move]) -> str:
        """The author's sentence about *plan*; else nothing."""
        task = self.task(seed)
        known = ((read_plan(text, task, MOVES), says) for text, says in self.says.items())
        return next((says for one, says in known if one == plan), "")

    def title_of(self, name: str, seed: int) -> str:
        """What the part called *name* is on the page."""
        return translate("Plan") if name == PLAN else super().title_of(name, seed)

    def answer_in(self, form: Mapping[str, Sequence[str]]) -> Answer:
        """A field "answer.NAME" for each number, and "move.1" and so on, or "answer.plan"."""
        found = {n: form[f"answer.{n}"][0] for n in (PLAN, *self.answers) if form.get(f"answer.{n}")}
        moves = [one for at in range(1, MOVES + 1) for one in form.get(f"move.{at}", [])[:1] if one]
        return {PLAN: THEN.join(moves), **found}

    def texts(self) -> Iterator[tuple[Where, str]]:
        """The sentences about plans and numbers, too."""
        yield from super().texts()
        for plan, says in self.says.items():
            yield ("says", plan), says
        for name in self.answers:
            yield from ((("answers", name, *where), text) for where, text in self.texts_of(name))

    def at_first(self, seed: int) -> PlayedPlan:
        """What the ranks hold before the first move, and the target."""
        return play_plan(self.task(seed), ())

    @property
    def worked_out(self) -> Sequence[str]:
        """The numbers, too."""
        return [*super().worked_out, *self.answers]

    def prove(self, drawn: Draw) -> Iterator[Finding]:
        """The cheapest plan sends the bytes of the answer, and what is called wrong is wrong."""
        try:
            best = self.plans(drawn.seed)[0].bytes(self.array_sizes(drawn.seed))
            keys = self.keys(drawn.seed)
            clashes = {name: list(self.clashes(keys, name)) for name in keys}
        except ExpressionError as error:
            yield Finding(("answers",), str(error), "change the layouts, or the values")
            return
        if abs(keys[self.sent].right - best) > best * _ROUNDED:
            says = f"is {keys[self.sent].shown()}, and the cheapest plan sends {show(best, BYTE)}"
            yield Finding(("answers", self.sent, "answer"), says, "say what each rank sends")
        foreseen = len(self.says) + sum(len(key.asked.mistakes) for key in keys.values())
        if foreseen < _FORESEEN:
            yield Finding(("says",), "fewer than two mistakes are listed", "add wrong plans")
        for name, found in clashes.items():
            for one in found:
                yield Finding(("answers", name, *one.where), one.says, one.cure)
        yield from self._prove_plans(drawn.seed)

    def _prove_plans(self, seed: int) -> Iterator[Finding]:
        task = self.task(seed)
        for text in self.says:
            try:
                plan = read_plan(text, task, MOVES)
            except AnswerError as error:
                yield Finding(("says", text), str(error), "write moves as the page lists them")
                continue
            if self._judge(seed, plan, play_plan(task, plan)).correct:
                yield Finding(("says", text), "counts as right", "remove it, or narrow `accept`")

    def _read(self, answer: Answer) -> dict[str, str]:
        names = [PLAN, *self.answers]
        if not isinstance(answer, dict):
            raise AnswerError(translate("the answer must be an object with {names}", names=", ".join(names)))
        for name in answer:
            if name not in names:
                raise AnswerError(translate("no answer is called {name!r}{near}", name=name, near=nearest(name, names)))
        return {PLAN: "", **{name: text for name, text in answer.items() if text.strip()}}

    def _number(self, name: str, text: str) -> Reading:
        try:
            return self.answers[name].read(text)
        except AnswerError as error:
            raise AnswerError(f"{name}: {error}") from error
