"""All-reduce algorithms against each other."""

from app.charts.axes import Axis
from app.charts.plot import LabeledPoint, Plot, Series
from app.explorers.base import Explored, Explorer, Values, quantity
from app.explorers.controls import Slider
from app.formulas.collectives import (
    double_binary_tree_all_reduce_time,
    hierarchical_all_reduce_time,
    naive_all_reduce_time,
    ring_all_reduce_steps,
    ring_all_reduce_time,
    ring_double_tree_crossover_size,
    tree_all_reduce_steps,
    tree_all_reduce_time,
)
from app.units import BYTE, SECOND, show

_SIZES = tuple(10 ** (3 + place / 4) for place in range(33))  # 1 kB to 100 GB
_SIZE_AXIS = Axis("size of the array", BYTE, log=True)
_TIME_AXIS = Axis("time of the all-reduce", SECOND, log=True)


def _race(values: Values) -> Explored:
    ranks, size = values.count("ranks"), values.number("size")
    bandwidth, latency = values.number("bandwidth"), values.number("latency")
    runners = {
        "naive": ("i", naive_all_reduce_time),
        "ring": ("f", ring_all_reduce_time),
        "tree": ("b", tree_all_reduce_time),
        "double tree": ("w", double_binary_tree_all_reduce_time),
    }
    series: tuple[Series, ...] = tuple(
        Series(kind, name, tuple((s, time(s, ranks, bandwidth, latency)) for s in _SIZES))
        for name, (kind, time) in runners.items()
    )
    own = {name: time(size, ranks, bandwidth, latency) for name, (_, time) in runners.items()}
    node, inside = values.count("node"), values.number("inside")
    if ranks > node > 1 and ranks % node == 0:
        nodes = ranks // node

        def layered(s: float) -> float:
            return hierarchical_all_reduce_time(s, nodes, node, inside, bandwidth, latency, latency)

        series += (Series("c", "hierarchical", tuple((s, layered(s)) for s in _SIZES)),)
        own["hierarchical"] = layered(size)
    fastest = min(own, key=lambda name: own[name])
    crossing = ring_double_tree_crossover_size(ranks, bandwidth, latency)
    marks = [LabeledPoint(size, own[fastest], f"{show(size, BYTE)}: {show(own[fastest], SECOND)}")]
    if _SIZES[0] < crossing < _SIZES[-1]:
        at = ring_all_reduce_time(crossing, ranks, bandwidth, latency)
        marks.append(LabeledPoint(crossing, at, f"ring = double tree at {show(crossing, BYTE)}"))
    says = (
        f"At {show(size, BYTE)} on {ranks} ranks the **{fastest}** is fastest. A ring takes "
        f"{ring_all_reduce_steps(ranks)} steps and a tree {tree_all_reduce_steps(ranks)}; the ring "
        f"wins above {show(crossing, BYTE)}, where bandwidth counts more than steps. "
        + (
            f"The hierarchical one stays inside nodes of {node} as long as it can."
            if "hierarchical" in own
            else f"A hierarchical one needs several whole nodes of {node}."
        )
    )
    facts = (quantity("crossover", crossing, BYTE),) + tuple(
        quantity(name, time, SECOND) for name, time in own.items()
    )
    plot = Plot(
        "Time of an all-reduce", says.replace("*", ""), _SIZE_AXIS, _TIME_AXIS, series, tuple(marks)
    )
    return Explored(says, facts, (plot,))


RACE = Explorer(
    "all-reduce",
    "Which all-reduce is fastest?",
    "Naive, ring, tree, double tree and hierarchical over all sizes, and where they cross.",
    "From which size on does a ring beat the double tree on 64 ranks?",
    "crossover",
    "collectives",
    (
        "collectives.ring_all_reduce_time", "collectives.tree_all_reduce_time",
        "collectives.double_binary_tree_all_reduce_time", "collectives.naive_all_reduce_time",
        "collectives.ring_double_tree_crossover_size", "collectives.hierarchical_all_reduce_time",
    ),
    (
        Slider("ranks", "Ranks", 2, 16384, 64, doubles=True),
        Slider("size", "Size", 0.001, 100_000, 100, "MB", log=True, whole=False, aside=True),
        Slider("bandwidth", "Bandwidth between nodes", 1, 1000, 50, "GB/s", log=True, whole=False),
        Slider("node", "GPUs in a node", 1, 72, 8, aside=True),
        Slider("inside", "Bandwidth in a node", 1, 2000, 450, "GB/s", log=True, whole=False,
               aside=True),
        Slider("latency", "Latency of a step", 0.1, 100, 5, "us", log=True, whole=False),
    ),
    _race,
    "From which size on does a ring beat the double tree?",
)  # fmt: skip
