"""The pages and files of grades, as a teacher, an assistant, a student and a stranger see them."""

import csv
import io
import re
from datetime import UTC, datetime, timedelta

import pytest
from fastapi.testclient import TestClient
from sqlmodel import select

from app.classes.people.activity import ExerciseActivity, exercise_figures, ideas_in, work_in
from app.classes.people.assignments import AssignmentEntry, assignments_of, create_assignment
from app.classes.people.classes import members_of
from app.classes.people.counted_answers import given_in
from app.classes.people.gradebook import Override, cells_of, override
from app.classes.people.policy import Policy
from app.classes.people.regrade_run import stale_answers
from app.course.kinds.base import mistake_key
from app.server.db.people import OverrideRow, RegradeRow
from app.server.db.session import open_session, open_writing_session
from app.server.db.tables import AttemptRow
from app.site import Site
from tests.people.crowd import RING, STAGE, Crowd, crowd_of

MINUTE = timedelta(minutes=1)


def as_(client: TestClient, crowd: Crowd, name: str) -> TestClient:
    client.cookies.clear()
    client.cookies.set("session", crowd.cookies[name])
    return client


def words(text: str) -> str:
    """What a page says in its main part."""
    main = text.partition("<main")[2].partition("</main")[0]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", main))


def cell(page: str, row: str, column: str) -> str:
    """What the first table of a page has in the row and the column that begin with these words."""
    table = [
        [words(f"<main {one}</main").strip() for one in re.findall(r"<t[dh].*?>(.*?)</t[dh]>", line, re.S)]
        for line in re.findall(r"<tr.*?</tr>", page.partition("<table")[2].partition("</table")[0], re.S)
    ]
    place = next(number for number, head in enumerate(table[0]) if head.startswith(column))
    return next(line[place] for line in table if line[0] == row)


@pytest.fixture(scope="module")
def crowd(site: Site) -> Crowd:
    """Bo solves at the second try, Cleo is stuck after three, Dan tries, Eve has not begun."""
    made = crowd_of(site, "Bo", "Cleo", "Dan", "Eve")
    ring = site.catalog.exercise(RING)
    key = _keys(site, made, "Bo")
    now = site.clock()
    made.answers("Bo", RING, now - 9 * MINUTE, right=False, key=key)
    made.answers("Bo", RING, now - 8 * MINUTE, right=True)
    for _ in range(3):
        made.answers("Cleo", RING, now - MINUTE, right=False, key=key)
    made.answers("Dan", RING, now - MINUTE, right=False)
    made.answers("Dan", STAGE, now - 11 * MINUTE, right=False)
    assert ring.diagnosis(key, 0)
    return made


def _keys(site: Site, crowd: Crowd, name: str) -> str:
    text = next(text for where, text in site.catalog.exercise(RING).texts() if where[0] == "mistakes")
    return mistake_key(text)


def test_the_live_page_counts_who_is_where_and_tells_names_only_when_asked(
    client: TestClient, crowd: Crowd, site: Site
) -> None:
    teacher = as_(client, crowd, "Tom Assistant")
    page = teacher.get(f"{crowd.href}/live").text
    first, second = page.split('<section class="live"')[1:]
    assert "1 solved 1 stuck 1 trying 1 not begun" in words(f"<main{first}")
    assert "0 solved 1 stuck 0 trying 3 not begun" in words(f"<main{second}")
    assert "3 of 4 students have begun" in words(page)
    assert not any(name in page for name in ("Cleo", "Dan", "Eve"))
    told = site.catalog.exercise(RING).diagnosis(_keys(site, crowd, "Bo"), 0)
    assert told.split(".")[0] in words(f"<main{first}")
    assert "67 %" in first  # two of the three who began
    page = teacher.get(f"{crowd.href}/live?names=yes").text
    assert "1 stuck : Cleo 1 trying : Dan 1 not begun : Eve" in words(page)


