"""Persons, their work and their end as rows; run on PostgreSQL too."""

import hmac
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

from sqlalchemy import Engine
from sqlmodel import select

from app.classes.people.assignments import AssignmentEntry, create_assignment
from app.classes.people.classes import create_class, join_as_new, member_of_seat_code, number_of
from app.classes.people.counted_answers import extend
from app.classes.people.erasure import all_about, delete_person
from app.classes.people.persons import code_digest, key_seat_codes, read_code
from app.classes.people.policy import Policy
from app.classes.people.work import veils, works_at
from app.server.db.claims import claim_rows, find_unclaimed
from app.server.db.learner_cookie import new_learner, signing_secret
from app.server.db.people import ClassRow, MemberRow, PersonRow
from app.server.db.personal import collect_everything, merge
from app.server.db.session import open_session, open_writing_session
from app.server.db.tables import DailyGuess, Prediction, Reveal, now
from app.server.db.writer import NewRow, store
from app.site.members import SignedIn
from tests.db.test_guesses import guesses_alone
from tests.db.test_rows import NOON, attempt

SECRET = "a secret for tests"
PERSONAL = ("attempts", "reveals", "predictions", "guesses", "runs", "measurements")


def work_of(learner: str, answer: str) -> list[NewRow]:
    return [
        attempt(learner=learner, answer=answer),
        Reveal(learner=learner, exercise="t/e", seed=0, number=1),
        Prediction(learner=learner, exercise="t/e", seed=0, answer=answer),
    ]


def store_guess(engine: Engine, learner: str, answer: str) -> None:
    guess = DailyGuess(learner=learner, day=NOON.date(), question="q", answer=answer, value=1.0, at=NOON)
    assert merge(engine, learner, guesses_alone([guess])).added == 1


def test_a_claim_moves_what_the_person_does_not_have(engine: Engine) -> None:
    anonymous, person = new_learner(), new_learner()
    other: NewRow = Reveal(learner=anonymous, exercise="t/e", seed=0, number=2)
    late = NOON + timedelta(days=400)
    rows = [*work_of(anonymous, "theirs"), other, *work_of(person, "mine"), attempt(learner=anonymous, at=late)]
    assert store(engine, rows) == [None] * len(rows)
    store_guess(engine, anonymous, "theirs")
    store_guess(engine, person, "mine")
    with open_writing_session(engine) as session:
        found = find_unclaimed(session, anonymous)
        assert found is not None
        assert (found.answers, found.guesses, found.last) == (2, 1, late)
        assert claim_rows(session, anonymous, person) == 3
        again = find_unclaimed(session, anonymous)
        assert again is not None
        assert (again.answers, again.guesses, again.last) == (0, 1, NOON)
        assert (find_unclaimed(session, ""), find_unclaimed(session, new_learner())) == (None, None)
    with open_session(engine) as session:
        own, left = collect_everything(session, person), collect_everything(session, anonymous)
        assert [len(own[name]) for name in PERSONAL] == [3, 2, 1, 1, 0, 0]
        assert [len(left[name]) for name in PERSONAL] == [0, 1, 1, 1, 0, 0]
        assert "theirs" not in str(own["predictions"]) + str(own["guesses"])


def test_a_claim_of_more_rows_than_a_statement_takes_moves_each(engine: Engine) -> None:
    rows = [attempt(learner="browser", seed=seed) for seed in range(1_001)]
    store(engine, rows)
    with open_writing_session(engine) as session:
        assert claim_rows(session, "browser", "person") == len(rows)
        assert find_unclaimed(session, "browser") is None


def test_many_join_at_once_and_every_code_is_of_one(engine: Engine) -> None:
    with open_writing_session(engine) as session:
        class_id = number_of(create_class(session, SECRET, "Systems"))
        session.commit()

    def join(number: int) -> str:
        with open_writing_session(engine) as session:
            row = session.get(ClassRow, class_id)
            assert row is not None
            return join_as_new(session, SECRET, row, f"S{number}", f"form {number}").code

    with ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(join, range(40)))
    with open_session(engine) as session:
        seats = {seat.person for code in codes if (seat := member_of_seat_code(session, code, class_id))}
        assert len(seats) == 40
        assert not member_of_seat_code(session, codes[0], class_id + 1)


