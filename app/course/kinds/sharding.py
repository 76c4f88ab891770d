"""Exercises that ask for a plan of collectives between layouts, judged by playing it."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Annotated, Literal, Self

from pydantic import Field, PrivateAttr, model_validator

from app.core.errors import AnswerError, nearest
from app.core.expressions import ExpressionError, evaluate
from app.core.quotation import escape_markdown
from app.core.simulators import sharding
from app.core.translation import localize, noted, translate
from app.core.units import BYTE, figures, show
from app.course.kinds import base
from app.course.kinds.answer_key import AskedQuantity
from app.course.kinds.drawn_values import Draw
from app.course.kinds.numeric import Box, QuantityExercise, refuse_unclear_answers
from app.course.sandbox.runner import Runner

_LARGEST_COUNT = 2**53  # above, floating-point numbers skip whole ones
_DIM = re.compile(r"([A-Z])(?:/([A-Z]+))?")


def read_layout(text: str, axes: Sequence[str]) -> sharding.ShardedLayout:
    """The layout that *text* stands for: `I/X, J` is split along I over the mesh axis X.

    Raises:
        ValueError: it is not one; the message says what is expected.
    """
    found = [_DIM.fullmatch(part.strip()) for part in text.split(",")]
    if not all(found):
        raise ValueError(f"{text!r} is not a layout such as 'I/X, J'")
    pairs = [(one[1], tuple(one[2] or "")) for one in found if one]
    layout = sharding.ShardedLayout(tuple(dim for dim, _ in pairs), tuple(cut for _, cut in pairs))
    for axis in layout.axes:
        if axis not in axes:
            raise ValueError(f"{text!r}: the mesh axis {axis} does not exist, only {', '.join(axes)}")
        if layout.axes.count(axis) > 1:
            raise ValueError(f"{text!r}: the axis {axis} splits it twice")
    if len(set(layout.dims)) < len(layout.dims):
        raise ValueError(f"{text!r}: a dimension is there twice")
    return layout


def in_jax(name: str, layout: sharding.ShardedLayout) -> str:
    """The array with its layout as in JAX and the scaling book, as mathematics: A[I_X, J]."""
    dims = (f"{dim}_{{{''.join(cut)}}}" if cut else dim for dim, cut in zip(layout.dims, layout.cuts, strict=True))
    return rf"${name}[{', '.join(dims)}]$"


def placements(mesh: sharding.RankMesh, layout: sharding.ShardedLayout) -> str:
    """The placements of DTensor: one for each axis of the mesh, in order."""
    words = []
    for axis in mesh.axes:
        dim = next((at for at, cut in enumerate(layout.cuts) if axis in cut), None)
        words.append("Replicate()" if dim is None else f"Shard({dim})")
    return f"[{', '.join(words)}]"


@dataclass(frozen=True, slots=True)
class ArrayLayout:
    """An array: its layout as in JAX and in DTensor, and the bytes of all of it."""

    title: str
    dtensor: str
    size: str


def task_of(mesh: sharding.RankMesh, have: Mapping[str, str], want: Mapping[str, str]) -> sharding.Resharding:
    """The arrays on *mesh*, and the target.

    Raises:
        ValueError: a layout cannot be read.
    """
    name, text = next(iter(want.items()))
    layouts = tuple((name, read_layout(text, mesh.axes)) for name, text in have.items())
    return sharding.Resharding(mesh, layouts, (name, read_layout(text, mesh.axes)))


def refuse_unrelated(
    axes: Sequence[str], have: Mapping[str, str], want: Mapping[str, str], sizes: Collection[str]
) -> None:
    """Refuse a target that is neither one of the others nor their product.

    Raises:
        ValueError: it is neither, a layout cannot be read, or a dimension has no size.
    """
    task = task_of(sharding.RankMesh(tuple(axes), (1,) * len(axes)), have, want)
    name, layout = task.want
    dims = [one.dims for _, one in task.have]
    if name in have:
        possible = dims == [layout.dims]
    else:
        possible = [len(one) for one in dims] == [2, 2] and (
            dims[0][1] == dims[1][0] and layout.dims == (dims[0][0], dims[1][1])
        )
    if not possible:
        raise ValueError(f"{name} is neither the one array nor the product of two matrices")
    if missing := {dim for one in (*dims, layout.dims) for dim in one} - {*sizes}:
        raise ValueError(f"sizes lacks {', '.join(sorted(missing))}")


def whole_count(where: str, value: str | int, drawn: Draw) -> int:
    """A whole number that an exercise file gives as an expression.

    Raises:
        ExpressionError: it is not one, not positive, or too large to be exact.
    """
    found = evaluate(str(value), drawn.names).value
    if found < 1 or found != int(found):
        raise ExpressionError(f"{where} must be a whole number, not {found:g}")
    if found > _LARGEST_COUNT:
        raise ExpressionError(f"{where} must be at most {_LARGEST_COUNT:g}, not {found:g}")
    return int(found)


THEN = "; "  # between two moves
_SAME = 1 + 1e-9


def read_plan(text: str, task: sharding.Resharding, most: int) -> tuple[sharding.Move, ...]:
    """The moves that *text* lists, in order.

    Raises:
        AnswerError: it lists none, more than *most*, or one that is not a move of this exercise.
    """
    texts = [" ".join(move.split()) for move in text.split(THEN.strip()) if move.strip()]
    if not texts:
        raise AnswerError(translate("choose the first move of your plan"))
    if len(texts) > most:
        raise AnswerError(translate("a plan has at most {most} moves, not {texts}", most=most, texts=len(texts)))
    known = {str(move).casefold(): move for move in task.moves}
    for count, one in enumerate(texts, 1):
        if one.casefold() not in known:
            near = nearest(one[:60], [str(move) for move in known.values()])
            raise AnswerError(
                translate("move {count}: {text!r} is not on the list{near}", count=count, text=one[:60], near=near)
            )
    return tuple(known[one.casefold()] for one in texts)


def trouble_of(played: sharding.PlayedPlan) -> str:
    """Why a plan misses the target, as a sentence; where, if a move is illegal."""
    task = played.task
    name = task.want[0]
    if played.problem:
        return translate(
            "Move {move} cannot be made: {problem}.",
            move=len(played.steps) + 1,
            problem=escape_markdown(localize(played.problem)),
        )
    if name not in played.arrays:
        return translate("There is no {name} at the end: the plan never multiplies.", name=name)
    found = played.difference
    if found is None:
        raise ValueError("the plan reaches the target")
    where = ", ".join(f"{a} = {at}" for a, at in zip(task.mesh.axes, found.rank, strict=True))
    return _differs(f"({where})", name, found)


def _differs(rank: str, name: str, found: sharding.BlockDifference) -> str:
    if found.times:
        return translate(
            "At the end, rank {rank} holds numbers that are {times} times too large: they were complete already.",
            rank=rank,
            times=found.times,
        )
    if found.wrong:
        return translate("At the end, rank {rank} still holds partial sums of {name}.", rank=rank, name=name)
    if found.lacks and found.extra:
        return translate("At the end, rank {rank} holds another block of {name} than its own.", rank=rank, name=name)
    if found.lacks:
        return translate(
            "At the end, rank {rank} lacks {share} % of {name} that it should hold.",
            rank=rank,
            share=figures(100 * found.lacks, 3),
            name=name,
        )
    return translate(
        "At the end, rank {rank} holds {share} % of {name} more than its block.",
        rank=rank,
        share=figures(100 * found.extra, 3),
        name=name,
    )


def tolerated_bytes(accept: str) -> float | None:
    """How many times the bytes of the cheapest plan a plan may send; None for any.

    Raises:
        ValueError: *accept* is not "cheapest", "right" or a share such as "10 %".
    """
    if accept in ("cheapest", "right"):
        return _SAME if accept == "cheapest" else None
    number, _, percent = accept.partition(" ")
    if percent != "%" or not number.replace(".", "", 1).isdecimal():
        raise ValueError(f"accept is cheapest, right, or a share such as 10 %: {accept!r}")
    return 1 + float(number) / 100


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


class Sharding(QuantityExercise):
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
    says: dict[str, base.Markdown] = Field(
        default_factory=dict, description="a plan that is not right, its moves with ; between them"
    )
    answers: dict[str, AskedQuantity] = Field(min_length=1, description="numbers beside the plan")
    sent: str = Field(description="the answer that is what each rank sends in the cheapest plan")
    _tasks: base.ValueCache[int, sharding.Resharding] = PrivateAttr(default_factory=base.ValueCache)

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
        tolerated_bytes(self.accept)
        return self

    def task(self, seed: int) -> sharding.Resharding:
        """The arrays on the mesh, as *seed* draws it.

        Raises:
            ExpressionError: an axis has no number of ranks, or too many.
        """
        return self._tasks.of(seed, lambda: self._task(self.draw(seed)))

    def _task(self, drawn: Draw) -> sharding.Resharding:
        shape = tuple(whole_count(f"mesh: {a}", n, drawn) for a, n in self.mesh.items())
        if not 1 < prod(shape) <= _MOST_RANKS:
            raise ExpressionError(f"mesh: {prod(shape)} ranks are not 2 to {_MOST_RANKS}")
        return task_of(sharding.RankMesh(tuple(self.mesh), shape), self.have, self.want)

    def array_sizes(self, seed: int) -> dict[str, float]:
        """The bytes of each whole array."""
        drawn = self.draw(seed)
        element = evaluate(self.element, drawn.names).value
        sizes = {dim: whole_count(f"sizes: {dim}", n, drawn) for dim, n in self.sizes.items()}
        dims = self.task(seed).dims
        return {name: element * prod(sizes[dim] for dim in dims[name]) for name in dims}

    def plans(self, seed: int) -> list[sharding.WorkingPlan]:
        """Every plan of a few moves that works, the cheapest first.

        Raises:
            ExpressionError: there is none.
        """
        sizes = self.array_sizes(seed)
        found = sharding.working_plans(self.task(seed))
        if not found:
            raise ExpressionError("no plan of up to three moves reaches the target layout")
        return sorted(found, key=lambda plan: (plan.bytes(sizes), len(plan.moves)))

    def question(self, seed: int) -> ShardingQuestion:
        """The layouts, the moves and the boxes to fill in."""
        task, sizes = self.task(seed), self.array_sizes(seed)
        moves: dict[str, list[str]] = {}
        for move in task.moves:
            moves.setdefault(move.array, []).append(str(move))
        rows = (
            ArrayLayout(
                title=f"{'target: ' if at == len(task.have) else ''}{in_jax(name, layout)}",
                dtensor=placements(task.mesh, layout),
                size=show(sizes[name], BYTE),
            )
            for at, (name, layout) in enumerate((*task.have, task.want))
        )
        return ShardingQuestion(
            mesh=" × ".join(f"{axis} = {n}" for axis, n in task.mesh.sides),
            rows=tuple(rows),
            moves=tuple((name, tuple(texts)) for name, texts in moves.items()),
            fields=self.boxes(seed),
        )

    def right_answer(self, seed: int) -> dict[str, str]:
        """The cheapest plan, and the numbers to twelve figures."""
        return {PLAN: THEN.join(map(str, self.plans(seed)[0].moves)), **self.typed_answers(seed)}

    def reveal(self, seed: int) -> str:
        """The moves of the cheapest plan, and the numbers."""
        moves = self.plans(seed)[0].moves
        return "\n".join([*(f"1. {move}" for move in moves), "", *self.listed_answers(seed)])

    def mistakes(self, seed: int) -> Iterator[tuple[base.Answer, str]]:
        """Each plan and each number that the author speaks of, the rest right."""
        right, drawn = self.right_answer(seed), self.draw(seed)
        for plan, says in self.says.items():
            yield {**right, PLAN: plan}, self.fill(says, drawn)
        yield from self.mistyped_answers(seed, right)

    async def grade(self, seed: int, answer: base.Answer, runner: Runner, learner: str = "") -> base.Verdict:
        """Play the plan, and compare each number with its key."""
        given = {PLAN: "", **base.named_answers(answer, [PLAN, *self.answers])}
        plan = read_plan(given[PLAN], self.task(seed), MOVES)
        played, keys = sharding.play_plan(self.task(seed), plan), self.keys(seed)
        readings = {name: self.read_box(name, given[name]) for name in keys if given.get(name)}
        refuse_unclear_answers(keys, readings, given)
        parts = {PLAN: self._judge(seed, plan, played)}
        parts |= {
            name: key.judge(readings[name]) if name in readings else base.PartVerdict(None, "")
            for name, key in keys.items()
        }
        return self.verdict_on(seed, parts, played)

    def _judge(self, seed: int, plan: Sequence[sharding.Move], played: sharding.PlayedPlan) -> base.PartVerdict:
        """The verdict on a plan; what it sends is left to the numbers."""
        known = ((read_plan(text, played.task, MOVES), says) for text, says in self.says.items())
        says = next((says for one, says in known if one == plan), "")
        mistake = base.mistake_key(says) if says else ""
        told = self.fill(says, self.draw(seed))
        if not played.is_right:
            return base.PartVerdict(False, told or trouble_of(played), mistake)
        sizes = self.array_sizes(seed)
        own = sum(part * sizes[name] for name, part in played.sent.items())
        most, best = tolerated_bytes(self.accept), self.plans(seed)[0].bytes(sizes)
        if most is None or own <= best * most:
            told = translate("Right: every rank ends with the block of the target.")
            return base.PartVerdict(True, told)
        dearer = translate("It works, but it sends, unlike the cheapest plan.")
        if best:
            times = figures(own / best, 3)
            dearer = translate("It works, but it sends {times} times as much as the cheapest plan.", times=times)
        return base.PartVerdict(False, told or dearer, mistake, _HALF)

    def title_of(self, name: str, seed: int) -> str:
        """What the part called *name* is on the page."""
        return translate("Plan") if name == PLAN else super().title_of(name, seed)

    def answer_in(self, form: Mapping[str, Sequence[str]]) -> base.Answer:
        """A field "answer.NAME" for each number, and "move.1" and so on, or "answer.plan"."""
        found = base.posted_answers(form, (PLAN, *self.answers))
        moves = [one for at in range(1, MOVES + 1) for one in form.get(f"move.{at}", [])[:1] if one]
        return {PLAN: THEN.join(moves), **found}

    def texts(self) -> Iterator[tuple[base.Where, str]]:
        """The sentences about plans, too."""
        yield from super().texts()
        for plan, says in self.says.items():
            yield ("says", plan), says

    def at_first(self, seed: int) -> sharding.PlayedPlan:
        """What the ranks hold before the first move, and the target."""
        return sharding.play_plan(self.task(seed), ())

    def prove(self, drawn: Draw) -> Iterator[base.Finding]:
        """The cheapest plan sends the bytes of the answer, and what is called wrong is wrong."""
        try:
            best = self.plans(drawn.seed)[0].bytes(self.array_sizes(drawn.seed))
            keys = self.keys(drawn.seed)
            clashes = self.clashes(keys)
        except ExpressionError as error:
            yield base.Finding(("answers",), str(error), "change the layouts, or the values")
            return
        if abs(keys[self.sent].right - best) > best * _ROUNDED:
            says = f"is {keys[self.sent].shown()}, and the cheapest plan sends {show(best, BYTE)}"
            yield base.Finding(("answers", self.sent, "answer"), says, "say what each rank sends")
        foreseen = len(self.says) + sum(len(key.asked.mistakes) for key in keys.values())
        if foreseen < _FORESEEN:
            yield base.Finding(("says",), "fewer than two mistakes are listed", "add wrong plans")
        yield from clashes
        yield from self._prove_plans(drawn.seed)

    def _prove_plans(self, seed: int) -> Iterator[base.Finding]:
        task = self.task(seed)
        for text in self.says:
            try:
                plan = read_plan(text, task, MOVES)
            except AnswerError as error:
                yield base.Finding(("says", text), str(error), "write moves as the page lists them")
                continue
            if self._judge(seed, plan, sharding.play_plan(task, plan)).correct:
                yield base.Finding(("says", text), "counts as right", "remove it, or narrow `accept`")
