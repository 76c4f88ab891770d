"""Points on their way to a platform, the services that we call for them, and the keys that sign."""

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import sha256
from http import HTTPStatus
from urllib.parse import urlencode, urlsplit

from joserfc import jwk, jwt
from sqlalchemy import Engine, delete
from sqlmodel import Session, col, select

from app.classes.federation.http_client import MOST_BYTES, HttpAnswer, Outgoing, host_in, text_in
from app.classes.federation.lti.launch_message import (
    LINE_ITEM_SCOPE,
    LINE_ITEM_TYPE,
    LINE_ITEMS_TYPE,
    SCOPES,
    SCORE_SCOPE,
    SCORE_TYPE,
    TAG,
)
from app.classes.federation.lti.platforms import Platform
from app.classes.people.assignments import Assignment
from app.core.errors import AppError, RefusedError, UnavailableError
from app.server.db.people import ToolKeyRow
from app.server.db.session import open_writing_session
from app.server.db.tables import now

SIGNS_FOR = timedelta(days=90)
SHOWN_FOR = timedelta(days=7)  # after another key signs
_BITS = 2048
_MINUTES_VALID = 5
_IMPORTED = 8  # keys in use: the one that signs, the next, and those that are still shown
_ALGORITHM = "RS256"  # the one that LTI requires


def signing_key(session: Session, at: datetime | None = None) -> jwk.RSAKey:
    """The key that signs at this moment; it is made the first time. Commits."""
    moment = at or now()
    return _imported([row for row in _current(session, moment) if row.signs_from <= moment][-1].private)


def key_set(session: Session, at: datetime | None = None) -> Mapping[str, object]:
    """The public keys that platforms should know, as a JSON Web Key Set. Commits."""
    rows = _current(session, at or now())
    return {"keys": [_imported(row.private).as_dict(private=False) for row in rows]}


def rotate(session: Session) -> None:
    """Let the next key sign from now on, and forget those before it. Commits."""
    moment = now()
    waiting = [row for row in _current(session, moment) if row.signs_from > moment][-1]
    waiting.signs_from = moment
    session.add(waiting)
    others = delete(ToolKeyRow).where(col(ToolKeyRow.id) != waiting.id)
    session.connection().execute(others)
    session.commit()
    _current(session, moment)


def sign_claims(key: jwk.RSAKey, claims: Mapping[str, object]) -> str:
    """A token with *claims* that is valid for some minutes."""
    moment = int(time.time())
    header = {"alg": _ALGORITHM, "kid": key.kid, "typ": "JWT"}
    times = {"iat": moment, "exp": moment + 60 * _MINUTES_VALID}
    return jwt.encode(header, {**claims, **times}, key)


def _current(session: Session, at: datetime) -> Sequence[ToolKeyRow]:
    """Our keys, in the order in which they sign; the last one does not sign yet."""
    rows = list(session.exec(select(ToolKeyRow).order_by(col(ToolKeyRow.signs_from))))
    if not any(row.signs_from <= at for row in rows):
        rows.insert(0, _new(session, at))
    if not any(row.signs_from > at for row in rows):
        rows.append(_new(session, at + SIGNS_FOR))
    *before, _ = [row for row in rows if row.signs_from <= at]
    for row in before:
        row.retired = row.retired or at
        session.add(row)
        if row.retired < at - SHOWN_FOR:
            session.delete(row)
            rows.remove(row)
    session.commit()
    return rows


def _new(session: Session, signs_from: datetime) -> ToolKeyRow:
    kid = secrets.token_hex(8)
    key = jwk.RSAKey.generate_key(_BITS, parameters={"kid": kid, "use": "sig", "alg": _ALGORITHM})
    row = ToolKeyRow(kid=kid, private=json.dumps(key.as_dict(private=True)), signs_from=signs_from)
    session.add(row)
    session.flush()
    return row


@lru_cache(_IMPORTED)
def _imported(private: str) -> jwk.RSAKey:
    """The key that is written in *private*; its numbers are checked, which takes 30 ms."""
    return jwk.RSAKey.import_key(json.loads(private))


