import itertools
import random
import re
from collections.abc import Iterator

import pytest

from app.core.formulas import formula_value, lookup
from app.core.formulas.collectives import (
    all_to_all_bytes,
    ring_all_gather_bytes,
    ring_all_reduce_bytes,
    ring_reduce_scatter_bytes,
)
from app.core.formulas.sharding import cheapest_plan, plan_bytes
from app.core.formulas.sharding.plans import SHARDING_TASKS, ShardingPlan, ShardingTask
from app.core.simulators.sharding import Move, MoveKind, RankMesh, Resharding, play_plan, working_plans
from app.course.kinds.sharding import task_of

SIZES = {"I": 4096, "J": 8192, "K": 2048}
DIMS = {"A": ("I", "J"), "B": ("J", "K"), "C": ("I", "K")}


def task(have: dict[str, str], want: dict[str, str], **mesh: int) -> ShardingTask:
    return ShardingTask(
        mesh=" ".join(f"{axis}:{n}" for axis, n in mesh.items()),
        sizes=" ".join(f"{dim}:{n}" for dim, n in SIZES.items()),
        have=" ".join(f"{name}[{layout}]" for name, layout in have.items()),
        want=" ".join(f"{name}[{layout}]" for name, layout in want.items()),
    )


def small(have: dict[str, str], want: dict[str, str], **mesh: int) -> Resharding:
    """The same for the simulator, which moves numbers and knows no rule."""
    return task_of(RankMesh(tuple(mesh), tuple(mesh.values())), have, want)


def plan(moves: tuple[object, ...]) -> ShardingPlan:
    return ShardingPlan(moves="; ".join(map(str, moves)))


def whole(name: str) -> float:
    first, second = DIMS[name]
    return 2.0 * SIZES[first] * SIZES[second]


BYTES = {name: whole(name) for name in DIMS}


def layouts(name: str, axes: str) -> Iterator[str]:
    """Every layout of an array, each axis splitting one dimension or none."""
    first, second = DIMS[name]
    for places in itertools.product((None, first, second), repeat=len(axes)):
        cuts = {dim: "".join(a for a, at in zip(axes, places, strict=True) if at == dim) for dim in (first, second)}
        yield ", ".join(f"{dim}/{cut}" if cut else dim for dim, cut in cuts.items())


def tasks(axes: str) -> list[tuple[dict[str, str], dict[str, str]]]:
    each = itertools.product(*(layouts(name, axes) for name in DIMS))
    return [({"A": a, "B": b}, {"C": c}) for a, b, c in each]


def taken(asked: ShardingTask, moves: tuple[Move, ...]) -> float | None:
    try:
        return plan_bytes(asked, plan(moves))
    except ValueError:
        return None


def test_plan_bytes_are_those_of_every_plan_played_number_by_number() -> None:
    found = 0
    for have, want in tasks("X"):
        asked, played = task(have, want, X=2), small(have, want, X=2)
        for length in (1, 2):
            for moves in itertools.permutations(played.moves, length):
                sent = taken(asked, moves)
                if sent is None:
                    continue
                outcome = play_plan(played, moves)
                assert outcome.is_right, (have, want, moves)
                counted = sum(part * BYTES[name] for name, part in outcome.sent.items())
                assert sent == pytest.approx(counted, rel=1e-12), moves
                found += 1
    assert found > 25


@pytest.mark.parametrize("have", [("I, J/X", "J/X, K"), ("I/X, J", "J/X, K"), ("I, J/X", "J, K/X")])
def test_plan_bytes_takes_every_plan_that_works_and_exchanges_no_copies(have: tuple[str, str]) -> None:
    arrays = {"A": have[0], "B": have[1]}
    for target in layouts("C", "X"):
        played = small(arrays, {"C": target}, X=4)
        for known in working_plans(played):
            sent = taken(task(arrays, {"C": target}, X=4), known.moves)
            if sent is None:
                assert any(move.kind is MoveKind.ALL_TO_ALL for move in known.moves)  # of copies
                continue
            assert sent == pytest.approx(known.bytes(BYTES), rel=1e-12)


def test_plan_bytes_are_those_of_each_collective_alone() -> None:
    cases = [
        ("A[I/X, J]", "A[I, J]", "all-gather A over X", ring_all_gather_bytes(1e6, 4)),
        ("A[I/X, J]", "A[I, J/X]", "all-to-all A over X along J", all_to_all_bytes(1e6 / 4, 4)),
        ("A[I, J]", "A[I, J/X]", "keep own part of A over X along J", 0.0),
    ]
    for have, want, moves, sent in cases:
        asked = ShardingTask(mesh="X:4", sizes="I:500 J:1000", have=have, want=want)
        assert plan_bytes(asked, ShardingPlan(moves=moves)) == pytest.approx(sent)
    sums = {"C[I, K]": ("all-reduce C over X", ring_all_reduce_bytes(1e6, 4))}
    sums["C[I/X, K]"] = ("reduce-scatter C over X along I", ring_reduce_scatter_bytes(1e6, 4))
    for want, (moves, sent) in sums.items():
        asked = ShardingTask(mesh="X:4", sizes="I:500 J:8 K:1000", have="A[I, J/X] B[J/X, K]", want=want)
        assert plan_bytes(asked, ShardingPlan(moves=f"multiply; {moves}")) == pytest.approx(sent)


