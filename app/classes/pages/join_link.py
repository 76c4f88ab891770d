"""The link by which students join a class."""

from dataclasses import dataclass
from urllib.parse import urlsplit

import segno
from fastapi import Request
from markupsafe import Markup

from app.classes.pages.guard import Membership
from app.classes.people.classes import join_code_of
from app.site import Site


@dataclass(frozen=True, slots=True)
class JoinLink:
    """The address, and as it is read from a slide; *joining*: open, roster or closed."""

    href: str
    shown: str
    joining: str


def join_link(request: Request, site: Site, member: Membership) -> JoinLink:
    """The link of a class, for its teachers and assistants."""
    href = f"{root_of(request, site)}/join/{join_code_of(site.secret, member.row)}"
    parts = urlsplit(href)
    return JoinLink(href, parts.netloc + parts.path, member.row.joining)


def root_of(request: Request, site: Site) -> str:
    """The address of the site: as configured, else as the browser of a teacher reached it."""
    reached = str(request.base_url).rstrip("/") + site.settings.prefix
    return site.settings.url or reached


def qr_code(address: str) -> Markup:
    """The QR code of *address* as an SVG, black on white; empty if none is large enough for it."""
    try:
        code = segno.make_qr(address, error="m")
    except segno.DataOverflowError:  # more than 2,331 bytes
        return Markup()
    return Markup(code.svg_inline(border=4, omitsize=True, light="#fff"))
