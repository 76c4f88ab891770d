"""Schedule exercises: verdicts in their order, diagnoses, and what a hostile program gets."""

import asyncio
from collections.abc import Callable

import pytest
from pydantic import ValidationError

from app.core.charts.axes import NARROW, WIDE, Drawing
from app.core.errors import AnswerError
from app.core.simulators.programs import PlayedSchedule
from app.course.content.catalog import Catalog
from app.course.illustrations.base import schedule_sketch
from app.course.kinds import Verdict
from app.course.kinds.code.schedule import Schedule, TargetMachine, Targets
from app.course.sandbox.runner import Runner
from tests.each import each
from tests.kinds.small import Here

PIPE = "puzzles/one-forward-one-backward"
ROOM = "puzzles/room-for-four"
RING = "puzzles/a-ring-by-hand"
Grade = Callable[..., Verdict]


def schedule(catalog: Catalog, name: str) -> Schedule:
    exercise = catalog.exercise(name)
    assert isinstance(exercise, Schedule)
    return exercise


@pytest.fixture
def grade(catalog: Catalog, runner: Runner, loop: asyncio.AbstractEventLoop) -> Grade:
    def graded(source: str, name: str = ROOM) -> Verdict:
        return loop.run_until_complete(schedule(catalog, name).grade(0, source, runner))

    return graded


def listed(*lines: str) -> str:
    return "\n    ".join(["def program(rank):", *lines])


ALL = "out = [('F', l, 0) for l in range(9)]"


@pytest.mark.parametrize(
    ("source", "score", "says"),
    [
        (listed("return []"), 0, "Rank 0 must end with d[0], which lacks micro-batch 0."),
        (listed("return [('F', 3, 0)]"), 0, "It stops at 0: rank 0 waits at F[3, 0] for x[3, 0]."),
        (
            listed(ALL, "return out + [('B', l, 0) for l in reversed(range(9))]"),
            0.5,
            "Rank 0 holds 9 at its fullest, and 4 is the limit.",
        ),
        (listed("return 1"), 0, "program(0) must return a list"),
        (listed("return [['F', 0, 0]] * 3000"), 0, "3,000 instructions; at most 2,000"),
        (listed("while True: pass"), 0, "time limit"),
        (listed("return [0] * 10**9"), 0, "MemoryError"),
        (listed("raise ValueError('no')"), 0, "`program(0)`: Line 2: `ValueError: no`"),
        ("def plan(rank):\n    return []", 0, "No function called `program` is defined."),
        ("def program(", 0, "SyntaxError"),
    ],
)
def test_verdicts_say_what_happened(grade: Grade, source: str, score: float, says: str) -> None:
    verdict = grade(source)
    assert not verdict.correct
    assert verdict.score == score
    assert says in verdict.feedback[0]


def test_right_wrong_and_known_wrong(catalog: Catalog, grade: Grade) -> None:
    exercise = schedule(catalog, ROOM)
    right = grade(exercise.right)
    assert right.correct
    assert exercise.bound.strip() in right.feedback[0]
    for wrong in exercise.wrong:
        verdict = grade(wrong.code)
        assert wrong.says in verdict.feedback
        assert exercise.diagnosis(verdict.mistake, 0) == wrong.says.strip()
    ring = schedule(catalog, RING)
    # c[0] has all it needs after 9 messages, and 12 messages follow.
    assert "It takes 21, which is 15 units too long." in grade(ring.wrong[1].code, RING).feedback[0]


def test_an_empty_answer_is_not_graded(grade: Grade) -> None:
    with pytest.raises(AnswerError, match="the answer is empty"):
        grade("  ")
    with pytest.raises(AnswerError, match="must be a string"):
        grade(["program"])


def played_by(grade: Grade, source: str) -> PlayedSchedule:
    played = grade(source, PIPE).played
    assert isinstance(played, PlayedSchedule)
    return played


def test_what_is_drawn_stays_on_the_paper(catalog: Catalog, grade: Grade) -> None:
    exercise = schedule(catalog, PIPE)
    for source in (exercise.right, exercise.wrong[0].code, exercise.starter):
        played = played_by(grade, source)
        drawn = schedule_sketch(played)
        assert isinstance(drawn, Drawing)
        for paper in (WIDE, NARROW):
            sheet = drawn.on(paper)
            assert max(rect.x + rect.width for rect in sheet.rects) <= paper.width + 1
            assert max(rect.y + rect.height for rect in sheet.rects) <= sheet.height
    forward = played_by(grade, exercise.starter)  # one pass after the other
    assert not any(rect.marked for rect in schedule_sketch(forward).on(WIDE).rects)
    held = played_by(grade, exercise.wrong[0].code)
    assert held.first_wait
    assert sum(rect.marked for rect in schedule_sketch(held).on(WIDE).rects) == 1


