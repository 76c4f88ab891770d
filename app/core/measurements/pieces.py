"""A test beside the wire and the formulas: its times, lines through them, and what they reached."""

import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate, pairwise
from operator import add, sub
from typing import NamedTuple

from app.core.formulas import collectives
from app.core.formulas.presets import CLUSTERS, Cluster
from app.core.measurements.reports import AlphaBetaPiece, CollectiveTest, SizeRow
from app.core.translation import noted, say
from app.core.units import BYTE_PER_SECOND, Bytes, BytesPerSecond, Ratio, Seconds, show

Point = tuple[Bytes, Seconds]
MOST = 3  # lines
_FEWEST = 3  # points of a line
_CUTS = 64  # places where lines may meet
_EXACT = 1e-3  # a relative error that comes from the digits that are printed
_HALF = 0.5  # what a further line must leave of the error


class Sums(NamedTuple):
    """Of points (size s, time t), each weighted by 1/t: all that a line through them needs."""

    number: float = 0  # of points
    aa: float = 0  # 1/t²
    ab: float = 0  # s/t²
    bb: float = 0  # s²/t²
    a: float = 0  # 1/t
    b: float = 0  # s/t

    def plus(self, other: "Sums") -> "Sums":
        """Those of both."""
        return Sums(*map(add, self, other))

    def without(self, other: "Sums") -> "Sums":
        """Those of this without the *other*, which is a part of it."""
        return Sums(*map(sub, self, other))

    def line(self) -> tuple[Seconds, float] | None:
        """Alpha, at least 0, and seconds per byte with the least squares of relative errors; None if none rises."""
        determinant = self.aa * self.bb - self.ab * self.ab
        if determinant <= 1e-12 * self.aa * self.bb:
            return None
        alpha = (self.a * self.bb - self.b * self.ab) / determinant
        slope = (self.b * self.aa - self.a * self.ab) / determinant
        if alpha < 0:
            alpha, slope = 0.0, self.b / self.bb
        return (alpha, slope) if slope > 0 else None

    def squares(self) -> float:
        """Sum of the squared relative errors of the line; infinite if there is none."""
        if self.number < _FEWEST or not (line := self.line()):
            return math.inf
        alpha, slope = line
        crossed = alpha * (alpha * self.aa + 2 * slope * self.ab) + slope * slope * self.bb
        return max(0.0, crossed - 2 * (alpha * self.a + slope * self.b) + self.number)


def pieces(points: Sequence[Point]) -> tuple[AlphaBetaPiece, ...]:
    """The lines through *points*: a further one only if it halves the relative error."""
    ordered = sorted(point for point in points if point[0] > 0 and point[1] > 0)
    if len(ordered) < _FEWEST:
        return ()
    parts = min(len(ordered), _CUTS)
    cuts = [i * len(ordered) // parts for i in range(parts + 1)]
    chosen: tuple[int, ...] = ()
    before = math.inf
    for ends, squares in _best(ordered, cuts):
        error = math.sqrt(squares / len(ordered))
        if error < before * _HALF and before > _EXACT:
            chosen, before = ends, error
    found = []
    for part in (ordered[first:last] for first, last in pairwise(chosen)):
        # From their own sums: differences of large ones lose digits.
        if line := reduce(Sums.plus, map(_sums, part)).line():
            found.append(AlphaBetaPiece(part[0][0], part[-1][0], line[0], 1 / line[1]))
    return tuple(found)


def _best(points: Sequence[Point], cuts: Sequence[int]) -> list[tuple[tuple[int, ...], float]]:
    """For one line, two lines, and so on: where they begin and end, and their squared errors."""
    upto = list(accumulate(map(_sums, points), Sums.plus, initial=Sums()))
    cost = {(i, j): upto[cuts[j]].without(upto[cuts[i]]).squares() for j in range(len(cuts)) for i in range(j)}
    found = []
    best: list[tuple[float, tuple[int, ...]]] = [(0.0 if i == 0 else math.inf, (0,)) for i in range(len(cuts))]
    for _ in range(MOST):
        best = [
            min(((best[i][0] + cost[i, j], (*best[i][1], cuts[j])) for i in range(j)), default=(math.inf, ()))
            for j in range(len(cuts))
        ]
        squares, ends = best[-1]
        if math.isfinite(squares):
            found.append((ends, squares))
    return found


def _sums(point: Point) -> Sums:
    size, time = point
    a, b = 1 / time, size / time
    return Sums(1, a * a, a * b, b * b, a, b)


def median_error(points: Sequence[Point], lines: Sequence[AlphaBetaPiece]) -> Ratio:
    """The median of how far the *lines* are from the times of *points*; 0 without lines."""
    errors = [
        abs(piece.time(size) / time - 1)
        for size, time in points
        if (piece := next((one for one in lines if one.first <= size <= one.last), None))
    ]
    return statistics.median(errors) if errors else 0.0


_STUDENT = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)  # 95 %, from 1 on
_NORMAL, _NEXT = 1.96, 2.372  # for more degrees of freedom n: 1.96 + 2.372 / n
_LINE_INTERVAL_FEWEST, _MANY = 5, 32  # points, of which one can be told from the others, and bends the line
_BENT = 0.02  # a relative error from which on a point may be to blame
_THIRD = 1 / 3  # what must remain of the error without that point


