"""Points on their way to a platform: the line item of a link, and a score in it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from http import HTTPStatus
from urllib.parse import urlencode, urlsplit

from app.classes.federation.http_client import HttpAnswer, text_in
from app.classes.federation.lti.platforms import Platform
from app.classes.federation.lti.services import Services
from app.classes.federation.lti.vocabulary import (
    LINE_ITEM_SCOPE,
    LINE_ITEM_TYPE,
    LINE_ITEMS_TYPE,
    SCORE_SCOPE,
    SCORE_TYPE,
    TAG,
)
from app.classes.people.assignments import Assignment
from app.core.errors import RefusedError, UnavailableError

# https://canvas.instructure.com/doc/api/score.html: else each score counts as another attempt.
_CANVAS = "https://canvas.instructure.com/lti/submission"
_TAKEN = (HTTPStatus.OK, HTTPStatus.CREATED, HTTPStatus.ACCEPTED, HTTPStatus.NO_CONTENT)


@dataclass(frozen=True, slots=True)
class ItemTerms:
    """What a line item says of an assignment: its points, when it opens, and when it is due."""

    points: float
    opens: datetime | None = None
    due: datetime | None = None

    def fields(self) -> Mapping[str, object]:
        """As a line item has them; platforms know *due* as the end."""
        dates = {"startDateTime": self.opens, "endDateTime": self.due}
        return {"scoreMaximum": self.points or 1.0, **{name: stamp(date) for name, date in dates.items() if date}}

    @property
    def digest(self) -> str:
        """The same for the same terms."""
        return sha256(repr(self.fields()).encode()).hexdigest()


def terms_of(assignment: Assignment) -> ItemTerms:
    """What the line items of an assignment say: a platform has one for all groups."""
    opens = [policy.opens for policy in assignment.policies]
    ends = [policy.due or policy.closes for policy in assignment.policies]
    first = None if None in opens else min(filter(None, opens))
    last = None if None in ends else max(filter(None, ends))
    return ItemTerms(assignment.points, first, last)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceLink:
    """A link of a course, the assignment that it opens, and where its scores go."""

    id: int
    resource_link: str
    assignment: int
    title: str
    terms: ItemTerms
    lineitem: str
    lineitems: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The share of the points that a person has, 0 to 1, at a moment.

    *answered* is when the last answer that counts was given: without it, a platform takes a score
    that is sent after the due date, such as a regrade, for work that came late.
    """

    subject: str
    share: float
    at: datetime
    answered: datetime | None = None


async def line_item(services: Services, platform: Platform, link: ResourceLink) -> str:
    """The address of the line item of a link, which is found, or made if there is none.

    Raises:
        RefusedError: the platform has none for this link, and lets us make none.
        UnavailableError: it cannot be reached.
    """
    if not link.lineitems:
        raise RefusedError(
            f"{platform.name} has sent no place for grades with this link; let the tool send "
            "grades in its settings there, then open the link once"
        )
    asked = urlencode({"resource_link_id": link.resource_link, "tag": TAG})
    joined = "&" if urlsplit(link.lineitems).query else "?"
    accept = {"Accept": LINE_ITEMS_TYPE}
    answer = await services.call(platform, LINE_ITEM_SCOPE, "GET", f"{link.lineitems}{joined}{asked}", accept)
    for one in _items(answer):
        if one.get("tag") == TAG and one.get("resourceLinkId") == link.resource_link:
            return text_in(one, "id", platform.name)
    return await _made(services, platform, link)