def test_a_machine_whose_parts_do_not_divide_is_refused() -> None:
    with pytest.raises(ValidationError, match="layers must be a multiple of ranks: 5 and 4"):
        TargetMachine(ranks=4, layers=5, batches=8, holds="stages", cost={"F": 1})
    with pytest.raises(ValidationError, match="batches must be a multiple of ranks: 3 and 4"):
        TargetMachine(ranks=4, layers=4, batches=3, holds="weights", cost={"F": 1})


@each(
    ("holds", "starts", "goals"),
    [
        ("weights", ["W0 W1 W2 W3 x0 x1", "W0 W1 W2 W3 x2 x3"], ["d0 d1 d2 d3", "d0 d1 d2 d3"]),
        ("nothing", ["x0 x1", "x2 x3"], ["D0 D1 D2 D3", "D0 D1 D2 D3"]),
        ("stages", ["W0 W2 x0 x1 x2 x3", "W1 W3"], ["d0 d2", "d1 d3"]),
        ("chunks", ["c0 c1", "c0 c1"], ["c0 c1", "c0 c1"]),
    ],
)
def test_what_ranks_hold_at_first_and_must_hold_at_last(holds: str, starts: list[str], goals: list[str]) -> None:
    machine = TargetMachine.model_validate(
        {"ranks": 2, "layers": 4, "batches": 4, "holds": holds, "cost": {"F": 2, "I": 3, "G": 5}, "size": {"W": 7}}
    )
    built = machine.built(9)
    assert [" ".join(f"{name[0]}{name[-1]}" for name in one) for one in built.start] == starts
    assert (built.layers, built.limit) == (4, 9)
    found: dict[int, list[str]] = {0: [], 1: []}
    for rank, name, summed in machine.goals():
        found[rank].append(f"{name[0]}{name[-1]}")
        assert summed == frozenset(range(2 if holds == "chunks" else 4))
    assert [" ".join(names) for names in found.values()] == goals
    if holds == "chunks":
        assert [set(one.values()) for one in built.start] == [{frozenset([0])}, {frozenset([1])}]


@each(
    ("cost", "work"), [({"F": 1, "B": 2}, 24), ({"F": 1, "I": 1, "G": 2}, 32), ({"F": 2, "B": 5, "I": 1}, 56), ({}, 0)]
)
def test_a_pass_backward_is_one_or_two_halves(cost: dict[str, int], work: int) -> None:
    machine = TargetMachine.model_validate({"ranks": 2, "layers": 2, "batches": 4, "holds": "weights", "cost": cost})
    assert machine.work == work


@each(
    ("time", "memory", "score", "says"),
    [
        (0, 0, 1, "Right: it finishes at {time} and no rank holds more than {peak}. "),
        (0, None, 1, "Right: it finishes at {time}. "),
        (-1, 0, 0.5, "It takes {time}, which is 1 unit too long."),
        (-2, None, 0.5, "It takes {time}, which is 2 units too long."),
        (0, -1, 0.5, "Rank {full} holds {peak} at its fullest, and {memory} is the limit."),
        (-1, -1, 0.25, "Rank {full} holds {peak} at its fullest"),
    ],
)
def test_a_target_is_met_to_the_unit_and_memory_comes_first(
    catalog: Catalog, time: int, memory: int | None, score: float, says: str
) -> None:
    exercise = schedule(catalog, ROOM)
    played = asyncio.run(exercise.play(exercise.right, Here()))
    assert isinstance(played, PlayedSchedule)
    peak = max(played.peaks)
    most = None if memory is None else peak + memory
    strict = exercise.model_copy(update={"targets": Targets(time=played.time + time, memory=most)})
    told, earned = strict.judge(played)
    assert (earned, bool(told)) == (score, score < 1)
    says = says.format(time=played.time, peak=peak, memory=most, full=played.peaks.index(peak))
    assert (told or asyncio.run(strict.grade(0, exercise.right, Here())).feedback[0]).startswith(says)


def test_a_program_is_asked_for_each_rank_and_the_first_that_fails_is_named(catalog: Catalog) -> None:
    exercise = schedule(catalog, RING)
    fails = "def program(rank):\n    return [] if rank < 2 else 1 / 0\n"
    assert asyncio.run(exercise.play(fails, Here())) == "`program(2)`: Line 2: `ZeroDivisionError: division by zero`"
    assert asyncio.run(exercise.prove_code(range(1), Here())) == []
    wrong = [*exercise.wrong, exercise.wrong[0].model_copy(update={"code": exercise.right})]
    late = exercise.model_copy(update={"wrong": wrong})
    late._foreseen.clear()
    (one,) = asyncio.run(late.prove_code(range(1), Here()))
    assert (one.where, one.says) == (("wrong", 3), "meets the targets")
    (one,) = asyncio.run(
        exercise.model_copy(update={"published": {"Ring": "def plan(rank): pass"}}).prove_code(range(1), Here())
    )
    assert (one.where, one.says) == (("published", "Ring"), "does not run")
    (one,) = asyncio.run(exercise.model_copy(update={"targets": Targets(time=5)}).prove_code(range(1), Here()))
    assert (one.where, one.says[:40]) == (("right",), "misses a target: It takes 6, which is 1 ")
