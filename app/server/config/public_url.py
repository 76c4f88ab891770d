"""The public URL of the site, and the path prefix in it."""

import re
from urllib.parse import urlsplit

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