def test_states_by_hand() -> None:
    now = datetime(2026, 10, 1, 12, tzinfo=UTC)
    tried = ExerciseActivity(person=1, exercise=RING, tries=2, first=5, last=now - 9 * MINUTE)
    assert tried.state(now) == "trying"
    assert tried.state(now + MINUTE) == "stuck"  # ten minutes since the last wrong answer
    tried.tries = 3
    assert tried.state(now) == "stuck"
    tried.right = 9
    assert tried.state(now + 99 * MINUTE) == "solved"


def test_figures_of_exercises(crowd: Crowd, site: Site) -> None:
    with open_session(site.engine) as session:
        members = members_of(session, crowd.class_id)
        work = work_in(session, site.secret, crowd.assignment, members)
    one = exercise_figures(work)[RING]
    assert (one.begun, one.solved, one.first_try, one.answers, one.seconds) == (3, 1, 0, 2, 60)
    assert list(ideas_in(work)[RING].values()) == [2]  # Bo once, Cleo three times: two persons


def test_the_gradebook_and_its_file_agree(client: TestClient, crowd: Crowd) -> None:
    teacher = as_(client, crowd, "Ada Teacher")
    page = teacher.get(f"{crowd.href}/grades?sort=total&down=yes").text
    for name, points, total in (("Bo", "1", "1"), ("Cleo", "0", "0"), ("Dan", "0", "0"), ("Eve", "–", "0")):
        assert (cell(page, name, "Week 1"), cell(page, name, "Total")) == (points, total)
    assert re.findall(r"\b(?:Bo|Cleo|Dan|Eve)\b", words(page))[0] == "Bo"
    text = teacher.get(f"{crowd.href}/grades.csv?format=ours").text
    rows = list(csv.reader(io.StringIO(text.removeprefix("\ufeff"))))
    columns = [rows[0].index(head) for head in ("id", "name", "Week 1")]
    assert [[row[place] for place in columns] for row in rows[1:]] == [
        ["id-2", "Bo", "1"],
        ["id-3", "Cleo", "0"],
        ["id-4", "Dan", "0"],
        ["id-5", "Eve", ""],
    ]
    canvas = teacher.get(f"{crowd.href}/grades.csv?format=canvas").text.splitlines()
    assert canvas[0] == "Student,ID,SIS User ID,SIS Login ID,Section,Week 1"
    assert canvas[1].endswith(",5")
    one = teacher.get(f"{crowd.href}/grades/{crowd.assignment.id}").text
    assert "33 %" not in words(one)
    assert "At the first try" in words(one)
    answer = teacher.get(f"{crowd.href}/grades.csv?format=exel")
    assert (answer.status_code, "did you mean &#39;excel&#39;" in answer.text) == (422, True)


def test_a_class_adds_up_by_its_rule_in_the_gradebook_and_the_file(client: TestClient, site: Site) -> None:
    crowd = crowd_of(site, "Bo", "Cleo")
    with open_writing_session(site.engine) as session:
        entries = [AssignmentEntry(RING, 4.0)]
        second = create_assignment(session, crowd.class_id, "Week 2", Policy(), entries)
        session.commit()
    crowd.answers("Bo", RING, site.clock(), right=True)  # 1 of 5 points in week 1, 0 of 4 in week 2
    teacher, rule = as_(client, crowd, "Ada Teacher"), f"{crowd.href}/grades/rule"
    page = teacher.get(f"{crowd.href}/grades").text
    assert [cell(page, "Bo", column) for column in ("Week 1", "Week 2", "Total", "Overall")] == [
        "1",
        "–",
        "1",
        "11.1 %",
    ]
    assert "empty: its points, 5" in words(teacher.get(rule).text)
    weights = {f"weight-{crowd.assignment.id}": "30 %", f"weight-{second}": "12,5"}
    sent = teacher.post(rule, data={"lowest": "0", **weights}, follow_redirects=False)
    assert sent.headers["location"] == f"{crowd.href}/grades"
    page = teacher.get(f"{crowd.href}/grades?sort=overall&down=yes").text
    assert "by weight: Week 1 30, Week 2 12.5." in words(page)
    assert words(page).index("Bo") < words(page).index("Cleo")
    assert [cell(page, name, "Overall") for name in ("Bo", "Cleo", "Mean")] == ["14.1 %", "0.0 %", "7.1 %"]
    assert [cell(page, "Mean", column) for column in ("Week 1", "Week 2", "Total")] == ["0.5", "0", "0.5"]
    teacher.post(rule, data={"lowest": "1", **weights})
    assert 'value="12.5"' in teacher.get(rule).text
    rows = list(csv.DictReader(io.StringIO(teacher.get(f"{crowd.href}/grades.csv").text)))
    assert [(row["total"], row["overall %"]) for row in rows] == [("1", "20"), ("0", "0")]


