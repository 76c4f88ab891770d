"""Schedules as programs: known makespans, who waits, and every wrong instruction by its name."""

import base64
import random
import zlib
from collections.abc import Callable, Mapping

from app.core.simulators.pipeline import Times, build
from app.core.simulators.pipeline import simulate_schedule as play_pipeline
from app.core.simulators.programs import (
    Instruction,
    Name,
    PlayedSchedule,
    PlayedSpan,
    ScheduleMachine,
    Summed,
    known_schedules,
    play_schedule,
    read_schedule_code,
    schedule_code,
)
from app.core.simulators.programs.player import LONGEST_CODE, MOST_INSTRUCTIONS
from tests.each import each

Program = list[tuple[object, ...]]
Start = tuple[Mapping[Name, Summed], ...]


def stages(ranks: int, batches: int, hop: int, **costs: int) -> ScheduleMachine:
    start: list[dict[Name, Summed]] = [{("W", rank): None} for rank in range(ranks)]
    start[0] |= {("x", 0, batch): None for batch in range(batches)}
    return ScheduleMachine(ranks, tuple(start), {**costs, "hop": hop}, {"x": 1})


def pipeline(ranks: int, batches: int, warm: Callable[[int], int]) -> list[Program]:
    """One forward, one backward, after warm(rank) forward passes."""

    def forward(rank: int, batch: int) -> Program:
        came: Program = [("recv", rank - 1, ("x", rank, batch))] if rank else []
        goes: Program = [("pass", rank + 1, ("x", rank + 1, batch))] if rank < ranks - 1 else []
        return [*came, ("F", rank, batch), *goes]

    def backward(rank: int, batch: int) -> Program:
        came: Program = [("recv", rank + 1, ("g", rank + 1, batch))] if rank < ranks - 1 else []
        goes: Program = [("pass", rank - 1, ("g", rank, batch))] if rank else []
        return [*came, ("B", rank, batch), *goes]

    def program(rank: int) -> Program:
        first = min(batches, warm(rank))
        out = [step for batch in range(first) for step in forward(rank, batch)]
        for batch in range(batches - first):
            out += forward(rank, first + batch) + backward(rank, batch)
        return out + [s for b in range(batches - first, batches) for s in backward(rank, b)]

    return [program(rank) for rank in range(ranks)]


@each("ranks", [1, 2, 4, 8])
@each("batches", [1, 3, 8, 16])
@each("name", ["1f1b", "gpipe"])
def test_pipelines_take_what_the_other_simulator_says(ranks: int, batches: int, name: str) -> None:
    warm = {"1f1b": lambda rank: ranks - 1 - rank, "gpipe": lambda rank: batches}[name]
    machine = stages(ranks, batches, 0, F=3, B=5)
    played = play_schedule(machine, pipeline(ranks, batches, warm))
    assert not played.problem
    assert played.time == play_pipeline(build(name, ranks, batches), Times(3, 5, 0)).makespan


def test_a_round_trip_of_messages_is_hidden_by_twice_the_warm_up() -> None:
    # By hand: 3 (F + hop) to the last rank, 8 (F + B) there, 3 (B + hop) back.
    machine = stages(4, 8, 1, F=1, B=2)
    classic = play_schedule(machine, pipeline(4, 8, lambda rank: 3 - rank))
    assert classic.time == 49
    double = play_schedule(machine, pipeline(4, 8, lambda rank: 2 * (3 - rank)))
    assert (double.time, double.peaks[0]) == (3 * 2 + 8 * 3 + 3 * 3, 9)


def ring(turn: int) -> list[Program]:
    """An all-reduce of four chunks; the second round starts *turn* chunks from the own one."""
    programs: list[Program] = []
    for rank in range(4):
        right, left = (rank + 1) % 4, (rank - 1) % 4
        out: Program = []
        for step in range(3):
            out += [("send", right, ("c", (rank - step) % 4)), ("add", left, ("c", (left - step) % 4))]
        for step in range(3):
            sent, came = (rank + turn - step) % 4, (left + turn - step) % 4
            out += [("send", right, ("c", sent)), ("recv", left, ("c", came))]
        programs.append(out)
    return programs