@pytest.mark.parametrize(
    ("moves", "says"),
    [
        ("gather A", "move 1 must be one such as 'all-gather A over X', not 'gather A'; did you mean 'all-gather'?"),
        ("all-gather A over X", "plan must reach C[I, K], not end with A[I, J] B[J/X, K]"),
        ("multiply", "plan must reach C[I, K], not end with C[I, K] with partial sums over X"),
        ("all-reduce C over X", "plan must find an array C for 'all-reduce C over X' as move 1"),
        (
            "multiply; all-reduce C over X; all-reduce C over X",
            "plan must find partial sums over X for 'all-reduce C over X' as move 3",
        ),
        ("multiply; " * 21, "moves must be at most 20, not 21"),
    ],
)
def test_plan_bytes_refuses_a_plan_that_cannot_be_made(moves: str, says: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(says)}$"):
        plan_bytes(SHARDING_TASKS["summed dimension"], ShardingPlan.read(moves))


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"mesh": "X=4"}, "mesh must be letters with numbers, such as X:4 Y:2, not 'X=4'"),
        ({"mesh": "X:4 X:2"}, "mesh must have each letter once, not 'X:4 X:2'"),
        ({"mesh": "X:3"}, "sizes must let X split J evenly, not 8,192 over 3"),
        ({"have": "A[I, J/Y] B[J, K]"}, "mesh must have the axis Y, not only 'X:4'"),
        ({"have": "A[I/X, J/X] B[J, K]"}, "have must use an axis once per array, not 'XX'"),
        ({"have": "A[I, L] B[L, K]"}, "sizes must have the dimension L, not only 'I:4096"),
        ({"have": "A[I, J"}, "have must be arrays such as A[I/X, J], not 'A[I, J'"),
        ({"want": "C[K, I]"}, "want must be the one array or the product of two matrices"),
        ({"have": "A[I, J, K, L, M]"}, "have must have at most 4 dimensions, not 5"),
        ({"sizes": "I:" + "9" * 5000}, "sizes must be letters with numbers"),
        ({"want": "C[I, I]"}, "want must be dimensions such as I/X, J, not 'I, I'"),
    ],
)
def test_a_task_that_makes_no_sense_is_refused(changed: dict[str, str], says: str) -> None:
    fields = {"mesh": "X:4", "sizes": "I:4096 J:8192 K:8192", "have": "A[I, J/X] B[J/X, K]"}
    with pytest.raises(ValueError, match=f"^{re.escape(says)}"):
        ShardingTask(**({**fields, "want": "C[I, K]"} | changed))  # type: ignore[arg-type]


def test_cheapest_plan_sends_as_little_as_the_best_of_all_plans_that_work() -> None:
    draw = random.Random(7)
    several = [(one, {"X": 4}) for one in tasks("X")]
    several += [(one, {"X": 2, "Y": 2}) for one in draw.sample(tasks("XY"), 12)]
    compared = 0
    for (have, want), mesh in several:
        asked, known = task(have, want, **mesh), working_plans(small(have, want, **mesh), 2)
        if "Y" in mesh:  # where exchanging scattered pieces can send less
            known = tuple(one for one in known if taken(asked, one.moves) is not None)
        best = cheapest_plan(asked)
        sent = plan_bytes(asked, plan(best))
        assert all(sent <= one.bytes(BYTES) * (1 + 1e-12) for one in known)
        if len(best) <= len(("a move", "another", "multiply")):
            least = min(one.bytes(BYTES) for one in known)
            assert sent == pytest.approx(least, rel=1e-12), (have, want, best)
            compared += 1
    assert compared > len(tasks("X"))


def test_cheapest_plan_moves_the_tokens_up_to_the_batch_where_the_weights_weigh_less() -> None:
    turn = 8192 * 8192 / (8192 / 4 + 8192)
    for tokens in (4, 4096, int(turn) // 4 * 4, int(turn) // 4 * 4 + 4, 65536):
        asked = ShardingTask.read(f"FSDP sizes=I:{tokens} J:8192 K:8192")
        gathers = cheapest_plan(asked) == ("all-gather B over X", "multiply")
        assert gathers == (tokens > turn)


def test_cheapest_plan_of_the_transposed_product_sends_the_same() -> None:
    plain = task({"A": "I/X, J/Y", "B": "J/X, K"}, {"C": "I, K/Y"}, X=2, Y=4)
    other = ShardingTask(mesh=plain.mesh, sizes=plain.sizes, have="B[K, J/X] A[J/Y, I/X]", want="C[K/Y, I]")
    sent = [plan_bytes(one, plan(cheapest_plan(one))) for one in (plain, other)]
    assert sent[0] == sent[1] > 0


def test_cheapest_plan_is_words_that_plan_bytes_reads_as_text() -> None:
    given = "mesh=X:4 sizes=I:4096 J:8192 K:8192 have=A[I, J/X] B[J/X, K] want=C[I/X, K]"
    words = formula_value(lookup("sharding.cheapest_plan"), {"task": given})
    assert words == ("multiply", "reduce-scatter C over X along I")
    sent = formula_value(lookup("sharding.plan_bytes"), {"task": given, "plan": "; ".join(words)})
    assert sent == 4096 * 8192 * 2 * 3 / 4
