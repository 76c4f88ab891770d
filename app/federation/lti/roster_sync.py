"""The roster of a course beside that of its class: the difference first, then the change."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlmodel import Session, col, select

from app.db.people import IdentityRow
from app.federation.lti.platforms import Platform
from app.federation.lti.roster import Participant
from app.people.classes import Member, Role, class_with, enroll, members_of, number_of
from app.people.members import change_role, remove_members
from app.people.persons import new_person


@dataclass(frozen=True, slots=True)
class RoleChange:
    """A person of the course, and the role that they will have; none: they leave.

    The *name* is empty if neither the class nor the platform knows it.
    """

    subject: str
    name: str
    before: Role | None
    after: Role | None


@dataclass(frozen=True, slots=True)
class CourseDifference:
    """What differs between a course and its class; *same* counts those who do not."""

    changes: tuple[RoleChange, ...]
    same: int

    @property
    def digest(self) -> str:
        """A name for this difference: what was shown is what is applied."""
        return hashlib.sha256(repr(self.changes).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class _Step:
    participant: Participant | None
    member: Member | None
    change: RoleChange


def compare_course(
    session: Session, platform: Platform, class_id: int, people: Sequence[Participant]
) -> CourseDifference:
    """What would change if the class had the people of the course.

    Members who did not come from the platform stay as they are.
    """
    steps = _steps(session, platform, class_id, people)
    differing = tuple(step.change for step in steps if step.change.before != step.change.after)
    return CourseDifference(differing, len(steps) - len(differing))


def apply_difference(
    session: Session, platform: Platform, class_id: int, people: Sequence[Participant]
) -> None:
    """Give the class the people of the course; not committed.

    Raises:
        InputError: the class would have no teacher.
    """
    steps = _steps(session, platform, class_id, people)
    for step in steps:
        if step.participant is not None and step.change.after is not None:
            _enter(session, platform, class_id, step, step.participant)
    gone = [s.member.person for s in steps if s.member is not None and s.change.after is None]
    remove_members(session, class_id, gone)


def _enter(
    session: Session, platform: Platform, class_id: int, step: _Step, one: Participant
) -> None:
    """Enroll a person, or change their role."""
    if step.member is not None:
        if step.member.role is not one.role:
            change_role(session, class_id, step.member.person, one.role)
        return
    named = "" if class_with(session, class_id).pseudonyms else one.name
    identity = session.get(IdentityRow, (platform.identities, one.subject))
    person = identity.person if identity else number_of(new_person(session, named))
    if identity is None:
        session.add(IdentityRow(issuer=platform.identities, subject=one.subject, person=person))
    enroll(session, class_id, person, one.role, named, one.outside_id)


def _steps(
    session: Session, platform: Platform, class_id: int, people: Sequence[Participant]
) -> Sequence[_Step]:
    """Everyone who is in the course, or was, in the order of the course."""
    members = {member.person: member for member in members_of(session, class_id)}
    known = _known(session, platform)
    steps, seen = [], set[int]()
    for one in people:
        member = members.get(known.get(one.subject, 0))
        if member is not None:
            seen.add(member.person)
        after = one.role if one.active else None
        if after is None and member is None:
            continue
        name, before = (member.name, member.role) if member else (one.name, None)
        steps.append(_Step(one, member, RoleChange(one.subject, name, before, after)))
    for subject, person in known.items():
        if person in members and person not in seen:
            member = members[person]
            steps.append(_Step(None, member, RoleChange(subject, member.name, member.role, None)))
    return steps


def _known(session: Session, platform: Platform) -> Mapping[str, int]:
    """The persons of a platform, by how it calls them."""
    rows = (
        select(IdentityRow)
        .where(IdentityRow.issuer == platform.identities)
        .order_by(col(IdentityRow.subject))
    )
    return {row.subject: row.person for row in session.exec(rows)}