def test_a_ring_sums_every_chunk_in_six_hops() -> None:
    start: Start = tuple({("c", k): frozenset([rank]) for k in range(4)} for rank in range(4))
    machine = ScheduleMachine(0, start, {"hop": 1}, {})
    played = play_schedule(machine, ring(1))
    assert played.time == 6
    assert all(set(held.values()) == {frozenset(range(4))} for held in played.held)
    wrong = play_schedule(machine, ring(0))
    assert not wrong.problem
    assert any(frozenset(range(4)) not in held.values() for held in wrong.held)


def test_nothing_depends_on_the_order_in_which_ranks_are_looked_at() -> None:
    machine = stages(4, 8, 1, F=1, B=2)
    programs = pipeline(4, 8, lambda rank: 2 * (3 - rank))
    found = set()
    for seed in range(10):
        order = random.Random(seed).sample(range(4), 4)
        played = play_schedule(machine, programs, order)
        found.add((played.time, played.peaks, played.memory))
    assert len(found) == 1


def alone(program: object, layers: int = 2) -> PlayedSchedule:
    start: dict[Name, Summed] = {("W", layer): None for layer in range(layers)}
    costs = {"F": 1, "B": 2, "I": 1, "G": 1, "gather": 1, "reduce": 1}
    machine = ScheduleMachine(layers, ({**start, ("x", 0, 0): None},), costs, {"x": 1, "d": 1})
    return play_schedule(machine, [program])


def test_what_is_being_made_takes_memory_and_tokens_do_not() -> None:
    forward: Program = [("F", 0, 0), ("F", 1, 0)]
    assert alone(forward[:1]).memory == ((0, (2,)),)
    both = alone([*forward, ("B", 1, 0), ("B", 0, 0)])
    # x[0] is read and x[1] made; then d[1] is made, x[1] is free, d[0] is made, x[0] is free.
    assert both.memory == ((0, (2,)), (2, (3,)), (6, (2,)))
    assert alone([]).peaks == (0,)
    assert alone([*forward, ("drop", ("x", 1, 0))]).held[0].keys() == {("W", 0), ("W", 1), ("x", 0, 0), ("g", 2, 0)}
    halves = alone([*forward, ("I", 1, 0), ("G", 1, 0), ("I", 0, 0), ("G", 0, 0)])
    whole = alone([*forward, ("B", 1, 0), ("B", 0, 0)])
    assert (halves.time, halves.held) == (6, whole.held)


@each(
    ("program", "says"),
    [
        (None, "program(0) must return a list of instructions, not None"),
        ([("F", 0, 0)] * 2001, "2,001 instructions; at most 2,000"),
        (["F"], "rank 0, instruction 0: 'F' is not an instruction"),
        ([("F", 0)], "should be ('F', layer, micro_batch)"),
        ([("F", 0.0, 0)], "layers and micro-batches are whole numbers"),
        ([("F", True, 0)], "whole numbers"),
        ([("F", 0, 10**5000)], "whole numbers"),
        ([("F", 10**5000)], "a very long number should be"),
        ([("f" * 99, 0)], "instruction 0: 'fff"),
        ([("scatter", 0)], "'scatter' cannot be used here, only B, F, G, I, drop, gather, reduce"),
        ([("send", 1, ("x", 0, 0))], "'send' cannot be used here"),
        ([("drop", 3)], "3 is not a name such as"),
        ([("drop", ())], "is not a name"),
        ([("drop", ("x", "y"))], "is not a name"),
        ([("F", 1, 0)], "rank 0 waits at F[1, 0] for x[1, 0]"),
        ([("F", 5, 0)], "waits at F[5, 0] for W[5]"),
        ([("drop", ("x", 1, 0))], "waits at drop x[1, 0] for x[1, 0]"),
        ([("B", 1, 0)], "for x[1, 0]"),
        (
            [("F", 0, 0), ("F", 1, 0), ("B", 1, 0), ("F", 0, 0), ("F", 1, 0), ("B", 1, 0)],
            "adds the contribution of 0 to d[1] twice",
        ),
    ],
)
def test_a_wrong_program_is_told_where_and_why(program: object, says: str) -> None:
    assert says in alone(program).problem