@pytest.mark.parametrize(
    ("field", "text", "says"),
    [
        ("lowest", "1.5", "must be a whole number"),
        ("lowest", "-1", "cannot read"),
        ("lowest", "101", "0 to 100 assignments"),
        ("weight", "much", "Week 1: cannot read"),
        ("weight", "1e3", "Week 1: cannot read"),
        ("weight", "²", "Week 1: cannot read"),
        ("weight", "1001", "Week 1: a weight is from 0 to 1,000"),
        ("weight", "9" * 400, "Week 1: cannot read"),
    ],
)
def test_a_rule_that_cannot_be_read_stays_in_the_form_with_the_reason(
    client: TestClient, crowd: Crowd, field: str, text: str, says: str
) -> None:
    name = field if field == "lowest" else f"weight-{crowd.assignment.id}"
    teacher = as_(client, crowd, "Ada Teacher")
    answer = teacher.post(f"{crowd.href}/grades/rule", data={name: text})
    assert answer.status_code == 422
    assert says in words(answer.text)
    assert f'value="{text}"' in answer.text


def test_a_name_that_is_a_formula_cannot_run_in_a_spreadsheet(client: TestClient, site: Site) -> None:
    crowd = crowd_of(site, '=HYPERLINK("http://x")', "@cmd", "+1", "-1")
    teacher = as_(client, crowd, "Ada Teacher")
    for form in ("ours", "canvas", "moodle"):
        text = teacher.get(f"{crowd.href}/grades.csv?format={form}").text.removeprefix("\ufeff")
        cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
        assert not [cell for cell in cells if re.match(r"\s*[=+\-@\t\r]", cell)]
        sent = teacher.post(f"{crowd.href}/grades/files", data={"text": text})
        assert ("0 cells change" in words(sent.text)) == (form == "ours")
        assert "Left out" not in words(sent.text)


def test_points_by_hand_need_a_reason_and_a_teacher(client: TestClient, site: Site) -> None:
    crowd = crowd_of(site, "Bo")
    crowd.answers("Bo", RING, site.clock(), right=True)
    href = f"{crowd.href}/grades/{crowd.assignment.id}/{crowd.persons['Bo']}"
    given = {"exercise": RING, "points": "0,5", "why": "copied"}
    assert as_(client, crowd, "Tom Assistant").post(href, data=given).status_code == 404
    teacher = as_(client, crowd, "Ada Teacher")
    for wrong, says in (
        ({"why": " "}, "give a reason"),
        ({"points": "many"}, "points must be a number from 0 to 1,000"),
        ({"exercise": "collectives/bytes-sent-by-a-rin"}, f"did you mean '{RING}'"),
    ):
        answer = teacher.post(href, data=given | wrong)
        assert answer.status_code == 422
        assert says in words(answer.text).casefold().replace("&#39;", "'")
    assert teacher.post(href, data=given).status_code == 303
    assert _points(site, crowd, "Bo") == {RING: 0.5}
    page = words(teacher.get(f"{href}?exercise={RING}").text)
    assert "0.5 points, by Ada Teacher" in page
    assert "copied" in page
    assert teacher.post(href, data=given | {"points": "", "why": "sorry"}).status_code == 303
    assert _points(site, crowd, "Bo") == {RING: 1.0}
    assert teacher.post(href, data=given | {"exercise": "", "points": "3"}).status_code == 303
    assert "3 of 5 points" in words(teacher.get(href).text)
    with open_session(site.engine) as session:
        assert len(session.exec(select(OverrideRow)).all()) >= 3  # appended, never changed


