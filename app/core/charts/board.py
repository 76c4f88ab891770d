"""A board of schedules: time and memory, how many learners have both, and which are not beaten."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from app.core.charts.color import Color
from app.core.charts.diagram import Arrow, Drawing, Rect, Sheet, Words
from app.core.charts.paper import Paper, widest
from app.core.translation import plural, translate

_TOP, _ROW, _HIGHEST = 34, 34, 300  # pixels: above the rows, of a row, of all rows
_WIDEST, _TALLEST, _SMALLEST = 34, 24, 4  # pixels of a box
_LEFT, _EDGE, _FOOT = 12, 8, 46
_NAMED = 28  # pixels of a box that has room for a word
_FEW = 12  # values that an axis names
Place = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """How many learners have which time and memory; *own* is what the reader has."""

    title: str
    learners: dict[Place, int]
    own: Place


def front_of(places: Sequence[Place]) -> tuple[Place, ...]:
    """Those of *places* that no other beats: as fast in as little memory; the fastest first.

    >>> front_of([(9, 4), (8, 6), (8, 5), (9, 5), (12, 4)])
    ((8, 5), (9, 4))
    """
    front: list[Place] = []
    for time, memory in sorted(set(places)):
        if not front or memory < front[-1][1]:
            front.append((time, memory))
    return tuple(front)


def board_drawing(board: Board) -> Drawing:
    """*board* as a drawing; its table has a row for each box."""
    front = front_of(list(board.learners))
    total = sum(board.learners.values())
    says = (
        translate("{learners}; the front has {schedules}, and yours is on the front.")
        if board.own in front
        else translate("{learners}; the front has {schedules}, and yours is not on the front.")
    )
    summary = says.format(
        learners=_learners(total), schedules=plural("{number} schedule", "{number} schedules", len(front))
    )
    rows = (
        (
            str(time),
            str(memory),
            str(count),
            translate("yes") if (time, memory) in front else translate("no"),
            translate("yes") if (time, memory) == board.own else "",
        )
        for (time, memory), count in sorted(board.learners.items())
    )
    head = (
        translate("Time"),
        translate("Memory"),
        translate("Learners"),
        translate("On the front"),
        translate("Yours"),
    )
    return Drawing(title=board.title, summary=summary, on=partial(_sheet, board), table=(head, *rows))


def _learners(count: int) -> str:
    return plural("{number} learner", "{number} learners", count)


@dataclass(frozen=True, slots=True)
class _Grid:
    """Where the values that occur are, in pixels."""

    times: Sequence[int]
    memories: Sequence[int]
    left: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        """Of a box."""
        room = (self.right - self.left) / len(self.times)
        return max(_SMALLEST, min(_WIDEST, room - 2))

    @property
    def height(self) -> float:
        """Of a box."""
        room = (self.bottom - _TOP) / len(self.memories)
        return max(_SMALLEST, min(_TALLEST, room - 2))

    def middle(self, place: Place) -> tuple[float, float]:
        """Of the box at *place*; more memory is higher up."""
        across = (self.times.index(place[0]) + 0.5) / len(self.times)
        up = (self.memories.index(place[1]) + 0.5) / len(self.memories)
        x = self.left + across * (self.right - self.left)
        return round(x, 2), round(self.bottom - up * (self.bottom - _TOP), 2)


def _sheet(board: Board, paper: Paper) -> Sheet:
    times = sorted({time for time, _ in board.learners})
    memories = sorted({memory for _, memory in board.learners})
    height = min(_HIGHEST, max(2, len(memories)) * _ROW)
    left = _LEFT + widest([str(memory) for memory in memories])
    grid = _Grid(times, memories, left, paper.width - _EDGE, _TOP + height)
    return Sheet(
        height=grid.bottom + _FOOT,
        rects=tuple(_boxes(board, grid)),
        arrows=tuple(_lines(board, grid)),
        words=tuple(_words(grid)),
    )


def _boxes(board: Board, grid: _Grid) -> Iterator[Rect]:
    front = front_of(list(board.learners))
    for place, count in sorted(board.learners.items()):
        x, y = grid.middle(place)
        is_own = place == board.own
        mine = translate(", you among them") if is_own else ""
        alone = is_own and count == 1 and grid.width >= _NAMED
        yield Rect(
            x=round(x - grid.width / 2, 2),
            y=round(y - grid.height / 2, 2),
            width=round(grid.width, 2),
            height=round(grid.height, 2),
            color=Color.BLUE if place in front else Color.GRAY,
            label=_label(translate("you") if alone else str(count), grid),
            says=translate(
                "time {time}, memory {memory}: {learners}", time=place[0], memory=place[1], learners=_learners(count)
            )
            + mine,
            outlined=True,
            marked=is_own,
        )


def _label(text: str, grid: _Grid) -> str:
    """*text*, if a box has room for it."""
    return text if grid.width > 2 * _SMALLEST < grid.height else ""


def _lines(board: Board, grid: _Grid) -> Iterator[Arrow]:
    """The axes, and the front as steps from box to box."""
    yield _board_line(grid.left, grid.bottom, grid.right, grid.bottom, Color.GRAY)
    yield _board_line(grid.left, _TOP, grid.left, grid.bottom, Color.GRAY)
    middles = [grid.middle(place) for place in front_of(list(board.learners))]
    for (x1, y1), (x2, y2) in zip(middles, middles[1:], strict=False):
        yield _board_line(x1 + grid.width / 2, y1, x2, y1, Color.BLUE)
        yield _board_line(x2, y1, x2, y2 - grid.height / 2, Color.BLUE)


def _board_line(x1: float, y1: float, x2: float, y2: float, color: Color) -> Arrow:
    return Arrow(round(x1, 2), y1, round(x2, 2), round(y2, 2), color=color, head=False)


def _words(grid: _Grid) -> Iterator[Words]:
    yield Words(0, 14, translate("Memory of the fullest rank, in units"), quiet=True)
    for time in grid.times[:: -(-len(grid.times) // _FEW)]:
        x, _ = grid.middle((time, grid.memories[0]))
        yield Words(x, grid.bottom + 18, str(time), anchor="middle", quiet=True)
    for memory in grid.memories[:: -(-len(grid.memories) // _FEW)]:
        _, y = grid.middle((grid.times[0], memory))
        yield Words(grid.left - 6, y + 4, str(memory), anchor="end", quiet=True)
    yield Words(grid.right, grid.bottom + 36, translate("Time, in units"), anchor="end", quiet=True)
