"""What calls about assignments, points, merges and persons answer, from the functions that do the work."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from fastapi import HTTPException, Request, Response
from sqlmodel import Session

from app.classes.api.access import ClassCall, Paging, class_for
from app.classes.api.assignments import (
    copy_assignments,
    end_extension,
    give_extensions,
    list_assignments,
    list_variants,
    make_assignment,
    put_assignment,
    remove_assignment,
)
from app.classes.api.classes import (
    add_person,
    get_class,
    list_merges,
    merge_students,
    put_roster,
    remove_person,
    undo_students_merge,
)
from app.classes.api.grades import (
    get_grades,
    get_grades_file,
    get_results,
    get_statistics,
    give_points,
    list_overrides,
    put_grades_file,
    take_points_back,
)
from app.classes.api.shapes import NewAssignment, NewCopies, NewExtension, NewMerge, NewOverride, NewPerson
from app.classes.people.classes import Role, members_of
from app.classes.people.members import change_role
from app.classes.people.policy import Policy
from app.core.errors import InputError, NotFoundError
from app.server.db.learner_cookie import Grant
from app.server.db.people import IdentityRow, MemberRow
from app.server.db.tables import AttemptRow
from app.site import Site
from tests.each import each
from tests.people.crowd import RING, STAGE, Crowd, crowd_of

NOW = datetime(2036, 10, 1, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
DUE = NOW + DAY


@pytest.fixture
def crowd(site: Site) -> Crowd:
    return crowd_of(site, "Bo", "Cleo", policy=Policy(zone=ZoneInfo("Europe/Berlin"), due=DUE, closes=DUE))


def call_of(site: Site, session: Session, crowd: Crowd, *, admin: bool = True) -> ClassCall:
    grant = Grant("tests", "admin") if admin else Grant("tests", "class", crowd.class_id)
    return ClassCall(replace(site, clock=lambda: NOW), grant, session, class_for(session, grant, crowd.class_id))


def page(limit: int = 100, after: int = 0) -> Paging:
    request = Request({"type": "http", "path": "/", "query_string": b"", "headers": []})
    return Paging(request, Response(), after, limit)


def week(*points: float, **more: Any) -> NewAssignment:
    exercises = [{"exercise": name, "points": worth} for name, worth in zip((RING, STAGE), points, strict=False)]
    return NewAssignment.model_validate({"title": "Week 2", "exercises": exercises, **more})


def test_the_version_of_an_assignment_guards_it(site: Site, session: Session, crowd: Crowd) -> None:
    call, sent = call_of(site, session, crowd), Response()
    made = make_assignment(call, week(1, 2), sent)
    tag = sent.headers["etag"]
    for wrong in ('"another"', 'W/"another", "third"', tag.strip('"'), ""):
        if wrong:
            with pytest.raises(HTTPException, match="412"):
                put_assignment(call, made.id, week(1, 3), Response(), wrong)
            with pytest.raises(HTTPException, match="412"):
                remove_assignment(call, made.id, wrong)
    for right in ("*", f'"another" , {tag}', f"W/{tag}", None, ""):
        again = Response()
        assert put_assignment(call, made.id, week(1, 2), again, right).points == 3.0
        assert again.headers["etag"] == tag
    assert put_assignment(call, made.id, week(1, 2, id=made.id), Response()).id == made.id
    with pytest.raises(InputError, match=f"this is assignment {made.id}, not 77"):
        put_assignment(call, made.id, week(1, 2, id=77), Response())
    remove_assignment(call, made.id, tag)
    with pytest.raises(NotFoundError):
        remove_assignment(call, made.id)


@each(("points", "right"), [(None, True), (3.0, True), (3.0 + 1e-12, True), (2.0, False), (3.5, False), (5.0, False)])
def test_points_of_an_assignment_are_the_sum_of_its_exercises(
    site: Site, session: Session, crowd: Crowd, points: float | None, right: bool
) -> None:
    call = call_of(site, session, crowd)
    try:
        assert make_assignment(call, week(1, 2, points=points), Response()).points == 3.0
    except InputError as error:
        assert (right, "which is 3, not" in str(error)) == (False, True)
    else:
        assert right
    accepted = right or points == 5.0  # which are those of the stored one, as GET gave them
    try:
        put_assignment(call, crowd.assignment.id, week(1, 2, points=points), Response())
    except InputError:
        assert not accepted
    else:
        assert accepted
    session.rollback()


def test_an_exercise_is_named_by_its_place_and_one_that_is_gone_stays(
    site: Site, session: Session, crowd: Crowd
) -> None:
    call = call_of(site, session, crowd)
    pools = [{"draw": 1, "of": [STAGE, RING], "points": 2.0}]
    for body, says in (
        (week(1, pools=pools), "body.pools.0.of.1: 'collectives/bytes-sent-by-a-ring' is already"),
        (week(pools=[{"draw": 1, "of": [STAGE, "pack/gone"]}]), "body.pools.0.of.1: "),
    ):
        with pytest.raises(InputError, match=says):
            make_assignment(call, body, Response())
    both = [{"draw": 1, "of": [one], "points": worth} for one, worth in ((STAGE, 2.0), (RING, 3.0))]
    found = make_assignment(call, week(pools=both), Response())
    assert [(one.draw, one.of, one.points) for one in found.pools] == [(1, [STAGE], 2.0), (1, [RING], 3.0)]
    made = make_assignment(call, week(1, pools=[{"draw": 1, "of": [STAGE], "points": 2.0}]), Response())
    assert (made.points, [one.exercise for one in made.exercises], made.pools[0].of) == (3.0, [RING], [STAGE])
    row = session.connection().exec_driver_sql
    row(f"UPDATE assigned SET exercise = 'pack/gone' WHERE assignment = {made.id} AND exercise = '{STAGE}'")
    session.expire_all()
    kept = week(1, pools=[{"draw": 1, "of": ["pack/gone"], "points": 2.0}])
    assert put_assignment(call, made.id, kept, Response()).pools[0].of == ["pack/gone"]
    assert [one.id for one in list_assignments(call, page())] == [crowd.assignment.id, found.id, made.id]
    assert [one.id for one in list_assignments(call, page(after=crowd.assignment.id))] == [found.id, made.id]


@each(("variants", "seeds"), [("own", 2), ("same", 2), ("many", 0)])
def test_variants_are_those_of_students_and_none_where_any_counts(
    site: Site, session: Session, crowd: Crowd, variants: str, seeds: int
) -> None:
    call = call_of(site, session, crowd)
    made = make_assignment(call, week(1, 2, variants=variants), Response())
    found = list_variants(call, made.id, page())
    assert [(one.name, one.id, one.exercises, len(one.seeds)) for one in found] == [
        ("Bo", "id-2", [RING, STAGE], seeds), ("Cleo", "id-3", [RING, STAGE], seeds),
    ]  # fmt: skip
    assert (found[0].seeds == found[1].seeds) is (variants != "own")


def test_copies_are_moved_by_weeks_or_to_the_week_of_a_day(site: Site, session: Session, crowd: Crowd) -> None:
    target = crowd_of(site)
    call = call_of(site, session, target)
    for when, weeks in ({"weeks": 2}, 2), ({"weeks": 2, "start": date(2036, 10, 6)}, 1), ({}, 0):
        dry = copy_assignments(call, NewCopies(source=crowd.class_id, **when), True)
        assert (dry.applied, dry.weeks, dry.copies[0].id, dry.copies[0].due) == (
            False,
            weeks,
            None,
            DUE + 7 * weeks * DAY,
        )
    assert len(list_assignments(call, page())) == 1
    done = copy_assignments(call, NewCopies(source=crowd.class_id))
    assert [one.id for one in list_assignments(call, page())][1:] == [done.copies[0].id]
    assert (done.applied, done.copies[0].source, done.copies[0].opens) == (True, crowd.assignment.id, None)
    with pytest.raises(NotFoundError):
        copy_assignments(call_of(site, session, target, admin=False), NewCopies(source=crowd.class_id))


def test_an_extension_is_of_those_who_are_named_and_ends_once(site: Site, session: Session, crowd: Crowd) -> None:
    call, bo = call_of(site, session, crowd), crowd.persons["Bo"]
    later = NewExtension(people=["id-2"], until=DUE + HOUR, why=" at  home ")
    (given,) = give_extensions(call, crowd.assignment.id, later)
    assert (given.number, given.until, given.why, given.by) == (bo, DUE + HOUR, "at home", "token tests")
    both = give_extensions(call, crowd.assignment.id, NewExtension(people=["id-3"], until=DUE + DAY))
    assert [one.name for one in both] == ["Cleo"]
    with pytest.raises(InputError, match="body.until: everyone has until 2036-10-02T12:00Z already"):
        give_extensions(call, crowd.assignment.id, NewExtension(people=["id-2"], until=DUE))
    end_extension(call, crowd.assignment.id, bo)
    with pytest.raises(NotFoundError, match="no extension"):
        end_extension(call, crowd.assignment.id, bo)


def test_a_roster_is_changed_unless_it_is_a_dry_run(site: Site, session: Session, crowd: Crowd) -> None:
    call = call_of(site, session, crowd)
    body = [NewPerson(name="Bob", id="id-2", time_factor=1.5), NewPerson(name="Zoe", role="assistant", group=" Mon ")]

    def names() -> list[str]:
        return sorted(one.name for one in members_of(session, crowd.class_id))

    before = names()
    for dry, removes in ((True, True), (False, False), (False, True)):
        found = put_roster(call, body, dry, removes)
        assert (found.applied, found.removed) == (not dry, removes and not dry)
        assert [one.name for one in found.missing] == ["Cleo"]
        if dry:
            assert names() == before
            assert [(one.name, one.role, one.group) for one in found.added] == [("Zoe", "assistant", "Mon")]
            assert [(one.before.name, one.after.name, one.after.time_factor) for one in found.changed] == [
                ("Bo", "Bob", 1.5)
            ]
    assert names() == ["Ada Teacher", "Bob", "Tom Assistant", "Zoe"]


def test_a_new_person_is_told_from_one_of_the_same_name(site: Site, session: Session, crowd: Crowd) -> None:
    call = call_of(site, session, crowd)
    for body, status, same in (
        (NewPerson(name="Bo", id="id-2"), 200, True),
        (NewPerson(name="Bo"), 200, True),
        (NewPerson(name="Bo", id="9"), 201, False),
    ):
        sent = Response()
        found = add_person(call, body, sent)
        assert (sent.status_code, found.number == crowd.persons["Bo"], found.name) == (status, same, "Bo")
    assert get_class(call, Request({"type": "http", "path": "/", "headers": [(b"host", b"x")], "scheme": "http",
                                    "server": ("x", 80), "query_string": b""})).students == 3  # fmt: skip


def test_students_are_merged_and_taken_apart_and_who_has_accounts_is_asked(
    site: Site, session: Session, crowd: Crowd
) -> None:
    call, bo, cleo = call_of(site, session, crowd), crowd.persons["Bo"], crowd.persons["Cleo"]
    made = merge_students(call, NewMerge(kept="id-2", gone=str(cleo)))
    assert (made.kept, made.gone, made.waits, made.by) == (bo, cleo, [], "token tests")
    assert [one.id for one in list_merges(call)] == [made.id]
    assert undo_students_merge(call, made.id).status_code == 204
    assert list_merges(call) == []
    session.add(IdentityRow(issuer="https://idp", subject=f"cleo {cleo}", person=cleo))
    session.flush()
    asked = merge_students(call, NewMerge(kept=bo, gone=cleo))
    assert cleo in asked.waits
    assert undo_students_merge(call, asked.id).status_code == 204, "what waits is taken back"


@each("deletes", [False, True])
def test_a_person_is_removed_and_what_they_did_goes_if_it_is_asked_for(
    site: Site, session: Session, crowd: Crowd, deletes: bool
) -> None:
    name = "Cleo" if deletes else "Bo"
    number = crowd.answers(name, RING, NOW - HOUR, right=True)
    call = call_of(site, session, crowd)
    remove_person(call, crowd.persons[name], deletes)
    row = session.get(MemberRow, (crowd.class_id, crowd.persons[name]))
    assert row is None or row.left is not None
    assert (session.get(AttemptRow, number) is None) is deletes
    session.rollback()


def test_points_by_hand_are_listed_for_those_who_are_in_the_class(site: Site, session: Session, crowd: Crowd) -> None:
    call, number = call_of(site, session, crowd), crowd.assignment.id
    bo, cleo = crowd.persons["Bo"], crowd.persons["Cleo"]
    both = NewOverride(people=["id-3", bo], exercise=RING, points=0.5, why="oral")
    assert [(one.number, one.exercise, one.points) for one in give_points(call, number, both)] == [
        (bo, RING, 0.5), (cleo, RING, 0.5),
    ]  # fmt: skip
    (whole,) = [one for one in give_points(call, number, NewOverride(people=["id-2"], points=2.0, why="x"))
                if one.exercise is None]  # fmt: skip
    assert (whole.number, whole.points, whole.excused) == (bo, 2.0, False)
    assert [one.number for one in list_overrides(call, number, page(1))] == [bo, bo]
    assert [one.number for one in list_overrides(call, number, page(1, bo))] == [cleo]
    for person, exercise in ((bo, STAGE), (cleo, ""), (10**9, RING)):
        with pytest.raises(NotFoundError):
            take_points_back(call, number, person, exercise)
    take_points_back(call, number, bo)
    take_points_back(call, number, bo, RING, "wrong")
    assert [one.number for one in list_overrides(call, number, page())] == [cleo]
    remove_person(call, cleo)
    assert list_overrides(call, number, page()) == []


def test_grades_are_of_students_page_by_page_or_of_a_group(site: Site, session: Session, crowd: Crowd) -> None:
    call = call_of(site, session, crowd)
    assert [one.name for one in get_grades(call, page()).people] == ["Bo", "Cleo"]
    assert [one.name for one in get_grades(call, page(1)).people] == ["Bo"]
    assert [one.name for one in get_grades(call, page(1, crowd.persons["Bo"])).people] == ["Cleo"]
    put_roster(call, [NewPerson(name="Bo", id="id-2", group="Mon")])
    assert [one.name for one in get_grades(call, page(), "Mon").people] == ["Bo"]
    assert [one.name for one in get_grades(call, page(), "").people] == ["Cleo"]
    change_role(session, crowd.class_id, crowd.persons["Cleo"], Role.ASSISTANT)
    assert [one.name for one in get_grades(call, page()).people] == ["Bo"]
    head = bytes(get_grades_file(call, "ours", crowd.assignment.id).body).decode().splitlines()[0]
    assert head == f"number,id,name,{RING},{STAGE},total"
    assert bytes(get_grades_file(call).body).decode().splitlines()[0] == "number,id,name,Week 1,total,overall %"


def test_a_file_of_grades_counts_once_it_is_no_dry_run(site: Site, session: Session, crowd: Crowd) -> None:
    call, file = call_of(site, session, crowd), f"id,{RING}\nid-2,0.5\nid-3,excused\n".encode()
    for dry, changes, same in ((True, 2, 0), (False, 2, 0), (False, 0, 2)):
        found = put_grades_file(call, file, dry, "oral")
        assert (found.applied, len(found.changes), found.same) == (not dry, changes, same)
    first, second = put_grades_file(call, f"id,{RING}\nid-2,excused\nid-3,1\n".encode(), True).changes
    assert (first.exercise, first.before, first.after) == (RING, 0.5, None)
    assert (second.before, second.after) == (None, 1.0)


def test_results_go_on_where_the_last_page_ended(site: Site, session: Session, crowd: Crowd) -> None:
    numbers = [crowd.answers("Bo", RING, NOW - (3 - place) * HOUR, right=True) for place in range(3)]
    call = call_of(site, session, crowd)
    for limit, after, since, found in (
        (2, 0, None, numbers[:2]), (2, numbers[1], None, numbers[2:]), (9, 0, NOW - 2 * HOUR, numbers[1:]),
        (9, 0, NOW, []),
    ):  # fmt: skip
        assert [row["number"] for row in get_results(call, page(limit, after), since)] == found
    assert [one.exercise for one in get_statistics(call)] == [RING]
