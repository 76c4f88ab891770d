"""Two members who are one person: what moves, who may do it, and the way back."""

import json
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlmodel import Session, select

from app.__main__ import main
from app.classes.people.assignments import AssignmentEntry, create_assignment
from app.classes.people.classes import (
    Role,
    create_class,
    enroll,
    member_of_seat_code,
    members_of,
    number_of,
    renew_seat_code,
    role_in,
)
from app.classes.people.counted_answers import extend
from app.classes.people.erasure import delete_person, forget_member, results_of_class
from app.classes.people.gradebook import Override, cells_of, override, total
from app.classes.people.members import taught_by
from app.classes.people.merges import (
    answer_merge,
    merge_members,
    merge_persons,
    merged_into,
    merges_in,
    undo_merge,
    undo_or_ask,
    waiting_merges,
)
from app.classes.people.persons import WayIn, close_every_browser, code_digest, new_person, open_browser
from app.classes.people.policy import Policy
from app.core.errors import InputError, NotFoundError
from app.server.db.people import (
    ExtensionRow,
    IdentityRow,
    LinkRow,
    MemberRow,
    MergeRow,
    OutboxRow,
    OverrideRow,
    PersonRow,
    PlatformRow,
    SessionRow,
)
from app.server.db.personal import collect_everything
from app.server.db.session import open_session, open_writing_session
from app.server.db.tables import AttemptRow, now
from app.site import Site
from app.site.members import SignedIn
from app.site.web.frame.visitor import SESSION
from tests.people.crowd import RING, STAGE, Crowd, crowd_of
from tests.web.test_progress import words


@pytest.fixture
def crowd(site: Site) -> Crowd:
    return crowd_of(site, "Ada", "Ada again")


def points(site: Site, crowd: Crowd) -> Mapping[str, float]:
    with open_session(site.engine) as session:
        members = members_of(session, crowd.class_id)
        cells = cells_of(session, site.secret, crowd.assignment, members)
        return {one.name: total(cells, one.person, crowd.assignment) for one in members}


def merged(site: Site, crowd: Crowd) -> int:
    with open_writing_session(site.engine) as session:
        own = taught_by(session, crowd.persons["Ada Teacher"])
        number = merge_members(
            session, crowd.class_id, crowd.persons["Ada"], crowd.persons["Ada again"], own=own, by="Ada Teacher"
        )
        session.commit()
        return number


def agree(site: Site, crowd: Crowd, name: str, number: int, *, agrees: bool = True, by_code: bool = False) -> None:
    """Let *name* answer in a browser that their account, or only a code of theirs, has signed in."""
    with open_session(site.engine) as session:
        person = crowd.persons[name]
        row = session.exec(select(IdentityRow).where(IdentityRow.person == person)).first()
        who = () if by_code or row is None else (row.issuer, row.subject)
        cookie = open_browser(session, person, *who)
        answer_merge(
            session, number, SignedIn(person, crowd.learners[name], name, browser=code_digest(cookie)), agrees=agrees
        )
        session.commit()


def stored(site: Site, crowd: Crowd) -> list[object]:
    """Everything that a merge may touch."""
    tables = (MemberRow, IdentityRow, ExtensionRow, OverrideRow)
    with open_session(site.engine) as session:
        found = sorted(
            repr(row.model_dump(exclude={"left", "code_digest"}))
            for table in tables
            for row in session.exec(select(table))
            if not isinstance(row, MemberRow) or row.left is None
        )
        return [*found, *(collect_everything(session, one) for one in crowd.learners.values())]


def prepare(site: Site, crowd: Crowd) -> None:
    """Both Adas have answers; the second one has all the rest."""
    at = site.clock()
    crowd.answers("Ada", RING, at, right=True)
    crowd.answers("Ada again", STAGE, at, right=True)
    again = crowd.persons["Ada again"]
    with open_writing_session(site.engine) as session:
        extend(session, crowd.assignment.id, [again], at + timedelta(days=3), "Tom", "ill")
        session.add(IdentityRow(issuer="lti:1", subject=f"u{again}", person=again))
        session.commit()