def test_a_seat_code_is_worth_nothing_without_the_secret(engine: Engine) -> None:
    """A plain hash of 40 bits is undone in minutes by whoever has a copy of the database."""
    secret = signing_secret(engine)
    with open_writing_session(engine) as session:
        row = create_class(session, secret, "Systems")
        code = join_as_new(session, secret, row, "Grace", "form").code
        (stored,) = session.exec(select(MemberRow.code_digest).where(MemberRow.class_id == row.id)).all()
        plain = code_digest(read_code(code))
        assert stored not in (None, plain)
        for key in (secret, "another secret of the site"):
            mac = hmac.digest(key.encode(), f"seat:{plain}".encode(), "sha256").hex()
            assert (stored == f"k{mac}"[:64]) is (key == secret)


def test_seat_codes_of_earlier_versions_open_and_are_stored_with_the_secret(engine: Engine) -> None:
    secret = signing_secret(engine)
    with open_writing_session(engine) as session:
        row = create_class(session, secret, "Systems")
        codes = [join_as_new(session, secret, row, f"S{n}", f"old {n}").code for n in range(3)]
        for code in codes[:2]:
            seat = member_of_seat_code(session, code)
            assert seat is not None
            seat.code_digest = code_digest(read_code(code))  # as an earlier version did
            session.add(seat)
        session.commit()
        assert all(member_of_seat_code(session, code) for code in codes), "while both versions serve"
    assert [key_seat_codes(engine), key_seat_codes(engine)] == [2, 0]
    with open_session(engine) as session:
        seats = [member_of_seat_code(session, code) for code in codes]
        assert all(seat and (seat.code_digest or "").startswith("k") for seat in seats)
        assert len({seat.person for seat in seats if seat}) == 3


def test_what_an_assignment_says_and_what_stays_of_a_person(engine: Engine) -> None:
    with open_writing_session(engine) as session:
        row = create_class(session, SECRET, "Systems", "Europe/Berlin")
        policy = Policy(due=now() + timedelta(days=1), attempts=3, show_points=False)
        entries = [AssignmentEntry("t/other", 1.0), AssignmentEntry("t/e", 2.0)]
        assignment = create_assignment(session, number_of(row), "Week 1", policy, entries)
        create_assignment(session, number_of(row), "Week 2", replace(policy, attempts=0), entries[:1])
        code = join_as_new(session, SECRET, row, "Grace", "form").code
        seat = member_of_seat_code(session, code)
        assert seat is not None
        seat.label, seat.outside_id = "Grace H.", "4711"
        session.add(seat)
        found = session.get(PersonRow, seat.person)
        assert found is not None
        person = SignedIn(seat.person, found.learner, found.name)
        extend(session, assignment, [seat.person], now() + timedelta(days=5), why="was ill")
        session.commit()
    with open_session(engine) as session:
        (work,) = works_at(session, SECRET, [person], ["t/e"], now())[person.person, "t/e"]
        assert (work.phase, work.tries, work.extended) == ("open", 0, True)
        assert [entry.exercise for entry in work.assignment.entries] == ["t/other", "t/e"]
        hidden = veils(session, SECRET, [person], now())[person.person]
        assert {name for name, _ in hidden} == {"t/e", "t/other"}
        assert not veils(session, SECRET, [person], now() + timedelta(days=9))[person.person]
    store(engine, [attempt(learner=person.learner, exercise="t/e", seed=work.seed, at=now())])
    with open_session(engine) as session:
        (work,) = works_at(session, SECRET, [person], ["t/e"], now())[person.person, "t/e"]
        assert work.tries == 1
    with open_writing_session(engine) as session:
        found = session.get(PersonRow, person.person)
        assert found is not None
        assert all_about(session, found)["extensions"]
        assert delete_person(session, found)
    with open_session(engine) as session:
        rows = session.exec(select(MemberRow).where(MemberRow.person == person.person)).all()
        assert [(m.label, m.outside_id, m.code_digest) for m in rows] == [("", "", None)]
        found = session.get(PersonRow, person.person)
        assert found is not None
        assert (found.name, found.deleted is None) == ("", False)
