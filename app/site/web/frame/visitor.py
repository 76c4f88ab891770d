"""The visitor of a page: a learner with a signed cookie, or a new visitor; and whether a form was sent from here."""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Literal
from urllib.parse import urlsplit

from fastapi import Depends, Request, Response
from starlette.exceptions import HTTPException

from app.core.translation import noted, plural, translate
from app.server.aside import current_payer
from app.server.aside.fair_queue import Client
from app.server.aside.payer import NEW, Payer
from app.server.db.learner_cookie import new_learner, sign, unsign
from app.server.db.tables import now
from app.server.network.allowance import Allowance
from app.server.network.watch import LEARNER
from app.site import Here, Site, site_in
from app.site.members import SignedIn

COOKIE = "learner"
SESSION = "session"
THEME = "theme"
_ROW = 1_000  # bytes of a row beside its longest text, with its places in indices
PERSON = 20_000  # bytes that a new person takes: 5,000 a day may join from one address
_AGE = 400 * 24 * 3600  # seconds; browsers do not keep cookies for longer

Theme = Literal["", "light", "dark"]


@dataclass(frozen=True, slots=True)
class Visitor:
    """*learner* is empty until something is submitted; programs run on behalf of *client*.

    A *person* is one who is signed in; their answers are stored under a learner of their own, and
    *anonymous* is the learner whose work this browser did without a person.
    """

    learner: str
    client: Client
    person: SignedIn | None = None
    anonymous: str = ""


async def visitor(request: Request, site: Here) -> Visitor:
    """Who sent *request*."""
    learner, person = _cookie_learner(request, site), await _sought(request, site)
    request.scope["state"][LEARNER] = person.learner if person else learner
    client = current_payer().lane
    return Visitor(person.learner, client, person, learner) if person else Visitor(learner, client)


Visiting = Annotated[Visitor, Depends(visitor)]


async def payer_of(request: Request, site: Site, stranger: Payer) -> Payer:
    """Who pays for *request* in place of a *stranger* at its address, if anyone does.

    Raises:
        UnavailableError: the database cannot be read.
    """
    if person := await _sought(request, site):
        is_new = (now() - person.made).total_seconds() < NEW
        return replace(stranger, learner=person.learner, is_person=True, is_new=is_new)
    learner = _cookie_learner(request, site)
    earned = bool(learner) and site.earned_cookies.has(learner)
    return replace(stranger, learner=learner) if earned else stranger


def _cookie_learner(request: Request, site: Site) -> str:
    cookie = request.cookies.get(COOKIE)
    return (unsign(cookie, site.secret) or "") if cookie else ""


async def _sought(request: Request, site: Site) -> SignedIn | None:
    cookie = request.cookies.get(SESSION)
    return await site.members.sought(cookie) if cookie else None


def signed_in(request: Request, site: Site) -> SignedIn | None:
    """The person whose session *request* has, unless the proxy has signed in another one."""
    cookie = request.cookies.get(SESSION)
    return site.members.find(cookie) if cookie else None


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


FromHere = Depends(from_here)


def visitor_learner(visiting: Visitor) -> str:
    """The visitor's learner, or a new one."""
    return visiting.learner or new_learner()


# What may be too many, for `spend`.
_NOUNS = (
    noted("answers"),
    noted("calculations"),
    noted("files"),
    noted("forms"),
    noted("imports"),
    noted("lab runs"),
    noted("new classes"),
    noted("searches"),
    noted("sent runs"),
    noted("sign-ins"),
)


def spend(allowance: Allowance, what: str, cost: float = 1.0) -> None:
    """Take *cost* from the allowance of the visitor for *what*, a plural noun.

    Raises:
        HTTPException: 429, if the allowance is used up.
    """
    form = noted("too many {what} came from your network address in a short time; try again {when}")
    _take(allowance, cost, form, what=translate(what))


def spend_storage(site: Site, size: int) -> None:
    """Take what storing *size* characters takes from the day's bytes of the visitor.

    Raises:
        HTTPException: 429, if they are used up.
    """
    form = noted("too much was stored from your network address in a day; try again {when}")
    _take(site.allowances.storage, _ROW + size, form)


def _take(allowance: Allowance, cost: float, form: str, **values: str) -> None:
    if wait := math.ceil(allowance.wait(current_payer(), cost)):
        says = translate(form, when=plural("in a second", "in {number:,} seconds", wait), **values)
        raise HTTPException(429, says, {"Retry-After": str(wait)})


def remember(request: Request, response: Response, learner: str, secret: str) -> None:
    """Set the learner's cookie; a person is known by the session instead."""
    if signed_in(request, site_in(request)):
        return
    response.set_cookie(
        COOKIE, sign(learner, secret), max_age=_AGE, httponly=True, samesite="lax", secure=request.url.scheme == "https"
    )
