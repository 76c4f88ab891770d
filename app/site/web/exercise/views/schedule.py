"""Schedules on a page: an editor, the machine, and what the schedule did."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from markupsafe import Markup

from app.core.simulators.programs import PlayedSchedule
from app.core.translation import noted, translate
from app.course.kinds.code.function import Trial
from app.course.kinds.code.schedule import ENTRY, Schedule, TargetMachine, Targets
from app.course.sandbox.pool import SandboxHealth
from app.course.sandbox.runner import Runner
from app.site.web.exercise.page_context import ActionResult, PostedForm, first_value
from app.site.web.exercise.views import CodeView, Form, FormInput

_INSTRUCTIONS = {
    "F": (("F", "l, b", noted("forward of layer l on micro-batch b: x[l, b] becomes x[l+1, b]")),),
    "B": (("B", "l, b", noted("backward: from g[l+1, b] to g[l, b]; adds b to d[l], frees x[l, b]")),),
    "I": (("I", "l, b", noted("the half of B that makes g[l, b]")),),
    "G": (("G", "l, b", noted("the other half: adds b to d[l], frees x[l, b]")),),
    "gather": (("gather", "l", noted("all ranks at once: every rank gets W[l]")),),
    "scatter": (("scatter", "l", noted("all ranks at once: d[l] becomes a shard of the sum, D[l]")),),
    "reduce": (("reduce", "l", noted("all ranks at once: d[l] becomes the sum on every rank")),),
    "hop": (
        ("send", "to, name", noted("sends a copy to another rank")),
        ("pass", "to, name", noted("sends it, and frees it here")),
        ("recv", "from, name", noted("receives what another rank sends")),
        ("add", "from, name", noted("receives it, and adds it to what is there")),
    ),
}
_DROP = ("drop", "name", noted('frees something, such as ("x", l, b) or ("W", l)'))
# What overlaps on a machine that knows these instructions, and why.
_EXAMPLES = (
    (
        {"F", "hop"},
        '("F", 0, 0), ("pass", 1, ("x", 1, 0)), ("F", 0, 1)',
        noted("the message leaves when the first F is done, and travels beside the second."),
    ),
    (
        {"B", "reduce"},
        '("B", 3, 0), ("reduce", 3), ("B", 2, 0)',
        noted("the sum of layer 3 starts when its B is done, and runs beside the next B."),
    ),
    (
        {"F", "gather"},
        '("F", 0, 0), ("gather", 1), ("F", 1, 0)',
        noted("layer 1 is gathered beside the first F, which is written before it."),
    ),
    (
        {"hop"},
        '("send", 1, ("c", 0)), ("add", 3, ("c", 3))',
        noted("rank 0 sends one chunk while it receives another."),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleForm(Form):
    """The editor, the machine, the targets, and whether code can run; *example*: what overlaps there, and why."""

    entry: str
    source: str
    starter: str
    instructions: tuple[tuple[Markup, str, str], ...]
    example: tuple[str, str]
    sizes: str
    targets: Targets
    published: tuple[tuple[str, str], ...]
    health: SandboxHealth | None
    has_code: bool = True


class ScheduleView(CodeView[Schedule]):
    """An editor; Run plays the schedule, Submit grades."""

    is_slow: ClassVar[bool] = True  # thousands of instructions may be drawn

    def form(self, exercise: Schedule, filled: FormInput) -> ScheduleForm:
        """The program that was sent, or the starter code."""
        question = exercise.question(filled.seed)
        ops = set(question.machine.cost)
        return ScheduleForm(
            entry=ENTRY,
            source=first_value(filled.given, "answer") or question.starter,
            starter=question.starter,
            instructions=tuple(_instructions(question.machine)),
            example=next(((code, translate(says)) for known, code, says in _EXAMPLES if known <= ops), ("", "")),
            sizes=", ".join(f"{name} {units}" for name, units in question.machine.size.items()),
            targets=question.targets,
            published=question.published,
            health=filled.context.health,
        )

    async def run(self, exercise: Schedule, source: str, posted: PostedForm, runner: Runner) -> ActionResult:
        """The schedule, played."""
        found = await exercise.play(source, runner, posted.learner)
        if isinstance(found, PlayedSchedule):
            return ActionResult(played=found)
        return ActionResult(trial=Trial(problem=found, line=None, printed="", runs=()))


def _instructions(machine: TargetMachine) -> Iterator[tuple[Markup, str, str]]:
    """Each instruction, what it does, and its time."""
    for op, cost in machine.cost.items():
        for name, values, says in _INSTRUCTIONS[op]:
            yield _written(name, values), translate(says), str(cost)
    name, values, says = _DROP
    yield _written(name, values), translate(says), "0"


def _written(name: str, values: str) -> Markup:
    return Markup('<code>("{}", {})</code>').format(name, values)


VIEWS = (ScheduleView(),)