@dataclass(frozen=True, slots=True)
class LineInterval:
    """Where latency and bandwidth are with a probability of 95 %; None has no upper end."""

    latency: tuple[Seconds, Seconds]
    bandwidth: tuple[BytesPerSecond, BytesPerSecond | None]


def line_interval(line: AlphaBetaPiece, points: Sequence[Point]) -> LineInterval | None:
    """The interval of *line*, the least squares of the relative errors at *points*.

    None for fewer than three points, through two of which any line can go.
    """
    own = [(size, time) for size, time in points if line.first <= size <= line.last]
    free = len(own) - 2
    if free < 1:
        return None
    aa = sum(1 / time**2 for _, time in own)
    ab = sum(size / time**2 for size, time in own)
    bb = sum((size / time) ** 2 for size, time in own)
    determinant = aa * bb - ab * ab
    if determinant <= 0:
        return None
    variance = sum((line.time(size) / time - 1) ** 2 for size, time in own) / free
    student = _STUDENT[free - 1] if free <= len(_STUDENT) else _NORMAL + _NEXT / free
    wide = student * math.sqrt(variance / determinant)
    latency, slope = wide * math.sqrt(bb), wide * math.sqrt(aa)
    steepest = 1 / line.bandwidth - slope
    return LineInterval(
        (max(0.0, line.alpha - latency), line.alpha + latency),
        (1 / (1 / line.bandwidth + slope), 1 / steepest if steepest > 0 else None),
    )


def bad_point(points: Sequence[Point]) -> Bytes | None:
    """The size of the one point without which as few lines have a third of the error; None if none.

    A line is bent towards it, or two are fitted around it. Among many points, one bends no line.
    """
    ordered = sorted(points)
    if not _LINE_INTERVAL_FEWEST <= len(ordered) <= _MANY:
        return None
    everything = pieces(ordered)
    error = _error(ordered, everything)
    if error < _BENT:
        return None
    found = []
    for number, (size, _) in enumerate(ordered):
        others = ordered[:number] + ordered[number + 1 :]
        lines = pieces(others)
        if len(lines) <= max(1, len(everything)):
            found.append((_error(others, lines), size))
    least, size = min(found, default=(math.inf, 0.0))
    return size if least < _THIRD * error else None


def _error(points: Sequence[Point], lines: Sequence[AlphaBetaPiece]) -> Ratio:
    """The root of the mean squared relative error; infinite where no line is."""
    total = 0.0
    for size, time in points:
        line = next((one for one in lines if one.first <= size <= one.last), None)
        total += (line.time(size) / time - 1) ** 2 if line else math.inf
    return math.sqrt(total / len(points)) if points else math.inf


