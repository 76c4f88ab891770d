"""Verdicts that an assignment hides until it is due: pages about progress leave them out."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlmodel import Session

from app.db.history import Drawing
from app.db.queries import VEIL
from app.db.session import open_session
from app.people.work import veils
from app.site import Site


def veil_of(site: Site, learner: str) -> frozenset[Drawing]:
    """The drawings whose verdicts are hidden from *learner*; for an anonymous one, no query."""
    person = site.sessions.person_of(learner)
    if person is None:
        return frozenset()
    with open_session(site.engine) as session:
        return veils(session, site.secret, [person], site.clock())[person.person]


@contextmanager
def open_history(site: Site, learner: str) -> Iterator[Session]:
    """A session in which queries leave out the answers whose verdicts are hidden from *learner*."""
    veil = veil_of(site, learner)
    with open_session(site.engine) as session:
        session.info[VEIL] = veil
        yield session
