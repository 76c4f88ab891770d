"""Curves over two axes, with points that are worth a name."""

from dataclasses import dataclass

from app.charts.axes import Axis, Tick, scale

WIDTH, HEIGHT = 720, 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 92, 130, 30, 46
_APART = 15  # pixels between the names of two curves
_DOTS = 40  # points that are drawn, too
_LETTER = 6.8  # width of one in a name


@dataclass(frozen=True, slots=True)
class Series:
    """A curve; *kind* decides its color and dashes; its name stands at its end, or its peak."""

    kind: str
    name: str
    points: tuple[tuple[float, float], ...]
    at_peak: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """A point with a name."""

    x: float
    y: float
    says: str


@dataclass(frozen=True, slots=True)
class Plot:
    """Curves over two axes."""

    title: str
    summary: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    marks: tuple[Mark, ...] = ()

    @property
    def table(self) -> tuple[tuple[str, ...], ...]:
        """The same in words: a heading, then a row a value of the first axis."""
        at: dict[float, dict[str, float]] = {}
        for series in self.series:
            for x, y in series.points:
                at.setdefault(x, {})[series.name] = y
        names = [series.name for series in self.series]
        rows = [(self.x.label, *names)]
        for x in sorted(at):
            cells = (self.y.text(at[x][name]) if name in at[x] else "" for name in names)
            rows.append((self.x.text(x), *cells))
        return tuple(rows)


@dataclass(frozen=True, slots=True)
class Curve:
    """A series at its place, and that of its name.

    *points* and *says* have, in order, the place of each of its points and what it says; *dots*
    draws them, where they are few.
    """

    kind: str
    name: str
    path: str
    dots: str
    points: str
    says: str
    label_x: float
    label_y: float


@dataclass(frozen=True, slots=True)
class Placed:
    """A mark at its place, and where its name begins (or ends, if *left*)."""

    x: float
    y: float
    says: str
    text_x: float
    text_y: float
    left: bool


@dataclass(frozen=True, slots=True)
class PlotPicture:
    """Everything at its place."""

    chart: Plot
    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    curves: tuple[Curve, ...]
    marks: tuple["Placed", ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]


def plot_picture(chart: Plot) -> PlotPicture:
    """Where everything of *chart* goes."""
    right, bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM
    points = [point for series in chart.series for point in series.points]
    points += [(mark.x, mark.y) for mark in chart.marks]
    across = scale(chart.x, [x for x, _ in points], _LEFT, right)
    if not chart.x.log and points:
        across = type(across)(chart.x, min(x for x, _ in points), across.high, _LEFT, right)
    up = scale(chart.y, [y for _, y in points], bottom, _TOP)
    curves: list[Curve] = []
    taken: list[float] = []
    for series in chart.series:
        placed = [(across.at(x), up.at(y)) for x, y in series.points]
        says = [f"{series.name}, {chart.x.text(x)}: {chart.y.text(y)}" for x, y in series.points]
        spots = [f"{x} {y}" for x, y in placed]
        path = "M" + "L".join(spots)
        dots = "".join(f"M{spot}h0" for spot in spots) if len(spots) <= _DOTS else ""
        x, y = min(reversed(placed), key=lambda spot: spot[1]) if series.at_peak else placed[-1]
        taken.append(_free(y + 4, taken))
        curves.append(
            Curve(
                series.kind, series.name, path, dots, ",".join(spots), "|".join(says),
                x + 7, taken[-1],
            )
        )  # fmt: skip
    marks = _placed([(across.at(m.x), up.at(m.y), m.says) for m in chart.marks])
    return PlotPicture(
        chart, WIDTH, HEIGHT, _LEFT, right, _TOP, bottom, tuple(curves), marks,
        across.ticks(), up.ticks(),
    )  # fmt: skip


def _placed(marks: list[tuple[float, float, str]]) -> tuple[Placed, ...]:
    """Where the names of *marks* stand without running into one another."""
    taken: list[tuple[float, float, float]] = []  # from, to, height
    found = []
    for x, y, says in marks:
        width = len(says) * _LETTER
        spots = [
            (left, y + rise)
            for rise in (-9, 19, -25, 35, -41, 51, -57, 67)
            for left in (x > (_LEFT + WIDTH - _RIGHT) / 2, x <= (_LEFT + WIDTH - _RIGHT) / 2)
        ]
        left, height = next((spot for spot in spots if _is_free(x, width, *spot, taken)), spots[0])
        start = x - 9 if left else x + 9
        taken.append((start - width if left else start, start if left else start + width, height))
        found.append(Placed(x, y, says, start, round(height, 2), left))
    return tuple(found)


def _is_free(
    x: float, width: float, left: bool, y: float, taken: list[tuple[float, float, float]]
) -> bool:
    start, end = (x - 9 - width, x - 9) if left else (x + 9, x + 9 + width)
    inside = start >= _LEFT and end <= WIDTH and _TOP - 12 <= y <= HEIGHT - _BOTTOM
    return inside and all(
        end + 8 < a or start - 8 > b or abs(y - height) >= _APART for a, b, height in taken
    )


def _free(y: float, taken: list[float]) -> float:
    """A height near *y* at which no other name stands."""
    for step in range(2 * len(taken) + 1):
        tried = y + (1 if step % 2 else -1) * ((step + 1) // 2) * _APART
        if all(abs(tried - other) >= _APART for other in taken):
            return tried
    return y
