"""A ring all-reduce beside a tree, step by step, and the times of all algorithms."""

from dataclasses import replace

from app.core.charts.motion import Motion
from app.core.formulas.collectives import ring_all_reduce_bytes, ring_all_reduce_steps, ring_all_reduce_time
from app.core.motions.rings import ring_beside_tree
from app.core.translation import noted, translate
from app.core.units import BYTE, SECOND, figures, show
from app.course.explorers.base import ExplainedMistakes, Explorer, ExplorerOutput, Values, plain_figure, quantity_figure
from app.course.explorers.collectives import RACE, compare_algorithms
from app.course.explorers.controls import Slider

_DRAWN = 8  # ranks, at most


def _ring(values: Values) -> ExplorerOutput:
    ranks, size = values.count("ranks"), values.number("size")
    bandwidth, latency = values.number("bandwidth"), values.number("latency")
    race = compare_algorithms(values)
    sent = ring_all_reduce_bytes(size, ranks)
    says = translate(
        "In a ring, each of {ranks:,} ranks sends **{times}** times the array, {sent}. ",
        ranks=ranks,
        times=figures(sent / size),
        sent=show(sent, BYTE),
    )
    facts = (
        quantity_figure(noted("sent in total"), sent, BYTE),
        plain_figure(noted("total steps"), ring_all_reduce_steps(ranks)),
        quantity_figure(noted("total time"), ring_all_reduce_time(size, ranks, bandwidth, latency), SECOND),
        *race.facts,
    )
    motion = _motion(min(ranks, _DRAWN), size, bandwidth, latency)
    return ExplorerOutput(says + race.says, facts, (motion, *race.figures))


def _motion(ranks: int, size: float, bandwidth: float, latency: float) -> Motion:
    """As many ranks as there is room for: a ring sends chunks, a tree whole arrays."""
    return ring_beside_tree(
        ranks, latency + size / ranks / bandwidth, latency + size / bandwidth, lambda seconds: show(seconds, SECOND, 3)
    )


RING = Explorer(
    name="ring",
    title=noted("What moves in an all-reduce?"),
    summary=noted("A ring beside a tree, step by step, and every algorithm at every size."),
    question=noted("8 ranks all-reduce 1 GB. How much does each rank send until every rank has the sum?"),
    predicts=noted("sent in total"),
    chapter="collectives",
    formulas=("collectives.ring_all_reduce_bytes", "collectives.ring_all_reduce_steps", *RACE.formulas),
    controls=(
        Slider("ranks", noted("Ranks"), (2, 16384), default=8, doubles=True),
        Slider("size", noted("Size"), (0.001, 100_000), default=1000, unit="MB", log=True, whole=False),
        *(replace(control, aside=True) for control in RACE.controls if control.name not in {"ranks", "size"}),
    ),
    explore=_ring,
    asks=noted("How much does each rank send until every rank has the sum?"),
    foreseen=ExplainedMistakes(exercise="collectives/bytes-sent-by-a-ring"),
)