def test_messages_that_do_not_meet_are_named() -> None:
    machine = stages(2, 1, 1, F=1, B=2)
    crossed = play_schedule(machine, [[("recv", 1, ("g", 1, 0))], [("recv", 0, ("x", 1, 0))]])
    assert crossed.problem == (
        "rank 0 waits at recv g[1, 0] from rank 1 for the other ranks; "
        "rank 1 waits at recv x[1, 0] from rank 0 for the other ranks"
    )
    other = play_schedule(machine, [[("send", 1, ("x", 0, 0))], [("recv", 0, ("x", 1, 0))]])
    assert other.problem == "rank 1 expects x[1, 0] from rank 0, which sends x[0, 0]"
    itself = play_schedule(machine, [[("send", 0, ("x", 0, 0))], []])
    assert "the rank must be another one, from 0 to 1, not 0" in itself.problem
    replicas: Start = tuple({("W", 0): None, ("x", 0, r): None} for r in range(2))
    machine = ScheduleMachine(1, replicas, {"F": 1, "B": 1, "reduce": 1}, {})
    late = play_schedule(machine, [[("F", 0, 0), ("B", 0, 0), ("reduce", 0)], []])
    assert late.problem == "rank 0 waits at reduce[0] for the other ranks"
    assert late.first_wait is None


def test_the_first_wait_is_the_earliest_gap_before_a_computation_of_any_rank() -> None:
    step = Instruction("F", 0, -1)

    def first_of(*spans: tuple[int, str, int, int]) -> tuple[int, int] | None:
        made = tuple(PlayedSpan(rank, stream, start, end, step) for rank, stream, start, end in spans)
        first = PlayedSchedule(stages(2, 1, 1, F=1), 9, (), made, ()).first_wait
        return (first.rank, first.start) if first else None

    late, next_ = (0, "compute", 5, 6), (0, "compute", 0, 2)
    assert first_of(late, (1, "compute", 1, 2), (1, "compute", 3, 4), next_) == (1, 3)
    assert first_of(next_, late, (1, "compute", 1, 2), (1, "compute", 2, 7)) == (0, 5)
    assert first_of((0, "compute", 2, 5), next_, late) is None  # each at the end of the one before
    assert first_of(late) is None  # a late start is no gap
    assert first_of(next_, (0, "out", 4, 5)) is None


def test_the_longest_programs_are_played_quickly() -> None:
    names: dict[Name, Summed] = {("W", layer): None for layer in range(16)}
    machine = ScheduleMachine(16, (names,) * 16, {"hop": 1}, {"W": 1})
    programs = [
        [
            step
            for n in range(1000)
            for step in (("send", (rank + 1) % 16, ("W", n % 16)), ("recv", (rank - 1) % 16, ("W", n % 16)))
        ]
        for rank in range(16)
    ]
    assert play_schedule(machine, programs).time == 1000


@each("ranks", [2, 3, 4])
@each("rounds", [1, 2, 3])
@each("chunks", [1, 2])
@each("costs", [{"F": 3, "B": 5}, {"F": 3, "I": 2, "G": 4}])
def test_published_schedules_take_what_the_other_simulator_says(
    ranks: int, rounds: int, chunks: int, costs: Mapping[str, int]
) -> None:
    batches = ranks * rounds
    start: list[dict[Name, Summed]] = [
        {("W", layer): None for layer in range(rank, ranks * chunks, ranks)} for rank in range(ranks)
    ]
    start[0] |= {("x", 0, batch): None for batch in range(batches)}
    machine = ScheduleMachine(ranks * chunks, tuple(start), {**costs, "hop": 0}, {"x": 1})
    found = known_schedules(machine, batches)
    halves = costs.get("I", 5) * chunks, costs.get("G", 0) * chunks
    times = Times(3 * chunks, *halves)
    split = {"zb_h1", "zb_h2"} if "I" in costs else set()
    whole = {"gpipe", "1f1b"} | ({"interleaved"} if chunks > 1 else set())
    assert whole | split <= set(found)
    # A gradient leaves after its half of the backward pass, which the other makes one piece.
    for name in split if "I" in costs else whole:
        virtual = chunks if name == "interleaved" else 1
        other = play_pipeline(build(name, ranks, batches, virtual), times)
        assert found[name].time == other.makespan, name


