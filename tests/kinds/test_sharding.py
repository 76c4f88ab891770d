"""Sharding plans: the player against counts made elsewhere, and the verdicts on plans."""

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from itertools import product as every

import pytest
from fastapi.testclient import TestClient
from pydantic import ValidationError

from app.core.charts.axes import NARROW, WIDE, Drawing
from app.core.errors import AnswerError
from app.core.simulators.sharding import PlayedPlan, RankMesh, Resharding, play_plan, working_plans
from app.course.content.catalog import Catalog
from app.course.illustrations.grids import played_sketch
from app.course.kinds import Verdict
from app.course.kinds.base import Answer, mistake_key
from app.course.kinds.sharding import (
    Sharding,
    in_jax,
    placements,
    read_layout,
    read_plan,
    refuse_unrelated,
    task_of,
    tolerated_bytes,
    trouble_of,
)
from app.course.sandbox.runner import Runner
from app.site.web.exercise.views import view_of
from tests.each import each
from tests.kinds.small import found, graded, small
from tests.oracles.collectives import all_to_all, ring_all_gather, ring_all_reduce, ring_reduce_scatter

Grade = Callable[..., Verdict]
SUMMED = ({"A": "I, J/X", "B": "J/X, K"}, {"C": "I, K"})
FSDP = ({"A": "I/X, J", "B": "J/X, K"}, {"C": "I/X, K"})
BOTH = ({"A": "I/X, J/Y", "B": "J/X, K/Y"}, {"C": "I/X, K/Y"})


def task(mesh: Mapping[str, int], layouts: tuple[dict[str, str], dict[str, str]]) -> Resharding:
    return task_of(RankMesh(tuple(mesh), tuple(mesh.values())), *layouts)


def played(mesh: Mapping[str, int], layouts: tuple[dict[str, str], dict[str, str]], plan: str) -> PlayedPlan:
    asked = task(mesh, layouts)
    return play_plan(asked, read_plan(plan, asked, 5))


def sizes(i: int, j: int, k: int) -> dict[str, float]:
    """Bytes of A, B and C in BF16."""
    return {"A": 2 * i * j, "B": 2 * j * k, "C": 2 * i * k}


def cheapest(asked: Resharding, of: Mapping[str, float]) -> tuple[float, str]:
    best = min(working_plans(asked), key=lambda plan: (plan.bytes(of), len(plan.moves)))
    return best.bytes(of), "; ".join(map(str, best.moves))


@each("n", [2, 4, 8])
def test_each_move_sends_what_the_collective_does(n: int) -> None:
    # The other simulator sends chunks over a network, one by one.
    size = 8.0 * n
    links = {"bandwidth": 1.0, "latency": 0.0}
    whole, split = {"A": "I, J"}, {"A": "I/X, J"}
    part = played({"X": n}, (split, whole), "all-gather A over X").sent["A"]
    assert part * size == ring_all_gather(size, n, **links).sent(0)
    part = played({"X": n}, (split, {"A": "I, J/X"}), "all-to-all A over X along J").sent["A"]
    assert part * size == all_to_all(size / n, n, **links).sent(0)
    part = played({"X": n}, SUMMED, "multiply; all-reduce C over X").sent["C"]
    assert part * size == ring_all_reduce(size, n, **links).sent(0)
    plan = "multiply; reduce-scatter C over X along I"
    part = played({"X": n}, SUMMED, plan).sent["C"]
    assert part * size == ring_reduce_scatter(size, n, **links).sent(0)