def test_points_are_those_of_both_and_each_may_have_answered_an_own_drawing(site: Site, crowd: Crowd) -> None:
    prepare(site, crowd)
    assert points(site, crowd) == {"Ada Teacher": 0, "Ada": 1, "Ada again": 4, "Tom Assistant": 0}
    number = merged(site, crowd)
    assert points(site, crowd)["Ada"] == 1, "who signs in by herself is asked first"
    with pytest.raises(InputError, match="signed in with a code"):
        agree(site, crowd, "Ada again", number, by_code=True)
    agree(site, crowd, "Ada again", number)
    assert points(site, crowd) == {"Ada Teacher": 0, "Ada": 5, "Tom Assistant": 0}
    with open_session(site.engine) as session:
        identity = session.get(IdentityRow, ("lti:1", f"u{crowd.persons['Ada again']}"))
        extension = session.get(ExtensionRow, (crowd.assignment.id, crowd.persons["Ada"]))
        assert identity is not None
        assert identity.person == crowd.persons["Ada"]
        assert extension is not None
        assert extension.why == "ill"


def test_a_merge_that_is_undone_leaves_everything_as_it_was(site: Site, crowd: Crowd) -> None:
    prepare(site, crowd)
    with open_writing_session(site.engine) as session:
        given = [Override(crowd.persons["Ada again"], RING, 0.5)]
        override(session, crowd.assignment, given, "Tom", "oral")
        session.commit()
    before, earned = stored(site, crowd), points(site, crowd)
    number = merged(site, crowd)
    agree(site, crowd, "Ada again", number)
    assert stored(site, crowd) != before
    with open_writing_session(site.engine) as session:
        assert [row.id for row in merges_in(session, crowd.class_id)] == [number]
        assert not undo_or_ask(session, crowd.class_id, number, [crowd.class_id])
        session.commit()
    assert stored(site, crowd) != before, "nor are they two again before she has agreed"
    agree(site, crowd, "Ada", number)
    with open_session(site.engine) as session:
        assert merges_in(session, crowd.class_id) == []
        with pytest.raises(NotFoundError, match="already undone"):
            undo_merge(session, number, crowd.class_id)
    assert stored(site, crowd) == before
    assert points(site, crowd) == earned


def test_the_browsers_and_the_code_of_the_one_who_goes_sign_nobody_in(
    client: TestClient, site: Site, crowd: Crowd
) -> None:
    with open_writing_session(site.engine) as session:
        row = session.get(MemberRow, (crowd.class_id, crowd.persons["Ada again"]))
        assert row is not None
        code = renew_seat_code(session, row)
        session.commit()
    merged(site, crowd)
    assert client.post("/sign-in", data={"code": code}).status_code == 422
    with open_session(site.engine) as session:
        sessions = select(SessionRow).where(SessionRow.person == crowd.persons["Ada again"])
        assert session.exec(sessions).all() == []


def test_nobody_gets_into_a_class_of_others_by_a_merge(site: Site, crowd: Crowd) -> None:
    with open_writing_session(site.engine) as session:
        other = number_of(create_class(session, site.secret, "Of somebody else"))
        enroll(session, other, crowd.persons["Ada again"])
        session.commit()
    number = merged(site, crowd)
    with open_session(site.engine) as session:
        assert role_in(session, other, crowd.persons["Ada"]) is None
        assert [row.id for row in waiting_merges(session, crowd.persons["Ada again"])] == [number]
        assert waiting_merges(session, crowd.persons["Ada"]) == []
    with pytest.raises(NotFoundError, match="answered already"):
        agree(site, crowd, "Ada", number)
    agree(site, crowd, "Ada again", number, agrees=False)
    with open_session(site.engine) as session:
        assert merges_in(session, crowd.class_id) == []
        assert role_in(session, other, crowd.persons["Ada again"]) is Role.STUDENT


def test_a_merge_is_not_undone_by_a_teacher_once_one_of_them_is_in_another_class(site: Site, crowd: Crowd) -> None:
    number = merged(site, crowd)
    with open_session(site.engine) as session:
        other = number_of(create_class(session, site.secret, "Of somebody else"))
        enroll(session, other, crowd.persons["Ada"])
        with pytest.raises(InputError, match=f"wallclock person unmerge {number}"):
            undo_or_ask(session, crowd.class_id, number, [crowd.class_id])
        assert undo_or_ask(session, crowd.class_id, number, [crowd.class_id, other]), "both are theirs"