def test_a_changed_file_is_shown_before_it_counts(client: TestClient, site: Site) -> None:
    crowd = crowd_of(site, "Bo", "Cleo", "Dan")
    crowd.answers("Bo", RING, site.clock(), right=True)
    teacher = as_(client, crowd, "Ada Teacher")
    files = f"{crowd.href}/grades/files"
    text = f"id;name;{RING};{STAGE}\nid-2;Bo;1;2,5\nid-3;Cleo;;\nid-9;Zoe;1;\nid-2;Bo;0;0\nid-4;Dan;-1;4\n"
    shown = teacher.post(files, data={"text": text, "why": "oral exam"}).text
    page = words(shown).replace("&#39;", "'")
    assert "2 cells change, 1 stays as it is" in page
    assert "line 4: no student has the id 'id-9'" in page
    assert "line 5: Bo again, as on line 2" in page
    assert f"line 6: {RING} is -1; points are from 0 to 1,000" in page
    assert _points(site, crowd, "Bo") == {RING: 1.0}
    digest = re.search(r'name="digest" value="(\w+)"', shown)
    assert digest
    sent = {"text": text, "why": "oral exam", "digest": digest[1]}
    assert as_(client, crowd, "Tom Assistant").post(f"{files}/apply", data=sent).status_code == 404
    teacher = as_(client, crowd, "Ada Teacher")
    moved = teacher.post(f"{files}/apply", data=sent | {"digest": "0" * 64})
    assert "The grades have changed meanwhile" in moved.text
    assert teacher.post(f"{files}/apply", data=sent | {"why": ""}).status_code == 422
    assert teacher.post(f"{files}/apply", data=sent).status_code == 303
    assert _points(site, crowd, "Bo") == {RING: 1.0, STAGE: 2.5}
    assert _points(site, crowd, "Dan") == {STAGE: 4.0}


def test_grades_of_another_system_are_refused_with_what_to_do(client: TestClient, site: Site) -> None:
    crowd = crowd_of(site, "Bo")
    teacher = as_(client, crowd, "Ada Teacher")
    text = f"Student,ID,SIS User ID,SIS Login ID,Section,{RING} (4711)\nBo,1,id-2,bo,A,1\n"
    sent = teacher.post(f"{crowd.href}/grades/files", data={"text": text, "why": "exam"})
    assert sent.status_code == 422
    assert "this is a file of Canvas; points are read from Wallclock's own file alone" in words(sent.text).replace(
        "&#39;", "'"
    )


def test_a_file_in_an_unknown_encoding_is_refused_on_its_page(client: TestClient, site: Site) -> None:
    crowd = crowd_of(site, "Bo")
    teacher = as_(client, crowd, "Ada Teacher")
    names = "Иван Петров\n".encode("cp1251")
    for page in ("grades/files", "people/roster"):
        sent = teacher.post(f"{crowd.href}/{page}", files={"file": ("names.csv", names)})
        assert sent.status_code == 422
        assert "save it as CSV UTF-8" in words(sent.text)