def test_the_cheapest_plans_are_those_worked_out_by_hand() -> None:
    assert cheapest(task({"X": 4}, SUMMED), sizes(4096, 8192, 8192)) == (
        2 * 4096 * 8192 * 2 * 3 / 4,
        "multiply; all-reduce C over X",
    )
    rows = (SUMMED[0], {"C": "I/X, K"})
    assert cheapest(task({"X": 4}, rows), sizes(4096, 8192, 8192)) == (
        4096 * 8192 * 2 * 3 / 4,
        "multiply; reduce-scatter C over X along I",
    )
    tokens = "all-to-all A over X along J; multiply; reduce-scatter C over X along I"
    weights = "all-gather B over X; multiply"
    asked = task({"X": 4}, FSDP)  # the turn is at J K/(J/4 + K) = 6,553.6 tokens
    assert cheapest(asked, sizes(4096, 8192, 8192)) == (62914560, tokens)
    assert cheapest(asked, sizes(6553, 8192, 8192))[1] == tokens
    assert cheapest(asked, sizes(6554, 8192, 8192))[1] == weights
    assert cheapest(asked, sizes(65536, 8192, 8192)) == (100663296, weights)
    asked = task({"X": 4, "Y": 2}, BOTH)
    assert cheapest(asked, sizes(8192, 8192, 8192)) == (67108864, "all-gather A over Y; all-gather B over X; multiply")
    assert cheapest(asked, sizes(2048, 8192, 8192))[0] == 23068672


@each("layouts", [SUMMED, FSDP, ({"A": "I/X, J"}, {"A": "I, J/X"})])
def test_the_search_finds_every_plan_that_playing_all_of_them_does(
    layouts: tuple[dict[str, str], dict[str, str]],
) -> None:
    asked = task({"X": 2}, layouts)
    least = {tuple(sorted(plan.sent)) for plan in working_plans(asked, 2)}
    tried = [plan for count in (1, 2, 3) for plan in every(asked.moves, repeat=count)]
    right = [
        done
        for plan in tried
        if sum(move.array != "" for move in plan) <= 2 and (done := play_plan(asked, plan)).is_right
    ]
    found = {tuple(sorted(done.sent.items())) for done in right}
    assert least <= found
    # What the search leaves out is what a move without an effect adds to one of them.
    for sent in found - least:
        assert any(
            dict(other).keys() <= dict(sent).keys() and all(dict(sent)[name] >= part for name, part in other)
            for other in least
        ), sent


@each(
    ("layouts", "plan", "says"),
    [
        (SUMMED, "multiply", "still holds partial sums of C"),
        (SUMMED, "multiply; reduce-scatter C over X along I", "lacks 75 % of C"),
        (SUMMED, "all-gather A over X", "never multiplies"),
        (SUMMED, "all-reduce C over X", "Move 1 cannot be made: C is not there yet"),
        (SUMMED, "multiply; multiply", "Move 2 cannot be made: the product is there already"),
        (SUMMED, "multiply; all-gather C over X", "different partial sums of the same cells"),
        (FSDP, "all-gather B over X; multiply; all-reduce C over X", "different blocks"),
        ((SUMMED[0], {"C": "I/X, K"}), "multiply; all-reduce C over X", "holds 75 % of C more than its block"),
        ((SUMMED[0], {"C": "I/X, K"}), "multiply; reduce-scatter C over X along K", "holds another block of C"),
        (SUMMED, "multiply; all-reduce C over X; all-reduce C over X", "4 times too large"),
    ],
)
def test_a_plan_that_does_not_work_says_why(
    layouts: tuple[dict[str, str], dict[str, str]], plan: str, says: str
) -> None:
    done = played({"X": 4}, layouts, plan)
    assert not done.is_right
    assert says in trouble_of(done)


def test_layouts_are_written_as_in_jax_and_dtensor() -> None:
    mesh = RankMesh(("X", "Y"), (4, 2))
    layout = read_layout("I/X, J", mesh.axes)
    assert in_jax("A", layout) == "$A[I_{X}, J]$"
    assert placements(mesh, layout) == "[Shard(0), Replicate()]"
    assert placements(mesh, read_layout("I, J/XY", mesh.axes)) == "[Shard(1), Shard(1)]"
    for wrong, says in {
        "I/Z, J": "the mesh axis Z does not exist",
        "I/X, J/X": "splits it twice",
        "I, I": "a dimension is there twice",
        "i/X": "is not a layout",
        "": "is not a layout",
    }.items():
        with pytest.raises(ValueError, match=says):
            read_layout(wrong, mesh.axes)
    assert tolerated_bytes("10 %") == pytest.approx(1.1)
    with pytest.raises(ValueError, match="10 %"):
        tolerated_bytes("best")


