"""Layouts of arrays on a mesh and plans of moves, as exercise files and learners write them."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from app.core.errors import AnswerError, nearest
from app.core.expressions import ExpressionError, evaluate
from app.core.quotation import escape_markdown
from app.core.simulators.sharding import BlockDifference, Move, PlayedPlan, RankMesh, Resharding, ShardedLayout
from app.core.translation import localized, translate
from app.core.units import BYTE, figures, show
from app.course.kinds.drawn_values import Draw

_LARGEST_COUNT = 2**53  # above, floating-point numbers skip whole ones
_DIM = re.compile(r"([A-Z])(?:/([A-Z]+))?")


def read_layout(text: str, axes: Sequence[str]) -> ShardedLayout:
    """The layout that *text* stands for: `I/X, J` is split along I over the mesh axis X.

    Raises:
        ValueError: it is not one; the message says what is expected.
    """
    found = [_DIM.fullmatch(part.strip()) for part in text.split(",")]
    if not all(found):
        raise ValueError(f"{text!r} is not a layout such as 'I/X, J'")
    pairs = [(one[1], tuple(one[2] or "")) for one in found if one]
    layout = ShardedLayout(tuple(dim for dim, _ in pairs), tuple(cut for _, cut in pairs))
    for axis in layout.axes:
        if axis not in axes:
            raise ValueError(f"{text!r}: the mesh axis {axis} does not exist, only {', '.join(axes)}")
        if layout.axes.count(axis) > 1:
            raise ValueError(f"{text!r}: the axis {axis} splits it twice")
    if len(set(layout.dims)) < len(layout.dims):
        raise ValueError(f"{text!r}: a dimension is there twice")
    return layout


def in_jax(name: str, layout: ShardedLayout) -> str:
    """The array with its layout as in JAX and the scaling book, as mathematics: A[I_X, J]."""
    dims = (f"{dim}_{{{''.join(cut)}}}" if cut else dim for dim, cut in zip(layout.dims, layout.cuts, strict=True))
    return rf"${name}[{', '.join(dims)}]$"


def placements(mesh: RankMesh, layout: ShardedLayout) -> str:
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


def layout_rows(task: Resharding, sizes: Mapping[str, float]) -> tuple[ArrayLayout, ...]:
    """A row for each array that the ranks have, and one for the target."""
    return tuple(
        ArrayLayout(
            title=f"{'target: ' if at == len(task.have) else ''}{in_jax(name, layout)}",
            dtensor=placements(task.mesh, layout),
            size=show(sizes[name], BYTE),
        )
        for at, (name, layout) in enumerate((*task.have, task.want))
    )


def task_of(mesh: RankMesh, have: Mapping[str, str], want: Mapping[str, str]) -> Resharding:
    """The arrays on *mesh*, and the target.

    Raises:
        ValueError: a layout cannot be read.
    """
    name, text = next(iter(want.items()))
    layouts = tuple((name, read_layout(text, mesh.axes)) for name, text in have.items())
    return Resharding(mesh, layouts, (name, read_layout(text, mesh.axes)))


def refuse_unrelated(
    axes: Sequence[str], have: Mapping[str, str], want: Mapping[str, str], sizes: Collection[str]
) -> None:
    """Refuse a target that is neither one of the others nor their product.

    Raises:
        ValueError: it is neither, a layout cannot be read, or a dimension has no size.
    """
    task = task_of(RankMesh(tuple(axes), (1,) * len(axes)), have, want)
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


def written_plan(plan: Sequence[Move]) -> str:
    """*plan* as a learner writes it."""
    return THEN.join(map(str, plan))


def read_plan(text: str, task: Resharding, most: int) -> tuple[Move, ...]:
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
    return tuple(_move(number, one, known) for number, one in enumerate(texts, 1))


def _move(number: int, text: str, known: dict[str, Move]) -> Move:
    if text.casefold() in known:
        return known[text.casefold()]
    names = [str(move) for move in known.values()]
    raise AnswerError(
        translate(
            "move {count}: {text!r} is not on the list{near}", count=number, text=text[:60], near=nearest(text, names)
        )
    )


def trouble_of(played: PlayedPlan) -> str:
    """Why a plan misses the target, as a sentence; where, if a move is illegal."""
    task = played.task
    name = task.want[0]
    if played.problem:
        return translate(
            "Move {move} cannot be made: {problem}.",
            move=len(played.steps) + 1,
            problem=escape_markdown(localized(played.problem)),
        )
    if name not in played.arrays:
        return translate("There is no {name} at the end: the plan never multiplies.", name=name)
    found = played.difference
    if found is None:
        raise ValueError("the plan reaches the target")
    where = ", ".join(f"{a} = {at}" for a, at in zip(task.mesh.axes, found.rank, strict=True))
    return _differs(f"({where})", name, found)


def _differs(rank: str, name: str, found: BlockDifference) -> str:
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


def tolerated(accept: str) -> float | None:
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


def dearer(own: float, best: float) -> str:
    """What is said of a plan that works and sends *own* bytes, where *best* would do."""
    if not best:
        return translate("It works, but it sends, unlike the cheapest plan.")
    return translate("It works, but it sends {times} times as much as the cheapest plan.", times=figures(own / best, 3))