def test_only_students_are_merged_and_nobody_with_themselves(site: Site, crowd: Crowd) -> None:
    ada, tom = crowd.persons["Ada"], crowd.persons["Tom Assistant"]
    with open_session(site.engine) as session:
        own = [crowd.class_id]
        with pytest.raises(InputError, match="the same member"):
            merge_members(session, crowd.class_id, ada, ada, own=own, by="")
        with pytest.raises(InputError, match="only students"):
            merge_members(session, crowd.class_id, ada, tom, own=own, by="")
        with pytest.raises(NotFoundError, match="not in the class"):
            merge_members(session, crowd.class_id, ada, 10**9, own=own, by="")


def test_three_are_one_and_are_taken_apart_in_the_other_order(site: Site) -> None:
    crowd = crowd_of(site, "Ada", "Bo", "Cy")
    for name, exercise in (("Ada", RING), ("Cy", STAGE)):
        crowd.answers(name, exercise, site.clock(), right=True)
    ada, bo, cy = (crowd.persons[name] for name in ("Ada", "Bo", "Cy"))
    with open_writing_session(site.engine) as session:
        first = merge_persons(session, bo, cy, "T")
        second = merge_persons(session, ada, bo, "T")
        session.commit()
    assert points(site, crowd)["Ada"] == 5
    with open_writing_session(site.engine) as session:
        with pytest.raises(InputError, match="undo that first"):
            undo_merge(session, first)
        undo_merge(session, second)
        undo_merge(session, first)
        session.commit()
    assert (points(site, crowd)["Ada"], points(site, crowd)["Cy"]) == (1, 4)


def test_whoever_is_deleted_takes_along_who_became_part_of_them(site: Site, crowd: Crowd) -> None:
    prepare(site, crowd)
    agree(site, crowd, "Ada again", merged(site, crowd))
    with open_session(site.engine) as session:
        row = session.get(PersonRow, crowd.persons["Ada"])
        assert row is not None
        delete_person(session, row)
        assert session.get(PersonRow, crowd.persons["Ada again"]) is None


def test_a_teacher_merges_and_undoes_on_the_page_of_a_member(client: TestClient, site: Site, crowd: Crowd) -> None:
    prepare(site, crowd)
    client.cookies.set(SESSION, crowd.cookies["Ada Teacher"])
    page = f"/classes/{crowd.class_id}/people/{crowd.persons['Ada']}"
    assert "Ada again (id-3)" in client.get(f"{page}/edit").text
    assert "Choose the other student" in client.post(f"{page}/merge", data={"other": "x"}).text
    sent = client.post(f"{page}/merge", data={"other": str(crowd.persons["Ada again"])})
    assert sent.headers["location"] == f"{page}/edit#merges"
    assert "Ada again becomes part of this student when they have agreed" in words(client.get(f"{page}/edit").text)
    with open_session(site.engine) as session:
        again = crowd.persons["Ada again"]
        own = open_browser(session, again, "lti:1", f"u{again}")
        session.commit()
    client.cookies.set(SESSION, own)
    assert client.get(f"/classes/{crowd.class_id}").headers["location"].startswith("/me/merges?next=")
    asked = words(client.get("/me/merges").text)
    assert "Ada Teacher, who teaches Systems, says that Ada again and Ada (id-2) are one person: you." in asked
    number = re.findall(r'name="merge" value="(\d+)"', client.get("/me/merges").text)[0]
    sent = client.post("/me/merges", data={"merge": number, "mine": "yes", "next": f"/classes/{crowd.class_id}"})
    assert client.get(sent.headers["location"]).headers["location"] == f"/classes/{crowd.class_id}"
    assert points(site, crowd)["Ada"] == 5
    assert client.get("/me").status_code == 200, "the browser that agreed stays signed in"
    client.cookies.set(SESSION, crowd.cookies["Ada Teacher"])
    shown = client.get(f"{page}/edit").text
    assert "Ada again became part of this student" in shown
    back = shown.partition('/undo"')[0].rpartition('"')[2] + "/undo"
    assert client.post(back).status_code == 303
    assert points(site, crowd)["Ada"] == 5
    client.cookies.set(SESSION, own)
    client.post("/me/merges", data={"merge": number, "mine": "yes"})
    assert points(site, crowd)["Ada again"] == 4
    assert client.get("/me").text.count("Ada again"), "and is that of the account that it was opened with"
    client.cookies.set(SESSION, crowd.cookies["Ada Teacher"])
    assert client.post(back).status_code == 404


