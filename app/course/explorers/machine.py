"""What one machine can do: its kernels, its links, and the generations before it."""

from dataclasses import replace

from app.core.translation import noted
from app.core.units import BYTE_PER_SECOND
from app.course.explorers.base import ExplainedMistakes, Explorer, ExplorerOutput, Values
from app.course.explorers.controls import in_group
from app.course.explorers.generations import GENERATIONS
from app.course.explorers.hardware import GPU, HIERARCHY
from app.course.explorers.roofline import ROOFLINE

_PARTS = ((noted("Kernels"), ROOFLINE), (noted("Links"), HIERARCHY), (noted("Generations"), GENERATIONS))


def _machine(values: Values) -> ExplorerOutput:
    kernels, links, generations = (part.explore(values) for _, part in _PARTS)
    rates = tuple(fact for fact in links.facts if fact.unit == BYTE_PER_SECOND)
    return ExplorerOutput(
        "\n\n".join(one.says for one in (kernels, links, generations)),
        kernels.facts[:1] + rates,
        kernels.figures + links.figures + generations.figures,
    )


MACHINE = Explorer(
    name="machine",
    title=noted("What can a machine do?"),
    summary=noted("The roofline of a GPU, a message over each of its links, and what grew over the generations."),
    question=ROOFLINE.question,
    predicts=ROOFLINE.predicts,
    chapter="hardware",
    formulas=tuple(dict.fromkeys(name for _, part in _PARTS for name in part.formulas)),
    controls=(
        replace(GPU, group=noted("Machine")),
        *(
            replace(control, aside=True)
            for name, part in _PARTS
            for control in in_group(name, *(one for one in part.controls if one.name != GPU.name))
        ),
    ),
    explore=_machine,
    asks=ROOFLINE.asks,
    foreseen=ExplainedMistakes(exercise="hardware/ridge-point", given=ROOFLINE.foreseen.given),
)