_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_SPARE = 60.0  # seconds before its end in which a token is not used anymore
_LONGEST = 3600.0  # seconds for which we use a token, whatever the platform says
_NOT_ANYMORE = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)  # Open edX says 403 where it is 401
_LATER = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS)
_Which = tuple[int, str]  # a platform, a scope


class RetryLaterError(UnavailableError):
    """A platform fails now, and asks to come again in *seconds*; none: it does not say when."""

    def __init__(self, says: str, cause: str, seconds: float | None = None) -> None:
        super().__init__(says, cause)
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    until: float


class Services:
    """Calls services of platforms; tokens are used again until they end."""

    def __init__(self, outgoing: Outgoing, engine: Engine, clock: Callable[[], float] = time.monotonic) -> None:
        self._outgoing = outgoing
        self._engine = engine
        self._clock = clock
        self._tokens: dict[_Which, _Token] = {}
        self._locks: dict[_Which, asyncio.Lock] = {}

    async def call(
        self,
        platform: Platform,
        scope: str,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        most: int = MOST_BYTES,
    ) -> HttpAnswer:
        """The answer of a service, of *most* bytes at the most.

        A token that the platform does not know anymore is replaced.

        Raises:
            RefusedError: the platform gives us no token, or its address must not be asked.
            UnavailableError: it cannot be reached, or asks us to come again later.
        """
        token = await self.token(platform, scope)
        answer = await self._asked(token, method, url, headers, body, most)
        if answer.status in _NOT_ANYMORE:
            self.forget(platform, scope)
            token = await self.token(platform, scope)
            answer = await self._asked(token, method, url, headers, body, most)
        return answer

    async def token(self, platform: Platform, scope: str) -> str:
        """A token of *platform* for *scope*.

        Raises:
            RefusedError: the platform does not give us one.
            UnavailableError: it cannot be reached, or asks us to come again later.
        """
        which = (platform.id, scope)
        async with self._locks.setdefault(which, asyncio.Lock()):
            known = self._tokens.get(which)
            if known is None or known.until < self._clock():
                known = self._tokens[which] = await self._given(platform, scope)
            return known.text

    def forget(self, platform: Platform, scope: str) -> None:
        """Ask for another token the next time."""
        self._tokens.pop((platform.id, scope), None)

    async def _asked(
        self, token: str, method: str, url: str, headers: Mapping[str, str], body: bytes, most: int
    ) -> HttpAnswer:
        bearing = {**headers, "Authorization": f"Bearer {token}"}
        return check_moment(await self._outgoing.send(method, url, headers=bearing, body=body, most=most))

    async def _given(self, platform: Platform, scope: str) -> _Token:
        assertion = await asyncio.to_thread(self._assertion, platform)
        form = {
            "grant_type": "client_credentials",
            "client_assertion_type": _ASSERTION,
            "client_assertion": assertion,
            "scope": scope,
        }
        answer = check_moment(await self._outgoing.post_form(platform.token_url, form))
        if answer.status != HTTPStatus.OK:
            raise RefusedError(
                f"{platform.name} gives no token for {scope.rpartition('/')[2]}: it answered "
                f"{answer.status} ({answer.said()})"
            )
        given = answer.fields()
        ends = given.get("expires_in")
        # Compared before it is made a float: an integer may be too large for one.
        seconds = max(0.0, min(ends, _LONGEST)) if isinstance(ends, int | float) else _LONGEST
        text = text_in(given, "access_token", platform.name)
        return _Token(text, self._clock() + max(0.0, seconds - _SPARE))

    def _assertion(self, platform: Platform) -> str:
        with open_writing_session(self._engine) as session:
            key = signing_key(session)
        claims = {
            "iss": platform.client_id,
            "sub": platform.client_id,
            "aud": platform.token_audience or platform.token_url,
            "jti": secrets.token_urlsafe(16),
        }
        return sign_claims(key, claims)


