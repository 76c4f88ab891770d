"""Whether a form was sent from a page of this site, and why a proxy may make it look otherwise."""

from urllib.parse import urlsplit

from fastapi import Request
from starlette.exceptions import HTTPException

from app.core.translation import noted, translate
from app.site import site_in

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
_PASSED_ON = {"Host": "$http_host", "X-Forwarded-For": "$proxy_add_x_forwarded_for", "X-Forwarded-Proto": "$scheme"}


class ReplacedHostError(HTTPException):
    """A form that seems to come from elsewhere; *lines* for nginx cure it, if a proxy is why."""

    def __init__(self, request: Request, origin: str) -> None:
        missing = [name for name in _PASSED_ON if name == "Host" or name.lower() not in request.headers]
        self.lines = "\n".join(f"proxy_set_header {name} {_PASSED_ON[name]};" for name in missing)
        host = request.headers.get("host", "")
        same = request.headers.get("sec-fetch-site") == "same-origin"  # so the browser says
        says = translate(_HIDDEN if same else _REPLACED, origin=origin, host=host[:100], missing=", ".join(missing))
        super().__init__(403, says)


async def from_here(request: Request) -> None:
    """Refuse forms that were sent from another site's page.

    Raises:
        HTTPException: 403, if the browser says so.
    """
    if is_from_here(request):
        return
    origin = request.headers.get("origin", "")
    if is_from_elsewhere(request) or not _parts_of(origin)[1]:
        raise HTTPException(403, translate(_FOREIGN))
    raise ReplacedHostError(request, origin[:100])


def is_from_here(request: Request) -> bool:
    """Whether *request* was sent from a page of this site, as far as the browser says.

    An Origin decides, whatever else the browser says: Safari calls what our page sends in a frame
    of another site `cross-site`. Without one, Sec-Fetch-Site decides.
    """
    origin = request.headers.get("origin")
    return _is_ours(request, origin) if origin is not None else not is_from_elsewhere(request)


def is_from_elsewhere(request: Request) -> bool:
    """Whether the browser says that a page of another site has led it here."""
    return request.headers.get("sec-fetch-site") in ("cross-site", "same-site")


def _is_ours(request: Request, origin: str) -> bool:
    """Whether *origin* is that of this site.

    A page at http is not ours where the site is at https: anyone on the way can write it. One at
    https may be, where a proxy does not say that visitors use it.
    """
    scheme, host = _parts_of(origin)
    public, known = _parts_of(site_in(request).settings.url)
    if not host or host not in (known, request.headers.get("host")):
        return False
    return scheme in ("https", public if host == known else request.scope["scheme"])


def _parts_of(origin: str) -> tuple[str, str]:
    """The scheme, and the host with its port; empty if it has none."""
    try:
        parts = urlsplit(origin)
    except ValueError:  # such as http://[
        return "", ""
    return parts.scheme, parts.netloc
