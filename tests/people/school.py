"""A class, its assignments and students, for the tests of pages."""

from collections.abc import Sequence
from datetime import timedelta

from fastapi.testclient import TestClient

from app.classes.people.assignments import Assignment, AssignmentEntry, assignment_with, create_assignment
from app.classes.people.classes import Role, create_class, enroll, join_code_of, number_of, renew_seat_code
from app.classes.people.merges import merge_persons
from app.classes.people.persons import new_person, open_browser
from app.classes.people.policy import Policy
from app.classes.people.work import own_seed
from app.server.db.people import ClassRow, MemberRow
from app.server.db.session import open_session, open_writing_session
from app.server.db.tables import now
from app.site import Site
from app.site.members import SignedIn
from app.site.web.frame.visitor import SESSION

RING = "collectives/ring-all-reduce-time"
DAY = timedelta(days=1)


class School:
    """A class of its own in the database of *site*."""

    def __init__(self, site: Site, name: str = "Systems", *, pseudonyms: bool = False) -> None:
        self.site = site
        with open_writing_session(site.engine) as session:
            row = create_class(session, site.secret, name, "Europe/Berlin", pseudonyms=pseudonyms)
            self.id = number_of(row)
            self.code = join_code_of(site.secret, row)
            session.commit()
        self.teacher, self.teacher_cookie, _ = self.member("Ada", Role.TEACHER)

    def member(self, name: str, role: Role = Role.STUDENT) -> tuple[SignedIn, str, str]:
        """A new member, the cookie of their session, and their seat code."""
        with open_writing_session(self.site.engine) as session:
            person = new_person(session, name)
            row = enroll(session, self.id, number_of(person), role)
            code = renew_seat_code(session, row)
            cookie = open_browser(session, number_of(person))
            session.commit()
            return SignedIn(number_of(person), person.learner, name), cookie, code

    def student(self, client: TestClient, name: str = "Grace") -> SignedIn:
        """A new student, who is signed in with *client*."""
        person, cookie, _ = self.member(name)
        client.cookies.clear()
        client.cookies.set(SESSION, cookie)
        return person

    def assign(self, policy: Policy, exercises: Sequence[str] = (RING,)) -> Assignment:
        """A new assignment of two points an exercise."""
        with open_writing_session(self.site.engine) as session:
            entries = [AssignmentEntry(exercise, 2.0) for exercise in exercises]
            number = create_assignment(session, self.id, "Week 1", policy, entries)
            session.commit()
            return assignment_with(session, number)

    def address(self, assignment: Assignment, person: SignedIn, exercise: str = RING) -> str:
        """Where the answers of *person* count."""
        seed = own_seed(self.site.secret, assignment, exercise, person.learner)
        return f"/exercises/{exercise}" + ("" if seed is None else f"?seed={seed}")

    def change(self, **fields: object) -> None:
        """Change the class."""
        with open_writing_session(self.site.engine) as session:
            row = session.get(ClassRow, self.id)
            assert row is not None
            for name, value in fields.items():
                setattr(row, name, value)
            session.add(row)
            session.commit()

    def merge(self) -> int:
        """The number of a merge of two students of the class."""
        (kept, _, _), (gone, _, _) = self.member("Grace"), self.member("Grace again")
        with open_writing_session(self.site.engine) as session:
            number = merge_persons(session, kept.person, gone.person, "Ada")
            session.commit()
        return number

    def membership(self, person: SignedIn) -> MemberRow | None:
        """The row of *person* in the class."""
        with open_session(self.site.engine) as session:
            return session.get(MemberRow, (self.id, person.person))

    def right_answer(self, seed: int) -> str:
        """The right answer to the ring exercise."""
        return str(self.site.catalog.exercise(RING).right_answer(seed))


def due(days: float) -> Policy:
    """The policy of an assignment that is due in *days*."""
    return Policy(due=now() + days * DAY)
