"""Whether a form was sent from a page of this site, and why a proxy may make it look otherwise."""

from urllib.parse import urlsplit

from fastapi import Request
from starlette.exceptions import HTTPException

from app.site import site_in
from app.translation import noted, translate

_FOREIGN = noted("this form was sent from another site; open the page here and send it again")
_REPLACED = noted(
    "this form was sent from another site: its page is at {origin}, and the server was "
    "asked for {host!r}. If both are this site, the proxy in front of it must pass on "
    "what it leaves out: {missing}; or WALLCLOCK_URL must be the address of the site. "
    "Otherwise, open the page here and send the form again"
)
_HIDDEN = noted(
    "the proxy in front of this server hides where this form comes from: its page is "
    "at {origin}, and the server was asked for {host!r}. The proxy must pass on what "
    "it leaves out: {missing}; or WALLCLOCK_URL must be the address of the site. Its "
    "operator can change that"
)
# What a proxy passes on, and what nginx calls it.
_PASSED_ON = {
    "Host": "$http_host",
    "X-Forwarded-For": "$proxy_add_x_forwarded_for",
    "X-Forwarded-Proto": "$scheme",
}


class ReplacedHostError(HTTPException):
    """A form that seems to come from elsewhere; *lines* for nginx cure it, if a proxy is why."""

    def __init__(self, request: Request, origin: str) -> None:
        missing = [
            name for name in _PASSED_ON if name == "Host" or name.lower() not in request.headers
        ]
        self.lines = "\n".join(f"proxy_set_header {name} {_PASSED_ON[name]};" for name in missing)
        host = request.headers.get("host", "")
        same = request.headers.get("sec-fetch-site") == "same-origin"  # so the browser says
        says = translate(
            _HIDDEN if same else _REPLACED,
            origin=origin,
            host=host[:100],
            missing=", ".join(missing),
        )
        super().__init__(403, says)


async def from_here(request: Request) -> None:
    """Refuse forms that were sent from another site's page.

    Raises:
        HTTPException: 403, if the browser says so.
    """
    sender = request.headers.get("sec-fetch-site")
    if sender in ("cross-site", "same-site"):
        raise HTTPException(403, translate(_FOREIGN))
    origin = request.headers.get("origin")
    if origin is None:
        return
    host = _host_in(origin)
    if not host:
        raise HTTPException(403, translate(_FOREIGN))
    if host not in (request.headers.get("host"), _host_in(site_in(request).settings.url)):
        raise ReplacedHostError(request, origin[:100])


def _host_in(origin: str) -> str:
    try:
        return urlsplit(origin).netloc
    except ValueError:  # such as http://[
        return ""
