"""The schedules of papers as programs of ranks, for the machines on which learners write theirs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from app.core.simulators.pipeline import Pass, PipelineSchedule, build
from app.core.simulators.programs.instructions import Name, Summed
from app.core.simulators.programs.player import PlayedSchedule, ScheduleMachine, play_schedule

_WHOLE = ("gpipe", "1f1b")  # with a backward pass in one piece
_SPLIT = ("zb_h1", "zb_h2")


def known_schedules(machine: ScheduleMachine, microbatches: int) -> Mapping[str, PlayedSchedule]:
    """The published schedules that can be played on *machine*, by name.

    Its ranks have the layers in turn, and all *microbatches* start on the first one. A schedule of
    one stage per rank gets layers that are neighbors instead.
    """
    ranks = len(machine.start)
    chunks = machine.layers // ranks
    if not chunks:
        return {}
    beside = _with_neighbors(machine, chunks)
    names = (*_WHOLE, *(_SPLIT if "I" in machine.costs else ()))
    tried = [(build(name, ranks, microbatches), beside, chunks) for name in names]
    if chunks > 1 and microbatches % ranks == 0:
        tried.append((build("interleaved", ranks, microbatches, chunks), machine, 1))
    played = {
        schedule.name: play_schedule(where, [list(_program(schedule, where, rank, each)) for rank in range(ranks)])
        for schedule, where, each in tried
    }
    return {name: one for name, one in played.items() if not one.problem}


def _with_neighbors(machine: ScheduleMachine, chunks: int) -> ScheduleMachine:
    """*machine* with *chunks* neighboring layers on each rank."""
    return replace(
        machine,
        start=tuple(
            dict(_neighbors(held, range(rank * chunks, (rank + 1) * chunks))) for rank, held in enumerate(machine.start)
        ),
    )


def _neighbors(held: Mapping[Name, Summed], layers: Sequence[int]) -> Iterator[tuple[Name, Summed]]:
    yield from ((name, what) for name, what in held.items() if name[0] != "W")
    yield from ((("W", layer), None) for layer in layers)


def _program(
    schedule: PipelineSchedule, machine: ScheduleMachine, rank: int, each: int
) -> Iterator[tuple[object, ...]]:
    """What *rank* does in *schedule*, whose stages have *each* layers, and its messages."""
    for block in schedule.orders[rank]:
        for one in block:
            yield from _instructions(schedule, machine, one, each)


def _instructions(
    schedule: PipelineSchedule, machine: ScheduleMachine, one: Pass, each: int
) -> Iterator[tuple[object, ...]]:
    """A pass: what it receives, what it computes, and what it passes on."""
    kind, batch, stage = one
    layers = range(stage * each, (stage + 1) * each)
    if kind == "W":
        yield from (("G", layer, batch) for layer in reversed(layers))
    elif kind == "F":
        if stage > 0:
            yield "recv", schedule.device_of(batch, stage - 1), ("x", layers[0], batch)
        yield from (("F", layer, batch) for layer in layers)
        if stage < schedule.depth - 1:
            yield "pass", schedule.device_of(batch, stage + 1), ("x", layers[-1] + 1, batch)
    else:
        if stage < schedule.depth - 1:
            yield "recv", schedule.device_of(batch, stage + 1), ("g", layers[-1] + 1, batch)
        halves = ("I", "G") if kind == "B" and "B" not in machine.costs else (kind,)
        yield from ((half, layer, batch) for layer in reversed(layers) for half in halves)
        if stage > 0:
            yield "pass", schedule.device_of(batch, stage - 1), ("g", layers[0], batch)
