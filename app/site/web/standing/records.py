"""The records of a learner, without the verdicts that an assignment hides until it is due."""

from collections.abc import Iterator
from contextlib import contextmanager

from app.server.db.history import Drawing
from app.server.db.records import LearnerRecords
from app.server.db.session import open_session
from app.server.db.stored_records import StoredRecords
from app.site import Site


def veil_of(site: Site, learner: str) -> frozenset[Drawing]:
    """The drawings whose verdicts are hidden from *learner*; for an anonymous one, no query."""
    return site.members.veil(learner, site.clock())


@contextmanager
def open_records(site: Site, learner: str) -> Iterator[LearnerRecords]:
    """The records of *learner*; what is read leaves out the answers whose verdicts are hidden."""
    veil = veil_of(site, learner)
    with open_session(site.engine) as session:
        yield StoredRecords(session, learner, veil)