def test_a_teacher_sees_and_deletes_what_the_class_caused_and_nothing_else(
    client: TestClient, site: Site, crowd: Crowd, caplog: pytest.LogCaptureFixture
) -> None:
    prepare(site, crowd)
    again = crowd.persons["Ada again"]
    learner = crowd.learners["Ada again"]
    elsewhere: dict[str, Any] = {"learner": learner, "correct": True, "score": 1.0, "digest": "", "drawn": "{}"}
    seed = crowd.seed("Ada again", STAGE)
    with open_writing_session(site.engine) as session:
        rows = [
            AttemptRow(exercise="memory/traffic-of-stage-3", seed=0, answer="elsewhere", **elsewhere),
            AttemptRow(exercise=RING, seed=seed + 1, answer="practice", **elsewhere),
            AttemptRow(exercise=STAGE, seed=seed, answer="before", at=now() - timedelta(days=9), **elsewhere),
        ]
        session.add_all(rows)
        session.commit()
    client.cookies.set(SESSION, crowd.cookies["Ada Teacher"])
    page = f"/classes/{crowd.class_id}/people/{again}"
    assert "Give a reason" in client.post(f"{page}/everything").text
    with caplog.at_level("INFO"):
        saved = client.post(f"{page}/everything", data={"why": "a letter of May 3"})
    assert "a letter of May 3" in caplog.text
    assert [len(saved.json()[name]) for name in ("attempts", "extensions", "overrides")] == [1, 1, 0]
    assert saved.json()["member"]["label"] == "Ada again"
    for hidden in ("identities", f"u{again}", "elsewhere", "practice", "before", "digest_of"):
        assert hidden not in saved.text, hidden
    assert "tick the box" in client.post(f"{page}/delete", data={"why": "a letter"}).text
    gone = client.post(f"{page}/delete", data={"why": "a letter", "sure": "yes"})
    assert gone.status_code == 303
    with open_session(site.engine) as session:
        row = session.get_one(PersonRow, again)
        assert (row.name, row.deleted) == ("Ada again", None)
        assert session.get(IdentityRow, ("lti:1", f"u{again}")) is not None
        member = session.get_one(MemberRow, (crowd.class_id, again))
        assert (member.label, member.outside_id, member.left is not None) == ("", "", True)
        kept = session.exec(select(AttemptRow.answer).where(AttemptRow.learner == crowd.learners["Ada again"])).all()
        assert sorted(kept) == ["before", "elsewhere", "practice"]
        assert session.get(ExtensionRow, (crowd.assignment.id, again)) is None
    assert points(site, crowd)["Ada"] == 1


def test_a_name_that_a_roster_gave_goes_with_the_last_way_to_its_person(site: Site, crowd: Crowd) -> None:
    with open_session(site.engine) as session:
        for person in (crowd.persons["Ada"], crowd.persons["Ada again"]):
            close_every_browser(session, person)
        session.add(IdentityRow(issuer="https://a", subject="ada", person=crowd.persons["Ada"]))
        for name in ("Ada", "Ada again"):
            row = session.get_one(MemberRow, (crowd.class_id, crowd.persons[name]))
            forget_member(session, site.secret, row)
        session.commit()
        names = [session.get_one(PersonRow, crowd.persons[name]).name for name in ("Ada", "Ada again")]
    assert names == ["Ada", ""]


