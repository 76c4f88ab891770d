"""A class on the site of the tests, and browsers of its people."""

import re
from dataclasses import dataclass
from html import unescape

from fastapi import Request
from fastapi.testclient import TestClient
from sqlmodel import Session

from app.classes.pages.class_router import AssignmentVisit, ClassVisit, Membership
from app.classes.people.assignments import Assignment
from app.classes.people.classes import Role, create_class, enroll, number_of, role_in
from app.classes.people.persons import WayIn, code_digest, new_person, open_browser
from app.server.db.people import ClassRow, PersonRow
from app.server.db.session import open_writing_session
from app.site import Site
from app.site.members import SignedIn
from app.site.web.frame.visitor import SESSION


@dataclass(frozen=True)
class Browser:
    """The browser of a person; each request is sent as theirs."""

    client: TestClient
    person: int
    cookie: str

    def get(self, path: str) -> str:
        """The words of the page at *path*."""
        self._sign_in()
        answer = self.client.get(path)
        assert answer.status_code == 200, (answer.status_code, words(answer.text))
        return answer.text

    def status(self, path: str) -> int:
        self._sign_in()
        return self.client.get(path).status_code

    def post(self, path: str, data: object, status: int = 303, files: object = None) -> str:
        """The page, or where the answer leads to."""
        self._sign_in()
        answer = self.client.post(path, data=data, files=files)  # type: ignore[arg-type]
        assert answer.status_code == status, (answer.status_code, words(answer.text))
        return answer.headers.get("location", "") or answer.text

    def _sign_in(self) -> None:
        self.client.cookies.clear()
        if self.cookie:
            self.client.cookies.set(SESSION, self.cookie)


def words(page: str) -> str:
    main = page.partition('<main id="main"')[2].partition("</main>")[0] or page
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", main)).split())


def browser(client: TestClient, site: Site, name: str) -> Browser:
    """A new person's browser."""
    with open_writing_session(site.engine) as session:
        number = number_of(new_person(session, name))
        cookie = open_browser(session, number)
        session.commit()
    return Browser(client, number, cookie)


def joined(site: Site, class_id: int, one: Browser, role: Role = Role.STUDENT) -> Browser:
    with open_writing_session(site.engine) as session:
        enroll(session, class_id, one.person, role, way=WayIn(browser=code_digest(one.cookie)))
        session.commit()
    return one


def a_class(client: TestClient, site: Site, zone: str = "Europe/Berlin") -> tuple[int, Browser]:
    """A new class, and the browser of its teacher."""
    grace = browser(client, site, "Grace Hopper")
    with open_writing_session(site.engine) as session:
        class_id = number_of(create_class(session, site.secret, "Ring all-reduce 101", zone))
        enroll(session, class_id, grace.person, Role.TEACHER)
        session.commit()
    return class_id, grace


def visit(site: Site, session: Session, class_id: int, person: int) -> ClassVisit:
    """A request of a member to a page of a class, as the function of the page gets it."""
    known, row = session.get_one(PersonRow, person), session.get_one(ClassRow, class_id)
    member = Membership(
        row, role_in(session, class_id, person) or Role.STUDENT, SignedIn(person, known.learner, known.name)
    )
    scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", b"testserver")], "query_string": b""}
    return ClassVisit(request=Request(scope), site=site, session=session, member=member)


def assignment_visit(site: Site, session: Session, assignment: Assignment, person: int) -> AssignmentVisit:
    """A request of a member to a page of an assignment."""
    one = visit(site, session, assignment.class_id, person)
    return AssignmentVisit(request=one.request, site=site, session=session, member=one.member, assignment=assignment)