def check_moment(answer: HttpAnswer) -> HttpAnswer:
    """*answer*, unless it says that the platform fails now and may not later.

    Raises:
        RetryLaterError: it does.
    """
    if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR or answer.status in _LATER:
        says = f"{host_in(answer.url)} answered {answer.status}"
        raise RetryLaterError(says, answer.said(), _asked_for(answer.headers.get("retry-after", "")))
    return answer


def _asked_for(retry_after: str) -> float | None:
    """The seconds of a header Retry-After (RFC 9110); a date in it is not read.

    >>> _asked_for("5"), _asked_for("Wed, 21 Oct 2026 07:28:00 GMT")
    (5.0, None)
    """
    digits = retry_after.strip()
    plain = digits.isascii() and digits.isdecimal() and len(digits) < len("100000")
    return float(digits) if plain else None


# https://canvas.instructure.com/doc/api/score.html: else each score counts as another attempt.
_CANVAS = "https://canvas.instructure.com/lti/submission"
_DATES = ("startDateTime", "endDateTime")  # of a line item
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
    """The share of the points that a person has, 0 to 1, at a moment; None: none, and the platform clears its own.

    *answered* is when the last answer that counts was given: without it, a platform takes a score
    that is sent after the due date, such as a regrade, for work that came late.
    """

    subject: str
    share: float | None
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
    if answer.status != HTTPStatus.OK:
        raise RefusedError(f"the line items cannot be read: {answer.status} ({answer.said()})")
    found = answer.json()
    if not isinstance(found, list):
        raise UnavailableError("the platform answered without a list of line items", answer.said())
    for one in [one for one in found if isinstance(one, dict)]:
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
    body: dict[str, object] = {
        "userId": score.subject,
        "activityProgress": "Completed",
        "gradingProgress": "FullyGraded",  # Open edX publishes nothing else
        "timestamp": stamp(score.at),
    }
    if score.share is not None:  # without it, a platform clears its score (Assignment and Grade Services 2.0, 3.4.5)
        body |= {"scoreGiven": round(score.share * most, 6), "scoreMaximum": most}
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
    told = {name: value for name, value in item.items() if name not in _DATES} | dict(terms.fields())
    if told == item:
        return True
    headers = {"Content-Type": LINE_ITEM_TYPE, **accept}
    answer = await services.call(platform, LINE_ITEM_SCOPE, "PUT", lineitem, headers, json.dumps(told).encode())
    if answer.status not in _TAKEN:
        raise RefusedError(f"the line item stays as it is: {answer.status} ({answer.said()})")
    return True


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


@dataclass(frozen=True, slots=True)
class PlatformCheck:
    """One thing that was tried with a platform, and what came out."""

    what: str
    right: bool
    says: str


async def trials(outgoing: Outgoing, services: Services, platform: Platform) -> AsyncIterator[PlatformCheck]:
    """Try what a launch and a score need, one after the other."""
    try:
        yield PlatformCheck("keys", right=True, says=await _keys(outgoing, platform))
    except AppError as error:
        yield PlatformCheck("keys", right=False, says=_platform_error(error))
    for scope in SCOPES:
        name = f"token for {scope.rpartition('/')[2]}"
        try:
            await services.token(platform, scope)
            yield PlatformCheck(name, right=True, says=f"given by {platform.token_url}")
        except AppError as error:
            yield PlatformCheck(name, right=False, says=_platform_error(error))


async def _keys(outgoing: Outgoing, platform: Platform) -> str:
    answer = await outgoing.get(platform.jwks_url)
    keys = answer.fields().get("keys") if answer.status == HTTPStatus.OK else None
    if not isinstance(keys, list) or not keys:
        raise UnavailableError(f"{platform.jwks_url} answered {answer.status} without keys", answer.said())
    return f"{len(keys)} read from {platform.jwks_url}"


def _platform_error(error: AppError) -> str:
    cause = f" ({error.cause})" if isinstance(error, UnavailableError) and error.cause else ""
    return f"{error}{cause}"
