"""The board of schedules: what is on the front, and boxes that do not cover each other."""

from itertools import combinations

import pytest

from app.core.charts.board import Board, board_drawing, front_of
from app.core.charts.paper import NARROW, WIDE, Paper
from app.core.charts.svg import to_svg
from tests.each import each


def beaten(place: tuple[int, int], places: list[tuple[int, int]]) -> bool:
    """Whether another of *places* is as fast, in as little memory."""
    return any(one != place and one[0] <= place[0] and one[1] <= place[1] for one in places)


def test_the_front_is_what_nothing_beats() -> None:
    places = [(n * 7 % 31, n * 11 % 29) for n in range(31)]
    assert list(front_of(places)) == sorted(p for p in places if not beaten(p, places))
    assert front_of([]) == ()


@each("paper", [WIDE, NARROW])
@each("count", [1, 3, 24])
def test_boxes_are_apart_and_inside(paper: Paper, count: int) -> None:
    learners = {(40 + n, 5 + n * 7 % 24): n + 1 for n in range(count)}
    sheet = board_drawing(Board(title="A board", learners=learners, own=(40, 5))).on(paper)
    assert len(sheet.rects) == count
    for one in sheet.rects:
        assert one.x >= 0
        assert one.x + one.width <= paper.width
        assert one.y >= 0
        assert one.y + one.height <= sheet.height
    for one, other in combinations(sheet.rects, 2):
        is_beside = one.x + one.width <= other.x or other.x + other.width <= one.x
        assert is_beside or one.y + one.height <= other.y or other.y + other.height <= one.y


def test_a_board_says_in_words_what_it_draws() -> None:
    drawing = board_drawing(Board(title="A board", learners={(33, 5): 2, (40, 4): 1, (41, 5): 3}, own=(41, 5)))
    assert drawing.summary == "6 learners; the front has 2 schedules, and yours is not on the front."
    assert drawing.table[1:] == (
        ("33", "5", "2", "yes", ""),
        ("40", "4", "1", "yes", ""),
        ("41", "5", "3", "no", "yes"),
    )
    svg = to_svg(drawing, alone=True, paper=WIDE)
    assert "time 41, memory 5: 3 learners, you among them" in svg


@pytest.mark.parametrize(("many", "says"), [(1, "you"), (3, "3")])
def test_a_box_that_is_the_readers_alone_says_so(many: int, says: str) -> None:
    board = Board(title="A board", learners={(33, 5): 2, (40, 4): many}, own=(40, 4))
    marked = [one for one in board_drawing(board).on(WIDE).rects if one.marked]
    assert [one.label for one in marked] == [says]
    assert marked[0].says.endswith(", you among them")
