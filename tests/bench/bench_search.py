"""How many layouts a search evaluates in a second, time and memory and fit included."""

import timeit
from collections.abc import Callable, Iterator
from time import process_time

from app.core.formulas.layout import fits, step_time
from app.core.formulas.presets import Cluster, Layout, ModelShape
from app.core.searching import Space, find_layouts, fixed_fields
from app.core.searching.ranking import MEMORY
from tests.bench.figures import Figure

CALCULON = 244  # layouts per second, as published
AGAIN = 5  # searches, of which the quickest counts
GPT_3 = Space(model=ModelShape.named("GPT-3"), cluster=Cluster.read("DGX-A100 gpus=1024"), batch=1536, sequence=2048)
MIXTURE = Space(
    model=ModelShape.named("DeepSeek-V3"),
    cluster=Cluster.named("DeepSeek 2048 H800"),
    batch=15360,
    sequence=4096,
    fixed=fixed_fields(["pipeline=16"]),
)


def measure() -> Iterator[Figure]:
    """Legal layouts per second; those that a rule refuses are not counted."""
    dense = rate(GPT_3)
    yield Figure("GPT-3 on 1,024 GPUs", dense, "layouts/s", 1_000_000, "higher")
    yield Figure("over calculon's published rate", dense / CALCULON, "×")
    yield Figure("DeepSeek-V3 with expert parallelism", rate(MIXTURE), "layouts/s")
    layout = Layout(tensor=8, pipeline=8, data=16, virtual=2, microbatches=96, sequence=2048)
    given = GPT_3.model, GPT_3.cluster, layout
    alone = microseconds(lambda: step_time(*given))
    yield Figure("a single layout, its time", alone, "µs", 100, "lower")
    both = microseconds(lambda: (step_time(*given), fits(*given)))
    yield Figure("a single layout, its time and whether it fits", both, "µs")


def microseconds(call: Callable[[], object]) -> float:
    """Processor time of a *call*."""
    return 1e3 * min(timeit.repeat(call, timer=process_time, number=1000, repeat=AGAIN))


def rate(space: Space) -> float:
    """Legal layouts per second of the processor's time, the best of several searches."""
    best = 0.0
    for _ in range(AGAIN):
        started = process_time()
        found = find_layouts(space)
        legal = found.fit + found.rejected.get(MEMORY, 0)
        best = max(best, legal / (process_time() - started))
    return best