async def send_score(services: Services, platform: Platform, link: ResourceLink, lineitem: str, score: Score) -> None:
    """Send a score; the platform has it when this returns.

    Raises:
        RefusedError: the platform does not take it.
        UnavailableError: it cannot be reached.
    """
    most = link.terms.points or 1.0
    body = {
        "userId": score.subject,
        "scoreGiven": round(score.share * most, 6),
        "scoreMaximum": most,
        "activityProgress": "Completed",
        "gradingProgress": "FullyGraded",  # Open edX publishes nothing else
        "timestamp": stamp(score.at),
    }
    if score.answered:
        body["submission"] = {"submittedAt": stamp(score.answered)}
        body[_CANVAS] = {"new_submission": False, "submitted_at": stamp(score.answered)}
    answer = await services.call(
        platform, SCORE_SCOPE, "POST", scores_of(lineitem), {"Content-Type": SCORE_TYPE}, json.dumps(body).encode()
    )
    if answer.status not in _TAKEN:
        raise RefusedError(f"{platform.name} answered {answer.status} ({answer.said()})")


async def change_line_item(services: Services, platform: Platform, lineitem: str, terms: ItemTerms) -> bool:
    """Tell a line item the *terms* of its assignment; False if it is not one of ours.

    Everything else that it says stays: a platform replaces the whole of it.

    Raises:
        RefusedError: the platform lets us not read or change it.
        UnavailableError: it cannot be reached.
    """
    accept = {"Accept": LINE_ITEM_TYPE}
    answer = await services.call(platform, LINE_ITEM_SCOPE, "GET", lineitem, accept)
    if answer.status != HTTPStatus.OK:
        raise RefusedError(f"the line item cannot be read: {answer.status} ({answer.said()})")
    item = dict(answer.fields())
    if item.get("tag") != TAG:
        return False
    told = {**_without_dates(item), **terms.fields()}
    if told == item:
        return True
    headers = {"Content-Type": LINE_ITEM_TYPE, **accept}
    answer = await services.call(platform, LINE_ITEM_SCOPE, "PUT", lineitem, headers, json.dumps(told).encode())
    if answer.status not in _TAKEN:
        raise RefusedError(f"the line item stays as it is: {answer.status} ({answer.said()})")
    return True


def _without_dates(item: Mapping[str, object]) -> Mapping[str, object]:
    return {k: v for k, v in item.items() if k not in ("startDateTime", "endDateTime")}


def scores_of(lineitem: str) -> str:
    """Where the scores of a line item go: before its query, which Moodle has.

    >>> scores_of("https://lms.example/items/7/lineitem?type_id=1")
    'https://lms.example/items/7/lineitem/scores?type_id=1'
    """
    parts = urlsplit(lineitem)
    return parts._replace(path=f"{parts.path.rstrip('/')}/scores").geturl()


def stamp(at: datetime) -> str:
    """A moment as a score has it, with milliseconds: a second score may follow at once.

    >>> stamp(datetime(2026, 11, 22, 9, 5, 1, 7_000, tzinfo=UTC))
    '2026-11-22T09:05:01.007Z'
    """
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


async def _made(services: Services, platform: Platform, link: ResourceLink) -> str:
    body = {
        **link.terms.fields(),
        "label": link.title,
        "tag": TAG,
        "resourceLinkId": link.resource_link,
        "resourceId": f"assignment-{link.assignment}",
    }
    headers = {"Content-Type": LINE_ITEM_TYPE, "Accept": LINE_ITEM_TYPE}
    answer = await services.call(platform, LINE_ITEM_SCOPE, "POST", link.lineitems, headers, json.dumps(body).encode())
    if answer.status not in (HTTPStatus.OK, HTTPStatus.CREATED):
        raise RefusedError(f"{platform.name} makes no line item: it answered {answer.status} ({answer.said()})")
    return text_in(answer.fields(), "id", platform.name)


def _items(answer: HttpAnswer) -> Sequence[Mapping[str, object]]:
    if answer.status != HTTPStatus.OK:
        raise RefusedError(f"the line items cannot be read: {answer.status} ({answer.said()})")
    found = answer.json()
    if not isinstance(found, list):
        raise UnavailableError("the platform answered without a list of line items", answer.said())
    return [one for one in found if isinstance(one, dict)]
