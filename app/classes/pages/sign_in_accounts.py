"""The ways to sign in beside a seat code, and what the pages of them show."""

from dataclasses import dataclass
from urllib.parse import urlencode

from fastapi import Request
from sqlmodel import Session

from app.classes.federation.identities import issuers_of
from app.classes.federation.providers import obstacles
from app.classes.federation.proxy import ISSUER
from app.classes.members import site_members
from app.core.translation import translate
from app.site import Site
from app.site.web.frame.renderer import Hyperlink


@dataclass(frozen=True, slots=True)
class Ways:
    """The *links* with which to sign in, and sentences about what is *missing* for others."""

    links: tuple[Hyperlink, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SignInAccount:
    """An account with which a person can sign in; if not *connected*, *href* connects it."""

    name: str
    href: str
    connected: bool


@dataclass(frozen=True, slots=True)
class NamePage:
    """The form for a person's name."""

    name: str
    next: str
    problem: str


@dataclass(frozen=True, slots=True)
class ConnectPage:
    """Asks whether a new identity, *called* so in a sentence, is that of the person *name*."""

    called: str
    name: str


@dataclass(frozen=True, slots=True)
class RefusedPage:
    """Why a sign-in was refused, and the page to sign in again."""

    says: str
    again: str


def accounts_of(request: Request, site: Site, session: Session, person: int) -> tuple[SignInAccount, ...]:
    """The accounts that a person has connected, and those that they could connect here."""
    issuers = issuers_of(session, person)
    found = [
        SignInAccount(provider.name, f"/sign-in/{provider.slug}?next=/me", provider.issuer in issuers)
        for provider in site_members(site).federation.usable()
    ]
    subject = site_members(site).proxy.subject(request.scope)
    if subject:
        found.insert(0, SignInAccount(subject, "/sign-in/proxy?next=/me", ISSUER in issuers))
    return tuple(found)


def ways_to_sign_in(request: Request, site: Site, to: str = "") -> Ways:
    """The ways that are configured; each leads back to *to*, a path of this site."""
    query = f"?{urlencode({'next': to})}" if to else ""
    links = [
        Hyperlink(f"/sign-in/{provider.slug}{query}", translate("Sign in with {name}", name=provider.name))
        for provider in site_members(site).federation.usable()
    ]
    if subject := site_members(site).proxy.subject(request.scope):
        links.insert(0, Hyperlink(f"/sign-in/proxy{query}", translate("Continue as {subject}", subject=subject)))
    return Ways(tuple(links), tuple(obstacles(site.settings)))
