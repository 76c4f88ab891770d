"""The persons of a site: who is signed in, and what assignments say to them."""

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any

from fastapi import Request, Response
from sqlalchemy import Engine

from app.classes.assignment_rules import rules_of, rules_with_banners
from app.classes.federation.federation import Federation
from app.classes.federation.identities import ISSUER, Identities, ProxyHeader
from app.classes.people.persons import LIFETIME, Sessions, key_seat_codes
from app.classes.people.recognition import learner_called
from app.classes.people.work import StudentDrawing, StudentHistory, student_histories, veils
from app.course.content.catalog import Catalog
from app.server.config import Settings
from app.server.db.batched_reads import Gathered
from app.server.db.history import Drawing, ExerciseHistory, LearnerDrawing
from app.server.db.session import open_session, outage_of
from app.site import Site
from app.site.members import SignedIn
from app.site.web.exercise.page_context import FREE, AssignmentRules
from app.site.web.frame.visitor import SESSION


class ClassMembers:
    """The persons of a site with classes."""

    exist = True

    def __init__(self, settings: Settings, engine: Engine, secret: str) -> None:
        """Raises InputError if WALLCLOCK_OIDC cannot be read."""
        self.federation = Federation(settings)
        self.sessions = Sessions(engine)
        self.proxy = ProxyHeader(settings)
        self.identities = Identities(engine)
        self._engine, self._secret = engine, secret
        self._histories = Gathered(partial(student_histories, engine, secret), outage_of(engine))
        key_seat_codes(engine)

    async def sought(self, scope: Mapping[str, Any], cookie: str) -> SignedIn | None:
        """Who sent the request of *scope* with the *cookie* of a session."""
        return self._unless_other(await self.sessions.sought(cookie), scope)

    def find(self, scope: Mapping[str, Any], cookie: str) -> SignedIn | None:
        """Who sent the request of *scope* with the *cookie* of a session."""
        return self._unless_other(self.sessions.find(cookie), scope)

    def _unless_other(self, found: SignedIn | None, scope: Mapping[str, Any]) -> SignedIn | None:
        """Whom a session *found*, unless the proxy names another person."""
        if found and self.proxy and (subject := self.proxy.subject(scope)):
            named = self.identities.find(ISSUER, subject)
            return found if named in (None, found.person) else None
        return found

    def veil(self, learner: str, moment: datetime) -> frozenset[Drawing]:
        """The drawings whose verdicts are hidden from *learner*; for an anonymous one, no query."""
        person = self.sessions.person_of(learner)
        if person is None:
            return frozenset()
        with open_session(self._engine) as session:
            return veils(session, self._secret, [person], moment)[person.person]

    async def history(self, at: LearnerDrawing, person: SignedIn, moment: datetime) -> ExerciseHistory:
        """What *person* has done at a drawing, with what assignments say of it."""
        return await self._histories.of(StudentDrawing(at, person, moment))

    def rules_of(self, history: ExerciseHistory, seed: int) -> AssignmentRules:
        """What assignments refuse on the drawing with *seed*."""
        return rules_of(history.works, seed) if isinstance(history, StudentHistory) else FREE

    def rules_with_banners(
        self, course: Catalog, person: SignedIn, history: ExerciseHistory, seed: int
    ) -> AssignmentRules:
        """What assignments say to *person* about the drawing with *seed*."""
        if not isinstance(history, StudentHistory) or not history.works:
            return FREE
        return rules_with_banners(course, self._secret, person, history.works, seed)

    def learner_called(self, label: str, class_id: int | None) -> str:
        """The learner of the member of a class, or of any class, whom other systems call *label*."""
        with open_session(self._engine) as session:
            return learner_called(session, label, class_id)


def site_members(site: Site) -> ClassMembers:
    """The persons of *site*, which has classes."""
    if not isinstance(site.members, ClassMembers):
        raise TypeError("this site has no classes")
    return site.members


def sign_in(request: Request, response: Response, cookie: str) -> None:
    """Set the cookie of a session."""
    response.set_cookie(
        SESSION,
        cookie,
        max_age=round(LIFETIME.total_seconds()),
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )
