"""What the rules of a schedule puzzle say is what the simulator does."""

import ast
from collections.abc import Iterator

import pytest

from app.core.simulators.programs import PlayedSpan, play_schedule
from app.course.content.catalog import Catalog
from app.course.kinds.code.schedule import Schedule, TargetMachine
from app.site.web.exercise.views import FormInput
from app.site.web.exercise.views.schedule import ScheduleView

Step = tuple[object, ...]


def examples(catalog: Catalog) -> Iterator[tuple[TargetMachine, str]]:
    """The machine of each puzzle, and the example that its page shows."""
    for exercise in catalog.exercises:
        if isinstance(exercise, Schedule):
            form = ScheduleView().form(exercise, FormInput(seed=0, learner="", given={}, parts={}, graded=False))
            yield exercise.machine, form.example[0]


def programs(machine: TargetMachine, code: str) -> list[list[Step]]:
    """A program for each rank, in which rank 0 does what the example says."""
    example: list[Step] = list(ast.literal_eval(f"[{code}]"))
    first: list[list[Step]] = [[] for _ in range(machine.ranks)]
    for rank, steps in enumerate(first):
        own = machine.batches // machine.ranks * rank
        if "reduce" in machine.cost:
            steps += [("F", layer, own) for layer in range(machine.layers)]
        if "gather" in machine.cost:
            steps.append(("gather", 0))
        if rank == 0:
            steps += example
        elif not {"send", "pass"} & {str(step[0]) for step in example}:
            steps += [(*step[:2], own) if len(step) > 2 else step for step in example]
    for op, other, name in (step for step in example if step[0] in ("send", "pass", "add")):
        assert isinstance(other, int)
        first[other].append(("send", 0, name) if op == "add" else ("recv" if op == "pass" else "add", 0, name))
    return first


def overlap(one: PlayedSpan, other: PlayedSpan) -> bool:
    return one.start < other.end and other.start < one.end


def test_what_an_example_says_overlaps_does_so(catalog: Catalog) -> None:
    shown = [(machine, code) for machine, code in examples(catalog) if code]
    assert len({code for _, code in shown}) == 4
    for machine, code in shown:
        played = play_schedule(machine.built(None), programs(machine, code))
        assert played.problem == "", code
        mine = [span for span in played.spans if span.rank == 0]
        message, beside = (
            next(span for span in reversed(mine) if (span.stream == "compute") == computes)
            for computes in (False, "F" in code or "B" in code)
        )
        if "hop" in machine.cost and not machine.cost["hop"]:
            continue  # messages take no time here
        if machine.holds == "chunks":
            message, beside = (span for span in mine if span.stream != "compute")
        elif "gather" in machine.cost:
            beside = next(span for span in mine if span.stream == "compute")
        assert overlap(message, beside), code


@pytest.mark.parametrize("known", ["hop", "reduce", "gather"])
def test_every_puzzle_in_which_something_overlaps_has_an_example(catalog: Catalog, known: str) -> None:
    for machine, code in examples(catalog):
        assert bool(code) == (set(machine.cost) != {"F", "B"})
        if known in machine.cost:
            assert code
