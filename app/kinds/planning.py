"""A plan of moves as it is written, and why one that was played misses the target."""

from collections.abc import Sequence
from functools import partial

from app.errors import AnswerError, nearest
from app.simulators.sharding import BlockDifference, Move, PlayedPlan, Resharding
from app.units import figures

THEN = "; "  # between two moves
_SAME = 1 + 1e-9


def written(plan: Sequence[Move]) -> str:
    """*plan* as a learner writes it."""
    return THEN.join(map(str, plan))


def read_plan(text: str, task: Resharding, most: int) -> tuple[Move, ...]:
    """The moves that *text* lists, in order.

    Raises:
        AnswerError: it lists none, more than *most*, or one that is not a move of this exercise.
    """
    texts = [" ".join(move.split()) for move in text.split(THEN.strip()) if move.strip()]
    if not texts:
        raise AnswerError("choose the first move of your plan")
    if len(texts) > most:
        raise AnswerError(f"a plan has at most {most} moves, not {len(texts)}")
    known = {str(move).casefold(): move for move in task.moves}
    return tuple(_move(number, one, known) for number, one in enumerate(texts, 1))


def _move(number: int, text: str, known: dict[str, Move]) -> Move:
    if text.casefold() in known:
        return known[text.casefold()]
    names = [str(move) for move in known.values()]
    raise AnswerError(f"move {number}: {text[:60]!r} is not on the list{nearest(text, names)}")


def trouble_of(played: PlayedPlan) -> str:
    """Why a plan misses the target, as a sentence; where, if a move is illegal."""
    task = played.task
    name = task.want[0]
    if played.problem:
        return f"Move {len(played.steps) + 1} cannot be made: {played.problem}."
    if name not in played.arrays:
        return f"There is no {name} at the end: the plan never multiplies."
    found = played.difference
    if found is None:
        raise ValueError("the plan reaches the target")
    where = ", ".join(f"{a} = {at}" for a, at in zip(task.mesh.axes, found.rank, strict=True))
    return f"At the end, rank ({where}) {_differs(name, found)}."


def _differs(name: str, found: BlockDifference) -> str:
    percent = partial(figures, digits=3)
    if found.times:
        return f"holds numbers that are {found.times} times too large: they were complete already"
    if found.wrong:
        return f"still holds partial sums of {name}"
    if found.lacks and found.extra:
        return f"holds another block of {name} than its own"
    if found.lacks:
        return f"lacks {percent(100 * found.lacks)} % of {name} that it should hold"
    return f"holds {percent(100 * found.extra)} % of {name} more than its block"


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