def test_why_an_answer_is_worth_what_it_is(site: Site) -> None:
    now = site.clock()
    policy = Policy(due=now - timedelta(hours=30), closes=now, late=0.1, attempts=3)
    crowd = crowd_of(site, "Bo", policy=policy)
    crowd.answers("Bo", RING, now - timedelta(hours=40), right=False)
    crowd.answers("Bo", RING, now - timedelta(hours=3), right=True)
    crowd.answers("Bo", RING, now + timedelta(hours=1), right=True)
    crowd.answers("Bo", STAGE, now - timedelta(hours=40), right=True)
    with open_session(site.engine) as session:
        members = [one for one in members_of(session, crowd.class_id) if one.name == "Bo"]
        given = given_in(session, site.secret, crowd.assignment, members[0])
        cells = cells_of(session, site.secret, crowd.assignment, members)
    rows = [(round(one.earned, 9), one.why) for one in given[RING]]
    assert rows == [(0.0, ""), (0.8, "late: 20 % less"), (0.0, "after it closed")]
    for exercise, most in ((RING, 1.0), (STAGE, 4.0)):
        best = max(one.earned for one in given[exercise])
        assert cells[crowd.persons["Bo"], exercise].points == pytest.approx(best * most)


def test_others_never_learn_that_the_pages_exist(client: TestClient, crowd: Crowd, site: Site) -> None:
    other = crowd_of(site, "Mallory")
    book, bo = f"{crowd.href}/grades", crowd.persons["Bo"]
    pages = [
        f"{crowd.href}/live",
        book,
        f"{book}.csv",
        f"{book}/files",
        f"{crowd.href}/regrade",
        f"{book}/{crowd.assignment.id}",
        f"{book}/{crowd.assignment.id}/{bo}",
        f"{crowd.href}/people/{bo}",
    ]
    posts = [f"{book}/files", f"{book}/files/apply", f"{crowd.href}/regrade", pages[6]]
    for whose, name in ((crowd, "Bo"), (other, "Mallory"), (other, "Ada Teacher")):
        person = as_(client, whose, name)
        assert {person.get(page).status_code for page in pages} == {404}
        assert {person.post(page).status_code for page in posts} == {404}
    client.cookies.clear()
    for page in pages:
        answer = client.get(page)
        assert (answer.status_code, answer.headers["location"][:8]) == (303, "/sign-in")
    # A teacher of one class cannot reach into another by its numbers.
    teacher = as_(client, other, "Ada Teacher")
    for page in (f"/{crowd.assignment.id}", f"/{crowd.assignment.id}/{bo}", f"/{other.assignment.id}/{bo}"):
        assert teacher.get(f"{other.href}/grades{page}").status_code == 404
    assert teacher.get(f"{other.href}/people/{bo}").status_code == 404
    assert teacher.get(f"{other.href}/live?assignment={crowd.assignment.id}").status_code == 404
    wanted = f"{other.href}/grades.csv?assignment={crowd.assignment.id}"
    assert teacher.get(wanted).status_code == 404


def test_the_path_of_a_student(client: TestClient, crowd: Crowd) -> None:
    assistant = as_(client, crowd, "Tom Assistant")
    page = words(assistant.get(f"{crowd.href}/people/{crowd.persons['Cleo']}").text)
    assert "0 of 5 points" in page
    assert "stuck 3 answers" in page
    assert "(3 times)" in page


def _points(site: Site, crowd: Crowd, name: str) -> dict[str, float]:
    with open_session(site.engine) as session:
        members = members_of(session, crowd.class_id)
        cells = cells_of(session, site.secret, crowd.assignment, members)
    return {key[1]: cell.points for key, cell in cells.items() if key[0] == crowd.persons[name]}


