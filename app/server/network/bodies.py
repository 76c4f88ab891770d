"""Limits on the body of a request, checked as it arrives."""

from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope

from app.server.network.head import announced, form_in

_NUL_OVERLAP = 2  # bytes of an encoded NUL that may be in the previous chunk of a form
# To decode a form takes a microsecond for each of these, on the event loop. An answer of 20,000
# characters, each of four bytes, has 80,000 of the first.
_MOST_CODED, _MOST_FIELDS = 100_000, 1_000
_FORM = 512 << 10  # bytes of a form in which characters are encoded


class LimitedBody:
    """The messages of a request, of whose body at most *limit* bytes are read.

    A *file* may have any content; a form is refused if it has the character NUL, or if it would
    take long to decode.
    """

    def __init__(self, scope: Scope, receive: Receive, limit: int, *, file: bool) -> None:
        """Refuse a body that is announced as too large.

        Raises:
            HTTPException: 413.
        """
        self._receive = receive
        form = form_in(scope)
        self._encoded = form == "encoded"
        self._limit = min(limit, _FORM) if self._encoded else limit
        self._nul = b"%00" if self._encoded else b"\0" if form and not file else b""
        self._received = self._coded = self._fields = 0
        self._last = b""
        if announced(scope) > self._limit:
            raise self._too_large()

    async def __call__(self) -> Message:
        """The next message.

        Raises:
            HTTPException: 413 or 422, the body is refused.
        """
        message = await self._receive()
        body = message.get("body", b"")
        self._received += len(body)
        if self._received > self._limit:
            raise self._too_large()
        if self._encoded:
            self._count(body)
        if self._nul:
            if self._nul in self._last + body:
                raise HTTPException(422, "the form contains the character NUL; remove it")
            self._last = (self._last + body)[-_NUL_OVERLAP:]
        return message

    def _count(self, body: bytes) -> None:
        self._coded += body.count(b"%")
        self._fields += body.count(b"&")
        if self._coded > _MOST_CODED or self._fields > _MOST_FIELDS:
            raise HTTPException(413, "the form is too large: it has too many fields, or too many special characters")

    def _too_large(self) -> HTTPException:
        return HTTPException(413, f"the body is too large: at most {self._limit:,} bytes are read")
