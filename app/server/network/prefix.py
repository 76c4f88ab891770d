"""A site under a path prefix, such as https://host/wallclock/.

The application lives at the root: routes, templates and handlers write addresses that begin with
one slash and know nothing of the prefix. Two places translate. `Prefix` takes the prefix off the
addresses of requests and puts it on the headers of responses; `prefix_addresses` puts it on the addresses in
HTML. What is absolute begins with `Settings.url`, which ends with the prefix.
"""

import re
from typing import AnyStr

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Attributes that hold an address; in text, quotation marks are escaped.
_ADDRESSES = re.compile(r'(\s(?:href|src|srcset|action|formaction|poster|data-[a-z-]+)=")/(?![/\\])')
_COOKIE_PATH = re.compile(rb"(;\s*path=)/", re.IGNORECASE)
_LINK = re.compile(rb"</(?!/)")


def prefix_addresses(prefix: str, html: str) -> str:
    """*html* with its addresses under *prefix*.

    >>> prefix_addresses("/wallclock", '<a href="/labs">Labs</a> <a href="//elsewhere.example">Else</a>')
    '<a href="/wallclock/labs">Labs</a> <a href="//elsewhere.example">Else</a>'
    """
    return _ADDRESSES.sub(rf"\g<1>{prefix}/", html) if prefix else html


class Prefix:
    """ASGI middleware that serves an application under a path prefix.

    A proxy may pass the prefix on or take it off itself. (If the application has addresses of its
    own that begin with the prefix, the proxy must pass it on.)
    """

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app = app
        self._prefix = prefix
        self._raw = prefix.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["path"] == self._prefix:  # cookies and relative addresses need the slash
            query = scope["query_string"].decode("latin-1")
            home = f"{self._prefix}/" + (f"?{query}" if query else "")
            await RedirectResponse(home, 308)(scope, receive, send)
        else:
            await self._app(self._inner(scope), receive, self._outer(send))

    def _inner(self, scope: Scope) -> Scope:
        # The server needs the original: it logs the address that was requested.
        headers = [(name, _first(value) if name == b"cookie" else value) for name, value in scope["headers"]]
        inner = {**scope, "root_path": "", "headers": headers}
        inner["path"] = _without(scope["path"], self._prefix, "/")
        if isinstance(raw := scope.get("raw_path"), bytes):
            inner["raw_path"] = _without(raw, self._raw, b"/")
        return inner

    def _outer(self, send: Send) -> Send:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [(name, self._header(name, value)) for name, value in message["headers"]]
                message = {**message, "headers": headers}
            await send(message)

        return sent

    def _header(self, name: bytes, value: bytes) -> bytes:
        if name == b"location" and value.startswith(b"/"):
            return self._raw + value
        if name == b"set-cookie":
            return _COOKIE_PATH.sub(rb"\g<1>" + self._raw + b"/", value, count=1)
        if name == b"link":
            return _LINK.sub(b"<" + self._raw + b"/", value)
        return value


def _without(path: AnyStr, prefix: AnyStr, slash: AnyStr) -> AnyStr:
    return path[len(prefix) :] if path.startswith(prefix + slash) else path


def _first(cookies: bytes) -> bytes:
    """*cookies*, of each name the first.

    Browsers send the one with the longest path first: ours, where a site at the root of the same
    host sets one of the same name.
    """
    found: dict[bytes, bytes] = {}
    for cookie in cookies.split(b";"):
        found.setdefault(cookie.partition(b"=")[0].strip(), cookie.strip())
    return b"; ".join(found.values())
