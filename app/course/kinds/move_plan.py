"""A plan of moves as it is written, and why one that was played misses the target."""

from collections.abc import Sequence

from app.core.errors import AnswerError, nearest
from app.core.quotation import escape_markdown
from app.core.simulators.sharding import BlockDifference, Move, PlayedPlan, Resharding
from app.core.translation import localized, translate
from app.core.units import figures

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