def test_what_is_drawn_is_what_the_ranks_hold() -> None:
    done = played({"X": 4}, SUMMED, "multiply; reduce-scatter C over X along I")
    sketch = played_sketch(done)
    assert isinstance(sketch, Drawing)
    assert "each rank sends 3/4 of C" in sketch.summary
    for paper in (WIDE, NARROW):
        sheet = sketch.on(paper)
        assert max(rect.x + rect.width for rect in sheet.rects) <= paper.width
        filled = sum(rect.width * rect.height for rect in sheet.rects if not rect.outlined)
        square = next(rect for rect in sheet.rects if rect.outlined)
        # A and B at first, partial sums, the scattered sum, what was wanted; and the legend.
        held = (4 * (1 / 4 + 1 / 4 + 1 + 1 / 4 + 1)) * square.width * square.height
        assert filled == pytest.approx(held + 2 * 11 * 11, rel=0.01)


@pytest.fixture
def grade(catalog: Catalog, runner: Runner, loop: asyncio.AbstractEventLoop) -> Grade:
    def graded(answer: Answer, seed: int = 0, name: str = "weights-or-tokens") -> Verdict:
        exercise = catalog.exercise(f"algebra/{name}")
        return loop.run_until_complete(exercise.grade(seed, answer, runner))

    return graded


def test_a_plan_and_its_numbers_are_judged_apart(grade: Grade, catalog: Catalog) -> None:
    exercise = catalog.exercise("algebra/weights-or-tokens")
    right = exercise.right_answer(0)
    assert isinstance(right, dict)
    assert grade(right).score == 1
    gathered = grade({**right, "plan": "all-gather B over X; multiply"})
    assert gathered.score == 3.5 / 4
    assert gathered.mistake
    assert exercise.diagnosis(gathered.mistake, 0) in gathered.feedback[0]
    half = grade({"plan": right["plan"], "turn": "8192"})
    assert half.score == 1 / 4
    assert "Still empty" in half.feedback[-1]
    # Case and spaces do not matter, and the order of two inputs' moves does not either.
    assert grade({**right, "plan": str(right["plan"]).upper().replace(" OVER", "  over")}).correct
    swapped = "all-gather B over X; all-gather A over Y; multiply"
    two = catalog.exercise("algebra/two-axes").right_answer(0)
    assert isinstance(two, dict)
    assert grade({**two, "plan": swapped}, name="two-axes").correct


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("multiply", "must be an object with plan, few_sent"),
        ({"turn": "1"}, "choose the first move"),
        ({"plan": "multiply; gather B"}, "move 2: 'gather B' is not on the list"),
        ({"plan": "; ".join(["multiply"] * 6)}, "at most 5 moves, not 6"),
        ({"plan": "multiply", "tern": "1"}, "no answer is called 'tern'"),
        ({"plan": "multiply", "turn": "many"}, "turn: "),
    ],
)
def test_an_answer_that_cannot_be_read_says_why(grade: Grade, answer: Answer, says: str) -> None:
    with pytest.raises(AnswerError, match=says):
        grade(answer)


def test_what_a_plan_did_is_drawn_beside_its_verdict(catalog: Catalog, client: TestClient) -> None:
    exercise = catalog.exercise("algebra/weights-or-tokens")
    right = exercise.right_answer(0)
    assert isinstance(right, dict)
    fields = {f"answer.{name}": text for name, text in right.items()}
    part = client.post(f"/exercises/{exercise.id}", data=fields, headers={"X-Fragment": "1"})
    assert "Right" in part.text
    assert "<svg" in part.text