def test_an_operator_merges_exports_and_deletes(
    site: Site, crowd: Crowd, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare(site, crowd)
    monkeypatch.setenv("WALLCLOCK_DATABASE", site.settings.database)
    ada, again = (str(crowd.persons[name]) for name in ("Ada", "Ada again"))
    assert main(["person", "merge", ada, again]) == 0
    number = capsys.readouterr().out.strip()
    assert main(["person", "export", ada]) == 0
    assert len(json.loads(capsys.readouterr().out)["attempts"]) == 2
    assert main(["person", "unmerge", number]) == 0
    assert main(["person", "unmerge", number]) == 1
    assert main(["person", "delete", again]) == 1
    assert "add --yes" in capsys.readouterr().err
    assert main(["person", "delete", again, "--yes"]) == 0
    assert "without a name" in capsys.readouterr().err
    assert main(["person", "export", "987654"]) == 1
    assert "person 987654 does not exist" in capsys.readouterr().err


def test_a_person_without_a_class_is_merged_too(site: Site) -> None:
    with open_writing_session(site.engine) as session:
        one, other = (number_of(new_person(session, name)) for name in ("One", "Other"))
        number = merge_persons(session, one, other, "")
        session.commit()
        undo_merge(session, number)
        session.commit()
        assert Role.STUDENT.word == "student"


def test_results_are_answers_to_what_the_class_assigned_since_the_student_joined(site: Site, crowd: Crowd) -> None:
    prepare(site, crowd)
    learner = crowd.learners["Ada"]
    with open_writing_session(site.engine) as session:
        for exercise, seed, at in (
            (RING, crowd.seed("Ada", RING), now() - timedelta(days=9)),
            (RING, crowd.seed("Ada", RING) + 1, now()),
            ("memory/traffic-of-stage-3", 0, now()),
        ):
            row = AttemptRow(
                learner=learner, exercise=exercise, seed=seed, answer="elsewhere", correct=True, score=1.0, at=at,
                digest="", drawn="{}",
            )  # fmt: skip
            session.add(row)
        session.commit()
        found = list(results_of_class(session, site.secret, crowd.class_id))
        assert [(one["exercise"], one["learner"]) for one in found] == [(RING, "id-2"), (STAGE, "id-3")]
        limited = results_of_class(session, site.secret, crowd.class_id, int(str(found[0]["number"])), 5)
        assert [one["exercise"] for one in limited] == [STAGE]


def two_students(session: Session, *, elsewhere: str = "") -> tuple[int, int, int]:
    """A class and two students of it; the name *elsewhere* makes the second one a student of another."""
    class_id = number_of(create_class(session, "secret", "Systems"))
    kept, gone = (number_of(new_person(session, name)) for name in ("Ada", "Ada again"))
    for person in (kept, gone):
        enroll(session, class_id, person)
    if elsewhere:
        enroll(session, number_of(create_class(session, "secret", elsewhere)), gone)
    return class_id, kept, gone


def test_who_stays_has_what_is_better_of_both_and_who_goes_has_no_way_in(session: Session) -> None:
    class_id, kept, gone = two_students(session)
    stays, goes = (session.get_one(MemberRow, (class_id, person)) for person in (kept, gone))
    stays.joined, goes.joined = now(), now() - timedelta(days=9)
    stays.time_factor, goes.time_factor, goes.outside_id, goes.group_name = 1.25, 1.5, "4711", "Mon"
    codes = [renew_seat_code(session, row) for row in (stays, goes)]
    first = goes.joined
    number = merge_persons(session, kept, gone, "T", class_id=class_id)
    found = stays.joined, stays.time_factor, stays.outside_id, stays.group_name
    assert found == (first, 1.5, "4711", "Mon")
    assert (goes.outside_id, goes.left is not None) == ("", True)
    assert [member_of_seat_code(session, code) for code in codes] == [None, None]
    undo_merge(session, number)
    assert (stays.joined > first, stays.time_factor, stays.outside_id) == (True, 1.25, "")
    assert (goes.joined, goes.time_factor, goes.outside_id, goes.left) == (first, 1.5, "4711", None)


def test_one_who_is_merged_has_entered_where_either_has_and_scores_of_who_goes_are_not_sent(session: Session) -> None:
    class_id, kept, gone = two_students(session)
    fresh = number_of(new_person(session, "Ada at home"))
    platform = PlatformRow(issuer="https://merges.example", client_id="c", auth_url="a", token_url="t", jwks_url="j")
    session.add(platform)
    week = create_assignment(session, class_id, "Week", Policy(), [AssignmentEntry(RING, 1.0)])
    session.flush()
    link = LinkRow(platform=platform.id or 0, resource_link="r", assignment=week)
    session.add(link)
    session.flush()
    for person in (kept, gone):
        session.add(OutboxRow(link=link.id or 0, person=person, subject=str(person), points=0.5))
    session.flush()
    merge_persons(session, kept, gone, "T")
    assert session.exec(select(OutboxRow.person).where(OutboxRow.link == link.id)).all() == [kept]
    merge_persons(session, fresh, kept, "T")
    assert session.get_one(PersonRow, fresh).entered
    assert merged_into(session, fresh) == {kept, gone}


def test_dates_that_who_stays_has_are_kept_and_the_others_given(session: Session) -> None:
    class_id, kept, gone = two_students(session)
    entries = [AssignmentEntry(RING, 1.0)]
    weeks = [create_assignment(session, class_id, f"Week {n}", Policy(due=now()), entries) for n in range(2)]
    for week, person, days in ((weeks[0], kept, 1), (weeks[0], gone, 2), (weeks[1], gone, 3)):
        extend(session, week, [person], now() + timedelta(days=days), why=str(days))
    session.flush()
    merge_persons(session, kept, gone, "T")
    assert [session.get_one(ExtensionRow, (week, kept)).why for week in weeks] == ["1", "3"]
    assert session.get_one(ExtensionRow, (weeks[0], gone)).why == "2"


def test_only_those_whose_number_is_named_are_asked_while_both_are_students(session: Session) -> None:
    class_id, kept, gone = two_students(session, elsewhere="Of somebody else")
    number = merge_members(session, class_id, kept, gone, own=[class_id], by="T")
    assert merge_members(session, class_id, kept, gone, own=[class_id], by="T") == number, "asked once"
    row = session.get_one(MergeRow, number)
    assert row.waits == str(gone)
    assert [len(waiting_merges(session, person)) for person in (kept, gone)] == [0, 1]
    row.waits = f"{kept}{gone}"
    assert waiting_merges(session, gone) == [], "that is another number"
    row.waits = str(gone)
    session.get_one(MemberRow, (class_id, kept)).role = "assistant"
    assert waiting_merges(session, gone) == []
    for person in ((kept, gone), (gone, kept)):
        with pytest.raises(InputError, match="only students"):
            merge_members(session, class_id, *person, own=[class_id], by="T")


def test_one_who_does_not_agree_to_be_two_again_stays_one(session: Session) -> None:
    class_id, kept, gone = two_students(session)
    number = merge_members(session, class_id, kept, gone, own=[class_id], by="T")
    session.add(IdentityRow(issuer="https://a", subject=f"ada {kept}", person=kept))
    session.flush()
    assert not undo_or_ask(session, class_id, number, [class_id])
    answer_merge(session, number, SignedIn(kept, "", "Ada"), agrees=False)
    row = session.get_one(MergeRow, number)
    assert (row.undone, row.waits, bool(row.moved)) == (None, "", True)
    assert [one.id for one in merges_in(session, class_id)] == [number]


def test_a_later_question_or_one_that_was_undone_does_not_hold_up_an_undo(session: Session) -> None:
    class_id, kept, gone = two_students(session)
    other = number_of(new_person(session, "Bo"))
    enroll(session, class_id, other)
    number = merge_persons(session, kept, gone, "T", class_id=class_id)
    session.add(MergeRow(kept=kept, gone=other, moved="", class_id=class_id, waits=str(other)))
    undo_merge(session, merge_persons(session, kept, other, "T", class_id=class_id))
    assert number in {row.id for row in merges_in(session, class_id)}
    undo_merge(session, number)
    assert number not in {row.id for row in merges_in(session, class_id)}


def test_the_browser_of_who_undoes_is_that_of_whose_account_it_is(session: Session) -> None:
    class_id, kept, gone = two_students(session)
    session.add(IdentityRow(issuer="https://a", subject=f"again {gone}", person=gone))
    session.flush()
    number = merge_persons(session, kept, gone, "T", class_id=class_id)
    for issuer, subject, person in (("https://a", f"again {gone}", gone), ("", "", kept)):
        browser = code_digest(open_browser(session, kept, issuer, subject))
        session.flush()
        undo_merge(session, number, way=WayIn(browser=browser))
        assert session.get_one(SessionRow, browser).person == person
        number = merge_persons(session, kept, gone, "T", class_id=class_id)
