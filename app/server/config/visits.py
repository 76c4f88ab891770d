"""The settings of what the server accepts from visitors, and the public URL of the site."""

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field
from pydantic_settings import NoDecode

from app.server.config.sandbox import SandboxSettings


class VisitSettings(SandboxSettings):
    """The host names, rates and sizes that are accepted, and how long data is kept.

    An IPv6 network of 64 bits counts as one address.
    """

    processor_allowed: int = Field(
        default=40,
        ge=0,
        description="maximum seconds of processor time per minute of a person who is signed in, or of an address; "
        "0: no limit",
    )
    answers_allowed: int = Field(
        default=3600,
        ge=0,
        description="maximum answers, hints and solutions per address and minute; each thousand "
        "characters of an answer count as one more; 0: no limit",
    )
    runs_allowed: int = Field(
        default=300, ge=0, description="maximum lab runs started per address and hour; 0: no limit"
    )
    sent_runs_allowed: int = Field(
        default=300, ge=0, description="maximum lab runs uploaded per address and hour; 0: no limit"
    )
    storage_allowed: int = Field(
        default=100_000_000,
        ge=0,
        description="maximum bytes that are stored per day of a person who is signed in, or of an address; 0: no limit",
    )
    hosts: Annotated[frozenset[str], NoDecode] = Field(
        default=frozenset(),
        description="comma-separated names by which browsers may ask for this server, beside that "
        "in the public URL, its own and its addresses; *: any",
    )
    answer_limit: int = Field(default=20_000, gt=0, description="maximum characters per answer")
    body_limit: int = Field(default=1 << 20, gt=0, description="maximum bytes per request body")
    connections_allowed: int = Field(
        default=2048, ge=1, description="maximum open connections per address, except proxies"
    )
    anonymous_days: int = Field(
        default=400,
        ge=0,
        description="days without anything new after which what was stored without a person is deleted; 0: never",
    )


_EXAMPLE = "such as https://wallclock.example.org or https://example.org/wallclock"
# No escapes and no dots alone: browsers and proxies would write such a path in other ways.
_PREFIX = re.compile(r"(/(?!\.\.?(/|$))[A-Za-z0-9._~-]+)+")
_USUAL = {"https": 443, "http": 80}
_HOST = re.compile(r"[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]")


def public_url(text: str) -> str:
    """*text* without the slash at its end, if it can be the address of a site.

    >>> public_url("https://example.org/wallclock/")
    'https://example.org/wallclock'

    Raises:
        ValueError: it cannot; the message says why.
    """
    url = text.strip().rstrip("/")
    if not url:
        return ""
    if not re.match(r"https?://", url, re.IGNORECASE):
        raise ValueError(f"it must begin with https:// or http://, {_EXAMPLE}, not {text[:100]!r}")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ValueError(f"{text[:100]!r} is not a URL, {_EXAMPLE}: {error}") from error
    host = parts.netloc.removesuffix(f":{port}") if port is not None else parts.netloc
    if not _HOST.fullmatch(host):
        raise ValueError(f"it needs a host, perhaps a port, and no more, {_EXAMPLE}; not {host!r}")
    if parts.query or parts.fragment or "?" in url or "#" in url:
        raise ValueError(f"it ends before '?' and '#', {_EXAMPLE}; not {text[:100]!r}")
    netloc = host if port == _USUAL[parts.scheme] else parts.netloc  # as browsers write it
    return f"{parts.scheme}://{netloc.lower()}{path_prefix(parts.path)}"


def path_prefix(text: str) -> str:
    """*text* with a slash at its start and none at its end; empty for the root.

    >>> path_prefix("wallclock/"), path_prefix("/")
    ('/wallclock', '')

    Raises:
        ValueError: it has characters that need escapes, or an empty part.
    """
    path = text.strip().strip("/")
    if path and not _PREFIX.fullmatch(f"/{path}"):
        raise ValueError(
            "a path prefix has letters, digits, '-', '_', '.' and '~' between its slashes, such as "
            f"/wallclock, not {text[:100]!r}"
        )
    return f"/{path}" if path else ""


def prefix_of(url: str) -> str:
    """The path of *url*.

    >>> prefix_of("https://example.org/wallclock")
    '/wallclock'
    """
    return urlsplit(url).path.rstrip("/")
