"""A training run whose layout is to be chosen: what a layout needs, and the fastest there is."""

import re
from collections.abc import Mapping
from functools import lru_cache

from pydantic import Field

from app.core.expressions import Quantity
from app.core.formulas.layout import total_step_time
from app.core.formulas.memory import memory_budget
from app.core.formulas.presets import Cluster, ModelShape
from app.core.formulas.step.cluster_speeds import attention_kernels
from app.core.searching import Space, find_layouts, fixed_fields
from app.core.units import BYTE, SECOND
from app.course.kinds.strict import Strict

LARGEST = 200_000  # layouts that a grader searches: a second in plain Python
_DEGREES = ("tensor", "pipeline", "context", "expert", "virtual", "micro_batch")
_KEPT = ("recompute", "zero_stage", "sequence_parallel")  # searched, if they are not fixed
_SECONDS = SECOND.dimension
_SLOT = re.compile(r"\{(\w+)\}")

Named = dict[str, Quantity]
Told = tuple[str, str, int, int, tuple[str, ...]]  # model, cluster, batch, sequence, fixed fields


class TrainingRun(Strict):
    """A training run; texts may have drawn numbers, as in `64 H100 gpus={gpus}`."""

    model: str = Field(description="a model, or one with some fields changed")
    cluster: str = Field(description="a cluster, or one with some fields changed")
    batch: str | int = Field(description="sequences per step")
    sequence: str | int = Field(description="tokens per sequence")
    fix: list[str] = Field(default_factory=list, description="fields of the layout that are given: zero_stage=1")

    def names(self, drawn: Mapping[str, Quantity], chosen: Mapping[str, Quantity]) -> Named:
        """What follows from the *chosen* degrees, as far as there is such a layout.

        *data* and *microbatches* may be fractions; *step*, *memory* and *room* are those of the
        layout, and *fastest* is the step of the fastest layout that fits.

        Raises:
            ValueError: a model, cluster or field does not exist, or there is too much to search.
        """
        told = self._told(drawn)
        degrees = ((n, round(q.value)) for n, q in chosen.items() if n in _DEGREES)
        return {**_laid_out(told, tuple(degrees)), "fastest": Quantity(_fastest(told), _SECONDS)}

    def _told(self, drawn: Mapping[str, Quantity]) -> Told:
        def filled(text: str | int) -> str:
            return _SLOT.sub(lambda slot: f"{drawn[slot[1]].value:.0f}", str(text))

        try:
            return (
                filled(self.model),
                filled(self.cluster),
                int(filled(self.batch)),
                int(filled(self.sequence)),
                tuple(map(filled, self.fix)),
            )
        except KeyError as error:
            raise ValueError(f"{error} is not drawn") from None


@lru_cache(maxsize=4096)
def _laid_out(told: Told, degrees: tuple[tuple[str, int], ...]) -> Mapping[str, Quantity]:
    space = _space(told)
    fixed = {name: value for name, value in space.fixed.items() if name in _DEGREES}
    given = {**dict.fromkeys(_DEGREES, 1), **fixed, **dict(degrees)}
    data = space.cluster.gpus / (given["tensor"] * given["pipeline"] * given["context"])
    count = space.batch / data / given["micro_batch"]
    found = {
        "data": Quantity(data),
        "microbatches": Quantity(count),
        "room": Quantity(space.cluster.gpu.memory, BYTE.dimension),
    }
    try:
        layout = space.layout(**_whole(space, given, data, count))
        time = total_step_time(space.model, space.cluster, layout)
        kernels = attention_kernels(space.model, space.cluster.gpu)
        memory = memory_budget(space.model, layout, kernels=kernels).total
    except ValueError:
        return found  # conditions on what is not there do not hold
    return {**found, "step": Quantity(time, _SECONDS), "memory": Quantity(memory, BYTE.dimension)}


def _whole(space: Space, given: Mapping[str, int], data: float, count: float) -> dict[str, object]:
    """The fields of the layout.

    Raises:
        ValueError: the degrees do not divide the GPUs, or the batch.
    """
    if data % 1 or count % 1:
        raise ValueError("the degrees do not divide the GPUs and the batch")
    others = {name: value for name, value in space.fixed.items() if name in _KEPT}
    return {**others, **given, "data": int(data), "microbatches": int(count)}


@lru_cache(maxsize=256)
def _space(told: Told) -> Space:
    model, cluster, batch, sequence, fix = told
    return Space(
        model=ModelShape.read(model),
        cluster=Cluster.read(cluster),
        batch=batch,
        sequence=sequence,
        fixed=fixed_fields(fix),
    )


@lru_cache(maxsize=256)
def _fastest(told: Told) -> float:
    found = find_layouts(_space(told), top=1, largest=LARGEST)
    if not found.top:
        raise ValueError("no layout of this run fits")
    return found.top[0].step_time
