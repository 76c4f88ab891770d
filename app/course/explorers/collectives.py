"""All-reduce algorithms over the size of the array, and a ring beside a tree, step by step."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from app.core.charts.axes import Axis, Color
from app.core.charts.plot import Grip, LabeledPoint, Plot, Series
from app.core.formulas import collectives
from app.core.motions.rings import ring_beside_tree
from app.core.translation import noted, translate
from app.core.units import BYTE, SECOND, figures, show
from app.course.explorers.base import ExplainedMistakes, Explorer, ExplorerOutput, KeyFigure, Values
from app.course.explorers.controls import Slider, log_slider
from app.course.explorers.words import figure_summary

_SIZES = tuple(10 ** (3 + place / 4) for place in range(33))  # 1 kB to 100 GB
_COLORS = {
    noted("naive"): Color.GRAY,
    noted("ring"): Color.BLUE,
    noted("tree"): Color.ORANGE,
    noted("double tree"): Color.PURPLE,
    noted("hierarchical"): Color.GREEN,
}
_TimeOfSize = Callable[[float], float]


def compare_algorithms(values: Values) -> ExplorerOutput:
    """The time of each algorithm at each size."""
    ranks, size = values.count("ranks"), values.number("size")
    algorithms = _algorithms(values)
    own = {name: time(size) for name, time in algorithms.items()}
    fastest = min(own, key=lambda name: own[name])
    crossover = collectives.ring_double_tree_crossover_size(ranks, values.number("bandwidth"), values.number("latency"))
    says = f"{show(size, BYTE)}: {show(own[fastest], SECOND)}"
    marks = [LabeledPoint(size, own[fastest], says, Grip("size"))]
    if _SIZES[0] < crossover < _SIZES[-1]:
        label = translate("ring = double tree at {crossover}", crossover=show(crossover, BYTE))
        marks.append(LabeledPoint(crossover, algorithms["ring"](crossover), label))
    node = values.count("node")
    says = translate(
        "At {size} on {ranks:,} ranks the **{fastest}** algorithm is fastest. A ring "
        "takes {ring_all_reduce_steps:,} steps and a tree {tree_all_reduce_steps}; the "
        "ring wins above {crossover}, where bandwidth matters more than latency. ",
        size=show(size, BYTE),
        ranks=ranks,
        fastest=translate(fastest),
        ring_all_reduce_steps=collectives.ring_all_reduce_steps(ranks),
        tree_all_reduce_steps=collectives.tree_all_reduce_steps(ranks),
        crossover=show(crossover, BYTE),
    ) + (
        translate("The hierarchical algorithm keeps most traffic inside the nodes of {node}.", node=node)
        if "hierarchical" in own
        else translate("The hierarchical algorithm needs at least two full nodes of {node} ranks.", node=max(node, 2))
    )
    facts = (
        KeyFigure.quantity(noted("crossover"), crossover, BYTE),
        *(KeyFigure.quantity(name, time, SECOND) for name, time in own.items()),
    )
    plot = Plot(
        title=translate("Time of an all-reduce"),
        summary=figure_summary(says),
        x=Axis(translate("array size"), BYTE, log=True),
        y=Axis(translate("time of the all-reduce"), SECOND, log=True),
        series=tuple(
            Series(_COLORS[name], name, tuple((s, time(s)) for s in _SIZES)) for name, time in algorithms.items()
        ),
        marks=tuple(marks),
    )
    return ExplorerOutput(says, facts, (plot,))


def _algorithms(values: Values) -> dict[str, _TimeOfSize]:
    """The time of each algorithm over the size; the hierarchical one needs full nodes."""
    ranks, node = values.count("ranks"), values.count("node")
    bandwidth, latency = values.number("bandwidth"), values.number("latency")
    inside = values.number("inside")
    found: dict[str, _TimeOfSize] = {
        "naive": lambda size: collectives.naive_all_reduce_time(size, ranks, bandwidth, latency),
        "ring": lambda size: collectives.ring_all_reduce_time(size, ranks, bandwidth, latency),
        "tree": lambda size: collectives.tree_all_reduce_time(size, ranks, bandwidth, latency),
        "double tree": lambda size: collectives.double_binary_tree_all_reduce_time(size, ranks, bandwidth, latency),
    }
    if ranks > node > 1 and ranks % node == 0:
        found["hierarchical"] = lambda size: collectives.hierarchical_all_reduce_time(
            size, ranks // node, node, inside, bandwidth, latency, latency
        )
    return found


def _not_the_crossover(values: Values) -> Iterator[tuple[float, str]]:
    """Sizes that are taken for the one where a ring and a double tree are equally fast."""
    ranks = values.count("ranks")
    chunk = values.number("latency") * values.number("bandwidth")
    yield (
        ranks * chunk,
        translate(
            "There the ring spends as much time on latency as on transfer. The double tree is "
            "ahead until the ring's shorter transfer makes up for its extra steps."
        ),
    )
    yield (chunk, translate("That is the size of one chunk; the array has as many chunks as there are ranks."))
    yield (
        chunk * (collectives.ring_all_reduce_steps(ranks) - collectives.tree_all_reduce_steps(ranks)),
        translate(
            "That is the product of bandwidth and the extra latency of the ring. A ring sends only "
            "1/N of the array less than a double tree, so the size is N times as large."
        ),
    )


RACE = Explorer(
    name="all-reduce",
    title=noted("Which all-reduce is fastest?"),
    summary=noted("Naive, ring, tree, double tree and hierarchical all-reduce at every size, and where they cross."),
    question=noted("Above which size does a ring beat the double tree on 64 ranks?"),
    predicts=noted("crossover"),
    chapter="collectives",
    formulas=(
        "collectives.ring_all_reduce_time",
        "collectives.tree_all_reduce_time",
        "collectives.double_binary_tree_all_reduce_time",
        "collectives.naive_all_reduce_time",
        "collectives.ring_double_tree_crossover_size",
        "collectives.hierarchical_all_reduce_time",
    ),
    controls=(
        log_slider("size", noted("Size"), (0.001, 100_000), 100, "MB", aside=True),
        Slider("ranks", noted("Ranks"), (2, 16384), default=64, doubles=True),
        log_slider("bandwidth", noted("Bandwidth between nodes"), (1, 1000), 50, "GB/s"),
        log_slider("latency", noted("Latency per step"), (0.1, 100), 5, "us"),
        Slider("node", noted("GPUs per node"), (1, 72), default=8, aside=True),
        log_slider("inside", noted("Bandwidth within a node"), (1, 2000), 450, "GB/s", aside=True),
    ),
    explore=compare_algorithms,
    asks=noted("Above which size does a ring beat the double tree?"),
    foreseen=ExplainedMistakes(others=_not_the_crossover),
    part_of="ring",
)


_DRAWN = 8  # ranks, at most


def _ring(values: Values) -> ExplorerOutput:
    ranks, size = values.count("ranks"), values.number("size")
    bandwidth, latency = values.number("bandwidth"), values.number("latency")
    race = compare_algorithms(values)
    sent = collectives.ring_all_reduce_bytes(size, ranks)
    says = translate(
        "In a ring, each of {ranks:,} ranks sends **{times}** times the array, {sent}. ",
        ranks=ranks,
        times=figures(sent / size),
        sent=show(sent, BYTE),
    )
    facts = (
        KeyFigure.quantity(noted("sent in total"), sent, BYTE),
        KeyFigure.plain(noted("total steps"), collectives.ring_all_reduce_steps(ranks)),
        KeyFigure.quantity(
            noted("total time"), collectives.ring_all_reduce_time(size, ranks, bandwidth, latency), SECOND
        ),
        *race.facts,
    )
    drawn = min(ranks, _DRAWN)
    passes = latency + size / drawn / bandwidth, latency + size / bandwidth  # a ring sends chunks, a tree whole arrays
    motion = ring_beside_tree(drawn, *passes, lambda seconds: show(seconds, SECOND, 3))
    return ExplorerOutput(says + race.says, facts, (motion, *race.figures))


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
        log_slider("size", noted("Size"), (0.001, 100_000), 1000, "MB"),
        *(replace(control, aside=True) for control in RACE.controls if control.name not in {"ranks", "size"}),
    ),
    explore=_ring,
    asks=noted("How much does each rank send until every rank has the sum?"),
    foreseen=ExplainedMistakes(exercise="collectives/bytes-sent-by-a-ring"),
)
