"""Tables of points: sorted, in pages, with means over those who have an exercise; without a server."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from app.classes.pages.grades import (
    SHOWN,
    PointsTable,
    TableForm,
    TableRequest,
    assignment_grades_page,
    assignment_table,
    class_grades_page,
    class_table,
)
from app.classes.people.assignments import Assignment, AssignmentEntry
from app.classes.people.cells import Cell
from app.classes.people.classes import Member, Role
from app.classes.people.gradebook import WHOLE, Cells, Grades
from app.classes.people.policy import Policy
from app.course.kinds.base import mistake_key
from app.server.db.session import open_session
from app.site import Site
from tests.each import each
from tests.people.crowd import RING, STAGE, crowd_of
from tests.web.a_class import visit

BOOK = "/classes/1/grades"


def member(person: int, name: str) -> Member:
    return Member(class_id=1, person=person, learner=f"l{person}", role=Role.STUDENT, name=name)


def week(number: int, points: float) -> Assignment:
    entries = (AssignmentEntry(RING, 1.0), AssignmentEntry(STAGE, points - 1.0))
    return Assignment(id=number, class_id=1, title=f"Week {number}", policy=Policy(), entries=entries)


FIRST, SECOND = week(1, 5.0), week(2, 3.0)
PEOPLE = (member(7, "Ada"), member(8, "bo"), member(9, "Cy"))
CELLS: dict[int, Cells] = {
    1: {(7, RING): Cell(0.5, late=True), (7, STAGE): Cell(4.0, overridden=True), (8, RING): Cell(0.0)},
    2: {
        (7, WHOLE): Cell(2.5, overridden=True),
        (8, RING): Cell(0.0, excused=True),
        (8, STAGE): Cell(0.0, excused=True),
    },
}


def table(**asked: Any) -> PointsTable:
    return class_table(Grades(PEOPLE, (FIRST, SECOND), CELLS), TableRequest(BOOK, **asked))


def names(found: PointsTable) -> list[str]:
    return [row.member.name for row in found.rows]


def test_a_cell_of_an_assignment_says_what_is_special_about_it() -> None:
    found = [
        [(cell.points, cell.begun, cell.late, cell.overridden, cell.excused) for cell in row.cells]
        for row in table().rows
    ]
    assert found == [
        [(4.5, True, True, True, False), (2.5, True, False, True, False)],
        [(0.0, True, False, False, False), (0.0, False, False, False, True)],
        [(0.0, False, False, False, False), (0.0, False, False, False, False)],
    ]
    assert [row.sums for row in table().rows] == [("7", "87.5 %"), ("0", "0.0 %"), ("0", "0.0 %")]
    assert table().rows[0].cells[1].href == f"{BOOK}/2/7"


def test_means_are_over_all_who_are_not_excused() -> None:
    assert table().means == ("1.5", "1.25", "2.333", "29.2 %")  # 4.5 / 3, 2.5 / 2, 7 / 3, 87.5 / 3
    nobody = class_table(Grades((), (FIRST,), {1: {}}), TableRequest(BOOK))
    assert (nobody.means, nobody.rows, len(nobody.pages)) == ((), (), 1)
    assert [(one.text, one.points) for one in table().columns] == [("Week 1", 5.0), ("Week 2", 3.0)]
    assert [(one.text, one.points) for one in table().sums] == [("Total", 8.0), ("Overall", None)]


@each(
    ("sort", "down", "expected"),
    [
        ("", False, ["Ada", "bo", "Cy"]),
        ("", True, ["Cy", "bo", "Ada"]),
        ("1", True, ["Ada", "Cy", "bo"]),
        ("1", False, ["bo", "Cy", "Ada"]),
        ("2", False, ["bo", "Cy", "Ada"]),
        ("total", True, ["Ada", "Cy", "bo"]),
        ("overall", False, ["bo", "Cy", "Ada"]),
        ("unknown", False, ["Ada", "bo", "Cy"]),
    ],
)
def test_rows_are_sorted_by_points_or_a_sum_and_then_by_name(sort: str, down: bool, expected: list[str]) -> None:
    found = table(sort=sort, down=down)
    assert names(found) == expected
    order = "descending" if down else "ascending"
    heads = {one.text: one.sorted for one in (found.name, *found.columns, *found.sums)}
    assert heads == {
        "": order if not sort else "",
        "Week 1": order if sort == "1" else "",
        "Week 2": order if sort == "2" else "",
        "Total": order if sort == "total" else "",
        "Overall": order if sort == "overall" else "",
    }


@each(
    ("count", "page", "shown", "here", "pages"),
    [
        (SHOWN, 1, SHOWN, 1, 1), (SHOWN, 2, SHOWN, 1, 1), (SHOWN + 1, 1, SHOWN, 1, 2),
        (SHOWN + 1, 2, 1, 2, 2), (SHOWN + 1, 9, 1, 2, 2), (SHOWN + 1, 0, SHOWN, 1, 2), (1, 1, 1, 1, 1),
    ],
)  # fmt: skip
def test_a_large_class_is_shown_in_pages(count: int, page: int, shown: int, here: int, pages: int) -> None:
    people = [member(place, f"{place:04}") for place in range(count)]
    found = class_table(Grades(people, (FIRST,), {1: {}}), TableRequest(BOOK, page=page))
    assert (len(found.rows), found.page, len(found.pages)) == (shown, here, pages)
    assert names(found)[0] == f"{(here - 1) * SHOWN:04}"
    assert found.means[0] == "0"


def test_links_of_a_table_keep_the_order_and_the_group() -> None:
    plain, down = TableRequest(BOOK), TableRequest(BOOK, sort="total", down=True, group="Mo & Tu")
    assert [plain.link(sort) for sort in ("", "total")] == [f"{BOOK}?sort=&down=yes", f"{BOOK}?sort=total&down=yes"]
    assert down.link("total") == f"{BOOK}?sort=total&group=Mo+%26+Tu"
    assert down.link("") == f"{BOOK}?sort=&group=Mo+%26+Tu"
    assert down.link("1") == f"{BOOK}?sort=1&down=yes&group=Mo+%26+Tu"
    assert down.at(2) == f"{BOOK}?sort=total&down=yes&page=2&group=Mo+%26+Tu"
    assert plain.at(2) == f"{BOOK}?sort=&page=2"
    assert (down.of("A"), down.of("")) == (f"{BOOK}?group=A", BOOK)


def test_the_table_of_an_assignment_marks_what_was_not_drawn_and_sums_the_rest(site: Site) -> None:
    entries = (AssignmentEntry(RING, 2.0, 1), AssignmentEntry(STAGE, 2.0, 1))
    pooled = replace(FIRST, entries=entries, draws=(1,), origin=1)
    drawn = {one.person: next(iter(pooled.drawn(one.learner))) for one in PEOPLE}
    cells = {
        (7, drawn[7]): Cell(1.0, late=True),
        (8, drawn[8]): Cell(0.0, excused=True),
        (9, WHOLE): Cell(2.0, overridden=True),
    }
    found = assignment_table(site, PEOPLE, pooled, cells, TableRequest(f"{BOOK}/1"))
    for row in found.rows:
        assert [cell.has for cell in row.cells] == [name == drawn[row.member.person] for name in (RING, STAGE)]
    place = (RING, STAGE).index(drawn[7])
    ada = found.rows[0]
    assert [(cell.begun, cell.late) for cell in ada.cells] == [(n == place, n == place) for n in range(2)]
    assert [row.whole for row in found.rows] == [False, False, True]
    assert [row.sums for row in found.rows] == [("1",), ("0",), ("2",)]
    assert found.means[2] == "1"
    assert (
        found.means[place]
        == f"{1 / sum(row.cells[place].has and not row.cells[place].excused for row in found.rows):.4g}"
    )
    assert ada.cells[0].href == f"{BOOK}/1/7?exercise={RING.replace('/', '%2F')}#chosen"
    assert [one.text for one in found.sums] == ["Total"]
    assert found.sums[0].points == pooled.points == 2.0


def test_the_pages_of_a_gradebook_have_their_links_figures_and_ideas(site: Site) -> None:
    crowd = crowd_of(site, "Bo", "Cleo")
    now = site.clock() - timedelta(minutes=1)
    key = next(mistake_key(text) for where, text in site.catalog.exercise(RING).texts() if where[0] == "mistakes")
    crowd.answers("Bo", RING, now, right=False, key=key)
    crowd.answers("Bo", RING, now, right=True)
    crowd.answers("Cleo", RING, now, right=False)
    with open_session(site.engine) as session:
        teacher = visit(site, session, crowd.class_id, crowd.persons["Ada Teacher"])
        page = class_grades_page(teacher, TableForm(page="x", sort="total", down="yes"))
        one = assignment_grades_page(teacher, crowd.assignment.id, TableForm())
    book = f"{crowd.href}/grades"
    assert (names(page.table), page.table.page, page.groups, page.pooled) == (["Bo", "Cleo"], 1, (), False)
    assert page.rule == ("Overall is the share of the points of all assignments.",)
    assert (page.whole, one.whole, one.title) == (book, book, "Week 1")
    assert [link.href for link in one.assignments] == [f"{book}/{crowd.assignment.id}"]
    ring, stage = one.figures
    assert ring.figures is not None
    assert (ring.figures.begun, ring.figures.solved, ring.minutes) == (2, 1, "60 s")
    assert [(idea.persons, idea.share) for idea in ring.ideas] == [(1, 0.5)]
    assert (stage.figures, stage.minutes, stage.ideas) == (None, "", ())
