"""What every answer says about how far it may be trusted."""

from secrets import token_urlsafe

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# 'unsafe-inline' of style attributes: MathML spaces its rows with them; they cannot run anything.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; "
    "style-src-attr 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-src {frames}; frame-ancestors {frames}; base-uri 'none'"
)
_ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class SecurityHeaders:
    """Adds the headers; a page finds its nonce in the request's state.

    Pages may be shown in frames of our own pages if *framed*, else in none.
    """

    def __init__(self, app: ASGIApp, *, framed: bool = False) -> None:
        self._app = app
        self._frames = "'self'" if framed else "'none'"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        nonce = token_urlsafe(12)
        policy = _POLICY.format(nonce=nonce, frames=self._frames)
        scope.setdefault("state", {})["nonce"] = nonce

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _ALWAYS.items():
                    headers[name] = value
                headers["Content-Security-Policy"] = policy
            await send(message)

        await self._app(scope, receive, with_headers)
