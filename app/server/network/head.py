"""Checks of a request's head: its address, headers and cookies, and the encoding of a form."""

from collections.abc import Iterable
from typing import Literal

from starlette.exceptions import HTTPException
from starlette.types import Scope

HEADERS = 16_384  # bytes of names and values
_ADDRESS = 8_192  # bytes of the path and the query
# Python before 3.11.10 and 3.12.6 parses a cookie in quadratic time (CVE-2024-7592).
_COOKIES = 4_096
_PARTS, _ENCODED = b"multipart/form-data", b"application/x-www-form-urlencoded"
_FORMS = (_PARTS, _ENCODED)
_UTF8 = {b"utf-8", b"utf8", b"us-ascii"}
_NUL = "contains the character NUL, which is not allowed"


def check_head(scope: Scope) -> None:
    """Check the head of the request in *scope*.

    Raises:
        HTTPException: it is refused; the status and the sentence say why.
    """
    _check_address(scope["path"], scope["query_string"])
    size = cookies = 0
    for name, value in scope["headers"]:
        size += len(name) + len(value)
        if name == b"cookie":
            cookies += len(value)
        elif name == b"content-type":
            _check_form(value.lower())
    if size > HEADERS:
        raise HTTPException(431, f"the headers are too large: at most {HEADERS:,} bytes are read")
    if cookies > _COOKIES:
        raise HTTPException(431, f"the cookies are too large: at most {_COOKIES:,} bytes are read; delete some")


def announced_length(scope: Scope) -> int:
    """The Content-Length; 0 if there is none."""
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() else 0
    return 0


def form_in(scope: Scope) -> Literal["", "encoded", "parts"]:
    """How the form that is sent is written; empty if it is not a form."""
    for name, value in scope["headers"]:
        if name == b"content-type":
            kind = value.lower()
            if kind.startswith(_ENCODED):
                return "encoded"
            return "parts" if kind.startswith(_PARTS) else ""
    return ""


def without_cookies(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """*headers* without cookies, which may take long to parse."""
    return [(name, value) for name, value in headers if name != b"cookie"]


def _check_address(path: str, query: bytes) -> None:
    if len(path) + len(query) > _ADDRESS:
        raise HTTPException(414, f"the address is too long: at most {_ADDRESS:,} characters are read")
    if "\0" in path:
        raise HTTPException(404, f"there is nothing at this address: it {_NUL}")
    if b"%00" in query or b"\0" in query:
        raise HTTPException(400, f"this address {_NUL}")


def _check_form(kind: bytes) -> None:
    """Refuse a form that is not UTF-8: some of Python's codecs are not text encodings."""
    if not kind.startswith(_FORMS):
        return
    for part in kind.split(b";")[1:]:
        name, _, value = part.partition(b"=")
        if name.strip() == b"charset" and value.strip(b" \"'") not in _UTF8:
            raise HTTPException(415, "a form must be sent as UTF-8")
