"""Points on their way to a platform: the line item of a link, and a score in it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from urllib.parse import urlencode, urlsplit

from app.errors import RefusedError, UnavailableError
from app.federation.lti.platforms import Platform
from app.federation.lti.services import Services
from app.federation.lti.vocabulary import (
    LINE_ITEM_SCOPE,
    LINE_ITEM_TYPE,
    LINE_ITEMS_TYPE,
    SCORE_SCOPE,
    SCORE_TYPE,
    TAG,
)
from app.federation.outgoing import Answer, text_in

_TAKEN = (HTTPStatus.OK, HTTPStatus.CREATED, HTTPStatus.ACCEPTED, HTTPStatus.NO_CONTENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceLink:
    """A link of a course, the assignment that it opens, and where its scores go."""

    id: int
    resource_link: str
    assignment: int
    title: str
    points: float
    lineitem: str
    lineitems: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The share of the points that a person has, 0 to 1, at a moment."""

    subject: str
    share: float
    at: datetime


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
    answer = await services.call(
        platform, LINE_ITEM_SCOPE, "GET", f"{link.lineitems}{joined}{asked}", accept
    )
    for one in _items(answer):
        if one.get("tag") == TAG and one.get("resourceLinkId") == link.resource_link:
            return text_in(one, "id", platform.name)
    return await _made(services, platform, link)


async def send_score(
    services: Services, platform: Platform, link: ResourceLink, lineitem: str, score: Score
) -> None:
    """Send a score; the platform has it when this returns.

    Raises:
        RefusedError: the platform does not take it.
        UnavailableError: it cannot be reached.
    """
    most = link.points or 1.0
    body = {
        "userId": score.subject,
        "scoreGiven": round(score.share * most, 6),
        "scoreMaximum": most,
        "activityProgress": "Completed",
        "gradingProgress": "FullyGraded",  # Open edX publishes nothing else
        "timestamp": stamp(score.at),
    }
    answer = await services.call(
        platform,
        SCORE_SCOPE,
        "POST",
        scores_of(lineitem),
        {"Content-Type": SCORE_TYPE},
        json.dumps(body).encode(),
    )
    if answer.status not in _TAKEN:
        raise RefusedError(f"{platform.name} answered {answer.status} ({answer.said()})")


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
        "scoreMaximum": link.points or 1.0,
        "label": link.title,
        "tag": TAG,
        "resourceLinkId": link.resource_link,
        "resourceId": f"assignment-{link.assignment}",
    }
    headers = {"Content-Type": LINE_ITEM_TYPE, "Accept": LINE_ITEM_TYPE}
    answer = await services.call(
        platform, LINE_ITEM_SCOPE, "POST", link.lineitems, headers, json.dumps(body).encode()
    )
    if answer.status not in (HTTPStatus.OK, HTTPStatus.CREATED):
        raise RefusedError(
            f"{platform.name} makes no line item: it answered {answer.status} ({answer.said()})"
        )
    return text_in(answer.fields(), "id", platform.name)


def _items(answer: Answer) -> Sequence[Mapping[str, object]]:
    if answer.status != HTTPStatus.OK:
        raise RefusedError(f"the line items cannot be read: {answer.status} ({answer.said()})")
    found = answer.json()
    if not isinstance(found, list):
        raise UnavailableError("the platform answered without a list of line items", answer.said())
    return [one for one in found if isinstance(one, dict)]