def test_an_earlier_answer_is_told_under_the_titles_of_its_parts(catalog: Catalog) -> None:
    exercise = catalog.exercise("algebra/summed-dimension")
    assert isinstance(exercise, Sharding)
    told = list(view_of(exercise).told(exercise, 0, json.dumps({"plan": "multiply", "gone": "3"})))
    assert [re.sub("<[^>]+>", "", line) for line in told] == ["Plan: multiply", "gone: 3"]


@each(
    ("have", "want", "sizes", "says"),
    [
        ({"A": "I/X, J"}, {"A": "I, J"}, "IJ", ""),
        ({"A": "I/X, J"}, {"A": "J, I"}, "IJ", "A is neither the one array nor the product"),
        ({"A": "I", "B": "I"}, {"A": "I"}, "I", "A is neither"),
        ({"A": "I, J", "B": "J, K"}, {"C": "I, K/X"}, "IJK", ""),
        ({"A": "I, J", "B": "K, J"}, {"C": "I, K"}, "IJK", "C is neither"),
        ({"A": "I, J", "B": "J, K"}, {"C": "K, I"}, "IJK", "C is neither"),
        ({"A": "I, J", "B": "J"}, {"C": "I"}, "IJ", "C is neither"),
        ({"A": "I, J", "B": "J, K"}, {"C": "I, K"}, "I", "sizes lacks J, K"),
        ({"A": "I/Y"}, {"A": "I"}, "I", "the mesh axis Y does not exist, only X"),
    ],
)
def test_a_target_is_the_one_array_or_a_product(
    have: dict[str, str], want: dict[str, str], sizes: str, says: str
) -> None:
    if not says:
        refuse_unrelated("X", have, want, sizes)
        return
    with pytest.raises(ValueError, match=says):
        refuse_unrelated("X", have, want, sizes)


@each(
    ("accept", "times"),
    [("cheapest", 1), ("right", None), ("10 %", 1.1), ("0 %", 1), ("2.5 %", 1.025), ("10", 0), ("10%", 0), ("-5 %", 0)],
)
def test_a_share_of_more_bytes_is_written_with_a_percent_sign(accept: str, times: float | None) -> None:
    if times == 0:
        with pytest.raises(ValueError, match="accept is cheapest, right, or a share such as 10 %"):
            tolerated_bytes(accept)
    else:
        assert tolerated_bytes(accept) == (None if times is None else pytest.approx(times))


def small_plan(**fields: object) -> Sharding:
    """A product over a split dimension: an all-reduce sends 192 B, gathering both inputs 240 B."""
    made = small(
        "sharding",
        **{
            "mesh": {"X": 4},
            "have": {"A": "I, J/X", "B": "J/X, K"},
            "want": {"C": "I, K"},
            "sizes": {"I": 4, "J": 8, "K": 16},
            "answers": {
                "sent": {"prompt": "Sent", "answer": "192 B", "unit": "B", "mistakes": {"96 B": "That is one way."}}
            },
            "sent": "sent",
            "says": {"multiply": "It is not summed."},
            **fields,
        },
    )
    assert isinstance(made, Sharding)
    return made


GATHER = "all-gather A over X; all-gather B over X; multiply"


@each(
    ("plan", "accept", "score", "says"),
    [
        ("multiply; all-reduce C over X", "cheapest", 1, "Right: every rank ends with the block of the target."),
        ("multiply; reduce-scatter C over X along I; all-gather C over X", "cheapest", 1, "Right: every rank"),
        (GATHER, "cheapest", 0.5, "It works, but it sends 1.25 times as much as the cheapest plan."),
        (GATHER, "24 %", 0.5, "It works, but it sends 1.25 times"),
        (GATHER, "25 %", 1, "Right: every rank"),
        (GATHER, "right", 1, "Right: every rank"),
        ("multiply", "right", 0, "It is not summed."),
        ("multiply; all-reduce C over X; all-reduce C over X", "right", 0, "At the end, rank (X = 0) holds numbers"),
    ],
)
def test_a_plan_that_works_earns_half_if_it_sends_too_much(plan: str, accept: str, score: float, says: str) -> None:
    verdict = graded(small_plan(accept=accept), {"plan": plan, "sent": "192"})
    part = verdict.parts["plan"]
    assert (part.share, part.correct) == (score, score == 1)
    assert part.says.startswith(says)
    assert part.mistake == (mistake_key(says) if plan == "multiply" else "")
    assert verdict.score == (score + 1) / 2