def test_a_class_without_students_answers_or_exercises_has_its_pages(client: TestClient, site: Site) -> None:
    crowd = crowd_of(site)
    teacher = as_(client, crowd, "Ada Teacher")
    pages = ("live", "live?names=yes", "grades", "grades.csv", "grades/files", "regrade")
    for page in (*pages, f"grades/{crowd.assignment.id}", f"people/{crowd.persons['Tom Assistant']}"):
        assert teacher.get(f"{crowd.href}/{page}").status_code == 200, page
    gone = crowd_of(site, "Bo")
    with open_writing_session(site.engine) as session:
        entries = [AssignmentEntry("removed/exercise", 1.0)]
        create_assignment(session, gone.class_id, "Removed", Policy(variants="many"), entries)
        session.add(
            AttemptRow(
                learner=gone.learners["Bo"],
                exercise="removed/exercise",
                seed=1,
                answer="1",
                correct=False,
                score=0.5,
                digest="d",
                drawn="{}",
                mistake="0123456789ab",
            )
        )
        session.commit()
        number = assignments_of(session, gone.class_id)[-1].id
    teacher = as_(client, gone, "Ada Teacher")
    for page in (*pages, f"live?assignment={number}", f"grades/{number}", f"people/{gone.persons['Bo']}"):
        assert teacher.get(f"{gone.href}/{page}").status_code == 200, page
    page = words(teacher.get(f"{gone.href}/grades/{number}/{gone.persons['Bo']}").text)
    assert "A mistake that the exercise no longer lists" in page
    assert "0.5 of 1" in page


def test_answers_that_came_in_a_file_count_nowhere(site: Site) -> None:
    crowd = crowd_of(site, "Bo")
    crowd.answers("Bo", RING, site.clock(), right=True, digest="old")
    with open_writing_session(site.engine) as session:
        row = session.exec(select(AttemptRow).where(AttemptRow.learner == crowd.learners["Bo"])).one()
        row.carried = True
        session.add(row)
        session.commit()
        members = members_of(session, crowd.class_id)
        bo = next(one for one in members if one.name == "Bo")
        assert not cells_of(session, site.secret, crowd.assignment, members)
        assert not work_in(session, site.secret, crowd.assignment, members)
        assert not given_in(session, site.secret, crowd.assignment, bo)
        assert not stale_answers(session, site.secret, site.catalog, crowd.class_id)


def test_figures_honor_regrades_and_points_given_by_hand(client: TestClient, site: Site) -> None:
    crowd = crowd_of(site, "Bo", "Cleo", "Dan", "Eve")
    now, key = site.clock(), _keys(site, crowd, "Bo")
    mended = crowd.answers("Bo", RING, now, right=False, key=key)
    for name in ("Cleo", "Dan"):
        crowd.answers(name, RING, now, right=name == "Dan", key="" if name == "Dan" else key)
    with open_writing_session(site.engine) as session:
        session.add(RegradeRow(attempt=mended, digest="new", score=1.0, correct=True))
        given = {("Dan", RING): 0.0, ("Eve", RING): 1.0, ("Bo", STAGE): 3.0, ("Cleo", STAGE): 4.0}
        for (name, exercise), points in given.items():
            one = Override(crowd.persons[name], exercise, points)
            override(session, crowd.assignment, [one], "Ada", "as agreed")
        session.commit()
        members = members_of(session, crowd.class_id)
        work = work_in(session, site.secret, crowd.assignment, members)
    states = {(one.person, one.exercise): one.state(now) for one in work}
    assert states == {
        (crowd.persons["Bo"], RING): "solved",  # judged again
        (crowd.persons["Cleo"], RING): "trying",
        (crowd.persons["Dan"], RING): "trying",  # right, but without points
        (crowd.persons["Eve"], RING): "solved",  # all points, without an answer
        (crowd.persons["Cleo"], STAGE): "solved",
    }
    figures = exercise_figures(work)
    assert (figures[RING].begun, figures[RING].solved, figures[RING].answers) == (3, 2, 1)
    assert figures[RING].first_try == pytest.approx(2 / 3)
    assert (figures[STAGE].begun, figures[STAGE].first_try) == (0, 0)
    assert list(ideas_in(work)[RING].values()) == [1]  # Cleo's; Bo was right after all
    teacher = as_(client, crowd, "Ada Teacher")
    page = teacher.get(f"{crowd.href}/live?names=yes").text
    assert "3 of 4 students have begun" in words(page)
    assert "2 solved : Bo, Eve" in words(page)
    assert teacher.get(f"{crowd.href}/grades/{crowd.assignment.id}").status_code == 200
    assert teacher.get(f"{crowd.href}/people/{crowd.persons['Eve']}").status_code == 200
