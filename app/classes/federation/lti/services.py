"""Calls of a platform's services, with a token that it gives us for a scope."""

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

from sqlalchemy import Engine

from app.classes.federation.http_client import MOST_BYTES, HttpAnswer, Outgoing, host_in, text_in
from app.classes.federation.lti.keys import sign_claims, signing_key
from app.classes.federation.lti.platforms import Platform
from app.core.errors import RefusedError, UnavailableError
from app.server.db.session import open_writing_session

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