def test_a_plan_that_need_not_send_has_sizes_all_the_same() -> None:
    still = small_plan(have={"A": "I/X, J"}, want={"A": "I/X, J"}, sizes={"I": 4, "J": 8}, says={})
    assert still.array_sizes(0) == {"A": 64.0}


def test_the_cheapest_plan_is_the_answer() -> None:
    made = small_plan()
    assert made.right_answer(0)["plan"] == "multiply; all-reduce C over X"
    assert made.array_sizes(0) == {"A": 64.0, "B": 256.0, "C": 128.0}
    assert small_plan(element="4 B").array_sizes(0)["A"] == 128.0
    assert made.question(0).mesh == "X = 4"
    assert [name for name, _ in made.question(0).moves] == list(dict.fromkeys(m.array for m in made.task(0).moves))
    assert made.question(0).rows[-1].title == "target: $C[I, K]$"
    answers = [answer for answer, _ in made.mistakes(0)]
    assert [isinstance(one, dict) and one["plan"] for one in answers] == ["multiply", "multiply; all-reduce C over X"]


def test_moves_of_a_form_make_a_plan() -> None:
    made = small_plan()
    form = {"move.1": ["multiply"], "move.2": [""], "move.5": ["all-reduce C over X"], "move.6": ["multiply"]}
    assert made.answer_in({**form, "answer.sent": ["192"]}) == {"plan": "multiply; all-reduce C over X", "sent": "192"}
    assert made.answer_in({"answer.plan": ["multiply"], **form}) == {"plan": "multiply"}


@each(
    ("fields", "says"),
    [
        ({}, []),
        ({"says": {}}, ["fewer than two mistakes are listed"]),
        ({"says": {"multiply; all-reduce C over X": "No."}}, ["counts as right"]),
        ({"says": {GATHER: "Dear."}}, []),
        ({"says": {GATHER: "Dear."}, "accept": "right"}, ["counts as right"]),
        ({"says": {"multiply; sum": "No."}}, ["move 2: 'sum' is not on the list"]),
        ({"sizes": {"I": 4, "J": 8, "K": 8}}, ["is 192 B, and the cheapest plan sends 96 B"]),
        ({"mesh": {"X": 1}}, ["mesh: 1 ranks are not 2 to 8"]),
        ({"mesh": {"X": 9}}, ["mesh: 9 ranks are not 2 to 8"]),
        ({"mesh": {"X": 2.5}}, None),
        ({"sizes": {"I": 0, "J": 8, "K": 16}}, ["sizes: I must be a whole number, not 0"]),
        ({"sizes": {"I": "2.5", "J": 8, "K": 16}}, ["sizes: I must be a whole number, not 2.5"]),
        ({"sizes": {"I": "2^53 + 2", "J": 8, "K": 16}}, ["sizes: I must be at most 9.0072e+15, not 9.0072e+15"]),
    ],
)
def test_the_proof_of_a_plan_reckons_what_it_sends(fields: dict[str, object], says: list[str] | None) -> None:
    if says is None:
        with pytest.raises(ValidationError):
            small_plan(**fields)
        return
    findings = [text for _, text in found(small_plan(**fields))]
    assert len(findings) == len(says)
    assert all(text.startswith(start) for text, start in zip(findings, says, strict=True))


@each(
    ("fields", "says"),
    [
        ({"sent": "other"}, "sent: no answer is called 'other'"),
        ({"answers": {"plan": {"answer": "1"}}, "sent": "plan"}, "plan is the plan itself"),
        ({"accept": "best"}, "accept is cheapest, right"),
        ({"want": {"C": "K, I"}}, "C is neither"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(fields: dict[str, object], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        small_plan(**fields)
