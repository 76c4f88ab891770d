"""The people of a course, as its platform names them (Names and Role Provisioning Services)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from app.classes.federation.lti.launch_message import name_in
from app.classes.federation.lti.platforms import Platform
from app.classes.federation.lti.roles import role_of
from app.classes.federation.lti.vocabulary import ROSTER_SCOPE, ROSTER_TYPE
from app.classes.people.classes import Role
from app.core.errors import RefusedError
from app.core.translation import translate
from app.server.db.people import SUBJECT_LIMIT
from app.server.network.response_policy import origin_of

if TYPE_CHECKING:  # it needs the packages of the extra `people`
    from app.classes.federation.lti.services import Services

MOST_PEOPLE = 10_000
_MOST_PAGES = 200
_MOST_BYTES = 8 << 20  # of a page: some platforms send everyone at once
_PER_PAGE = 100
_NEXT = re.compile(r'<([^<>]+)>\s*;[^,<>]*\brel="?next"?')


@dataclass(frozen=True, slots=True, kw_only=True)
class Participant:
    """A person of a course, as its platform names them; *active*: still in the course.

    Without a *role*, they are neither student nor teacher.
    """

    subject: str
    role: Role | None
    name: str
    outside_id: str
    active: bool


async def participants(services: "Services", platform: Platform, url: str) -> Sequence[Participant]:
    """Everyone in the course whose memberships are at *url*, page by page.

    Raises:
        RefusedError: the platform does not tell, or tells too much.
        UnavailableError: it cannot be reached.
    """
    joined = "&" if urlsplit(url).query else "?"
    place, found = f"{url}{joined}limit={_PER_PAGE}", dict[str, Participant]()
    for _ in range(_MOST_PAGES):
        answer = await services.call(platform, ROSTER_SCOPE, "GET", place, {"Accept": ROSTER_TYPE}, most=_MOST_BYTES)
        if answer.status != HTTPStatus.OK:
            raise RefusedError(
                translate(
                    "{name} answered {status} ({said})", name=platform.name, status=answer.status, said=answer.said()
                )
            )
        members = answer.fields().get("members")
        for one in members if isinstance(members, list) else ():
            if isinstance(one, dict) and (person := _participant(one)):
                found[person.subject] = person
        follow = _NEXT.search(answer.headers.get("link", ""))
        if not follow or len(found) > MOST_PEOPLE:
            break
        place = urljoin(place, follow[1])
        if origin_of(place) != origin_of(url):  # it would get our token
            raise RefusedError(
                translate(
                    "{name} says that the list of people goes on at {other}, which is another"
                    " server than {host}: correct the address of the site in its settings",
                    name=platform.name,
                    other=origin_of(place),
                    host=origin_of(url),
                )
            )
    if len(found) > MOST_PEOPLE:
        raise RefusedError(translate("the course has more than {most_people:,} people", most_people=MOST_PEOPLE))
    return list(found.values())


def _participant(given: Mapping[str, object]) -> Participant | None:
    subject = _plain(given.get("user_id"))
    if not subject:
        return None
    return Participant(
        subject=subject,
        role=role_of(given.get("roles")),
        name=name_in(given),
        outside_id=_plain(given.get("lis_person_sourcedid")),
        active=given.get("status", "Active") == "Active",
    )


def _plain(value: object) -> str:
    """*value*, if a platform may call someone so; otherwise empty."""
    text = value if isinstance(value, str) and len(value) <= SUBJECT_LIMIT else ""
    return text if text.isprintable() else ""