ABOVE_THE_WIRE = "E-79"  # the erratum about a bus bandwidth above that of the link
_GPU = re.compile(r"\b(A100|H100|H200|B200|B300|GB200|GB300|MI3[025]\dX|MI35\dX)\b")
_OTHER_BOARDS = re.compile(r"\b(?:PCIe|NVL\b|MIG)")
_LARGEST_NODE = 16
_ROUNDED = 1.01
_IN_SWITCH = ("all_reduce", "reduce", "reduce_scatter", "broadcast", "all_gather")
_LOW = 0.7  # of the wire
_LOW_ON_AMD = 0.6  # RCCL reaches about 70 % of seven links of Infinity Fabric
_SOCKETS = 0.1
_PCIE = 64e9  # bytes per second, one direction of PCIe 5.0 with 16 lanes (PCI-SIG)
_NEAR = 0.2
_LARGE = 64 * 2**20  # bytes from which bandwidth counts, not latency
_FORMULAS = {
    "all_reduce": collectives.ring_all_reduce_time,
    "all_gather": collectives.ring_all_gather_time,
    "reduce_scatter": collectives.ring_reduce_scatter_time,
    "alltoall": collectives.all_to_all_time,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The largest size of a test beside the *wire*, which is one direction of one rank."""

    cluster: Cluster
    nodes: int
    wire: BytesPerSecond
    which: str
    row: SizeRow
    predicted: Seconds | None  # by the formula of the collective on that wire, without latency
    cause: str
    above: str = ""  # why the bus bandwidth is above the wire, if it is
    above_in_short: str = ""
    in_switch: Seconds | None = None  # as predicted, if a switch computes the sums

    @property
    def share(self) -> Ratio:
        """Bus bandwidth over the wire; above 1 where a switch computes or NVLink carries most."""
        return self.row.busbw / self.wire

    @property
    def share_in_words(self) -> str:
        """The share of the wire, and in short why it is above all of it, if it is."""
        if not self.above:
            return f"{100 * min(1, self.share):.0f} %"
        return say("{share}: {why}", share=f"{100 * self.share:.0f} %", why=self.above_in_short)


def cluster_of_test(test: CollectiveTest) -> Cluster | None:
    """The cluster whose GPU the test names; None if it names none of which the links are known."""
    return cluster_named_in(test.hardware)


def cluster_named_in(hardware: str) -> Cluster | None:
    """The cluster of the GPU that *hardware* names; None if its links are not known."""
    found = _GPU.search(hardware)
    if found is None or _OTHER_BOARDS.search(hardware.replace("NVL72", "")):
        return None
    return CLUSTERS.get(f"DGX-{found[1]}") or CLUSTERS.get(f"{found[1]} platform")


def compare_test(test: CollectiveTest, cluster: Cluster | None = None) -> Comparison | None:
    """*test* beside *cluster*, by default that of its GPU; None without ranks or a cluster."""
    cluster = cluster or cluster_of_test(test)
    if cluster is None or not test.ranks or test.ranks < 2 or not test.rows or not test.collective:  # noqa: PLR2004
        return None
    row = max(test.rows, key=lambda row: row.size)
    nodes = -(-test.ranks // cluster.gpus_per_node)  # groups that share NVLink: hosts, or racks where a rack shares it
    if test.hosts and cluster.gpus_per_node <= _LARGEST_NODE:
        nodes = test.hosts
    wire, which = _wire(test.collective, test.ranks, nodes, cluster)
    formula = _FORMULAS.get(test.collective)
    is_above = row.busbw > wire * _ROUNDED
    above, in_short = _above(test.collective, nodes) if is_above else ("", "")
    in_switch = is_above and nodes <= 1 and test.collective == "all_reduce"
    return Comparison(
        cluster=cluster,
        nodes=nodes,
        wire=wire,
        which=which,
        row=row,
        predicted=formula(row.size, test.ranks, wire) if formula else None,
        cause=_cause(row, nodes, wire, cluster),
        above=above,
        above_in_short=in_short,
        in_switch=collectives.in_network_all_reduce_time(row.size, wire) if in_switch else None,
    )


def wire_of(collective: str, ranks: int, hardware: str) -> tuple[BytesPerSecond, str] | None:
    """What limits *collective* on *ranks* GPUs in as few nodes as can be, and its name; None for unknown hardware."""
    cluster = cluster_named_in(hardware)
    if cluster is None or ranks < 2:  # noqa: PLR2004
        return None
    return _wire(collective, ranks, -(-ranks // cluster.gpus_per_node), cluster)


def _wire(collective: str, ranks: int, nodes: int, cluster: Cluster) -> tuple[BytesPerSecond, str]:
    """What limits the bus bandwidth of *collective*, and its name."""
    inside, card = cluster.intra_bandwidth, cluster.inter_bandwidth
    link = noted("Infinity Fabric of a GPU") if cluster.gpu.name.startswith("MI") else noted("NVLink of a GPU")
    if nodes <= 1:
        return inside, link
    each = max(1, ranks // nodes)
    if collective in {"alltoall", "alltoallv"}:
        return min(inside, card * (ranks - 1) / (ranks - each)), noted("the network card of a GPU")
    if collective == "sendrecv":
        return min(inside, card), noted("the network card of a GPU")
    if card * each > inside:
        return inside, link
    if each > 1:
        return card * each, say("the {each} network cards of a node", each=each)
    return card * each, noted("a network card")


def _above(collective: str, nodes: int) -> tuple[str, str]:
    """Why a bus bandwidth is above the wire; and in short, for a column."""
    if collective not in _IN_SWITCH:
        says = noted(
            "no algorithm of this collective sends less than the wire carries: the hardware is that"
            " of another cluster, or the sizes are those of one rank's part."
        )
        return says, noted("of other hardware, or of one rank's part")
    if nodes <= 1:
        says = noted(
            "the NVLink switch computes the sums or copies the data (NVLS), so that each GPU sends"
            " its array once, where bus bandwidth assumes a ring, which sends it nearly twice."
        )
        return says, noted("sums in the NVLink switch")
    says = noted(
        "much of the data stays within a node, as in a tree over nodes, or a switch computes the"
        " sums (SHARP), while bus bandwidth assumes a ring through every GPU."
    )
    return says, noted("a tree, or sums in a switch")


def _cause_on_amd(share: float, nodes: int) -> str:
    if nodes <= 1 and share >= _LOW_ON_AMD:
        return ""
    if nodes <= 1:
        return noted(
            "GPUs that do not use every link of Infinity Fabric: look at `rocm-smi --showtopo`, and for P2P in what"
            " NCCL_DEBUG=INFO prints."
        )
    return noted(
        "network cards that are left out (NCCL_IB_HCA), ROCm's RDMA of GPU memory that is off, or PCIe access control"
        " (ACS)."
    )


def _cause(row: SizeRow, nodes: int, wire: BytesPerSecond, cluster: Cluster) -> str:
    """The usual cause of a bus bandwidth that is low; empty if it is not."""
    share = row.busbw / wire
    if share >= _LOW:
        return ""
    if row.size < _LARGE:
        return noted("The largest size is so small that latency counts more than bandwidth.")
    if cluster.gpu.name.startswith("MI"):  # of AMD
        return _cause_on_amd(share, nodes)
    if nodes <= 1 and row.busbw > _PCIE:
        return noted(
            "NVLink is in use, since PCIe carries 64 GB/s at most, but not all of it: too few channels (NCCL_MIN_CTAS),"
            " links that are down (`nvidia-smi nvlink --status`), or other work on the GPUs."
        )
    if nodes <= 1:
        return noted(
            "GPUs that reach each other over PCIe instead of NVLink: look for P2P and NVLS in what"
            " NCCL_DEBUG=INFO prints, and at `nvidia-smi topo -m`."
        )
    if share < _SOCKETS and row.busbw < cluster.inter_bandwidth * (1 - _NEAR):
        return noted(
            "TCP sockets instead of RDMA: the network plugin is not loaded, or NCCL_DEBUG=INFO"
            " prints NET/Socket instead of NET/IB or NET/OFI."
        )
    if abs(row.busbw / cluster.inter_bandwidth - 1) < _NEAR and wire > cluster.inter_bandwidth:
        card = show(cluster.inter_bandwidth, BYTE_PER_SECOND)
        form = noted("One network card in use of several: its {card} are what was reached (NCCL_IB_HCA).")
        return say(form, card=card)
    return noted(
        "GPUDirect RDMA that is off (NCCL_NET_GDR_LEVEL), PCIe access control (ACS), network cards"
        " left out (NCCL_IB_HCA), or a fabric of less bandwidth than one card per GPU."
    )