def test_published_schedules_hold_what_their_papers_say() -> None:
    """GPipe every micro-batch, 1F1B as many as there are stages; one more is being made."""
    found = known_schedules(stages(4, 8, 0, F=1, B=2), 8)
    assert {name: max(one.peaks) for name, one in found.items()} == {"gpipe": 9, "1f1b": 5}
    assert known_schedules(ScheduleMachine(0, ({},), {"F": 1}, {}), 8) == {}


def played_again(machine: ScheduleMachine, played: PlayedSchedule) -> PlayedSchedule:
    return play_schedule(machine, read_schedule_code(schedule_code(played)))


def test_a_short_form_is_the_schedule() -> None:
    machine = stages(4, 8, 1, F=1, B=2)
    for warm in range(4):
        played = play_schedule(machine, pipeline(4, 8, lambda rank, warm=warm: 3 - rank + warm))  # type: ignore[misc]
        again = played_again(machine, played)
        assert (again.time, again.memory, again.spans) == (played.time, played.memory, played.spans)


def test_a_drop_and_a_collective_have_a_short_form() -> None:
    start: Start = tuple({("x", 0, rank): None} for rank in range(2))
    machine = ScheduleMachine(1, start, {"gather": 1, "F": 2, "B": 2, "scatter": 3}, {"W": 1})
    program: Program = [("gather", 0), ("F", 0, 0), ("B", 0, 0), ("drop", ("W", 0)), ("scatter", 0)]
    other: Program = [(op, *rest[:1], 1) if op in ("F", "B") else (op, *rest) for op, *rest in program]
    played = play_schedule(machine, [program, other])
    assert not played.problem
    assert played.sends == 4
    again = played_again(machine, played)
    assert (again.spans, again.held) == (played.spans, played.held)


def test_only_a_whole_schedule_has_a_short_form() -> None:
    machine = stages(2, 1, 0, F=1, B=1)
    assert schedule_code(play_schedule(machine, [[], []])) == ""
    assert schedule_code(play_schedule(machine, [[("F", 0, 0), ("F", 1, 0)], []])) == ""
    one = ScheduleMachine(2, ({("W", 0): None, ("x", 0, 0): None},), {"F": 1}, {})
    for many, has_one in ((MOST_INSTRUCTIONS, True), (MOST_INSTRUCTIONS + 1, False)):
        assert bool(schedule_code(play_schedule(one, [[("F", 0, 0)] * many]))) == has_one


def packed(text: str | bytes) -> str:
    plain = text.encode() if isinstance(text, str) else text
    return base64.urlsafe_b64encode(zlib.compress(plain, 9)).decode().rstrip("=")


@each(
    ("code", "says"),
    [
        ("", "not a schedule in short form"),
        ("A", "not a schedule in short form"),
        ("AAAA", "not a schedule in short form"),
        ("%00", "not a schedule in short form"),
        (packed("F.0.0")[:-2], "not a schedule in short form"),
        (packed("F.0.0") + "AAAA", "not a schedule in short form"),
        (packed("F.0.-1"), "not a schedule in short form"),
        (packed("F.0.1234"), "not a schedule in short form"),
        (packed("F.0.<b>"), "not a schedule in short form"),
        (packed("F.0.²"), "not a schedule in short form"),
        (packed(b"\xff\xfe"), "not a schedule in short form"),
        (packed("F.0.0 " * MOST_INSTRUCTIONS), "at most 1,000 instructions"),
        (packed("F" * 10**6), "not a schedule in short form"),
        ("A" * (LONGEST_CODE + 1), "at most 2,000 characters, not 2,001"),
    ],
)
def test_what_is_no_short_form_is_refused(code: str, says: str) -> None:
    try:
        read_schedule_code(code)
    except ValueError as error:
        assert says in str(error)
    else:
        raise AssertionError(code)


def test_an_instruction_without_operands_is_told_by_the_player() -> None:
    for text in ("F", "drop", "pass", "pass.1", "gather", "nothing.1", "recv.0.x.0.0"):
        played = play_schedule(stages(2, 1, 0, F=1, B=1), read_schedule_code(packed(f"{text};")))
        assert played.problem, text
