"""What a request may say before its body: what is longer, or no text, is refused."""

from collections.abc import Iterable

from starlette.exceptions import HTTPException
from starlette.types import Scope

HEADERS = 16_384  # bytes of names and values
_ADDRESS = 8_192  # bytes of the path and the query
# Python before 3.11.10 and 3.12.6 takes time with the square of a cookie (CVE-2024-7592).
_COOKIES = 4_096
_PARTS, _ENCODED = b"multipart/form-data", b"application/x-www-form-urlencoded"
_FORMS = (_PARTS, _ENCODED)
_UTF8 = {b"utf-8", b"utf8", b"us-ascii"}
_NUL = "has the character NUL, which no text here can have"


def check_head(scope: Scope) -> None:
    """Let the request of *scope* pass.

    Raises:
        HTTPException: it does not: the status and the sentence say why.
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
        raise HTTPException(431, f"the headers of a request have at most {HEADERS:,} bytes")
    if cookies > _COOKIES:
        raise HTTPException(431, f"cookies have at most {_COOKIES:,} bytes; delete some")


def announced(scope: Scope) -> int:
    """Bytes that the body will have; 0 where nothing is said."""
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() else 0
    return 0


def nul_in_form(scope: Scope) -> bytes:
    """How the character NUL is written in the form that is sent; empty where none is."""
    for name, value in scope["headers"]:
        if name == b"content-type":
            kind = value.lower()
            if kind.startswith(_ENCODED):
                return b"%00"
            return b"\0" if kind.startswith(_PARTS) else b""
    return b""


def without_cookies(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """*headers*, but those that take long to read."""
    return [(name, value) for name, value in headers if name != b"cookie"]


def _check_address(path: str, query: bytes) -> None:
    if len(path) + len(query) > _ADDRESS:
        raise HTTPException(414, f"an address has at most {_ADDRESS:,} characters")
    if "\0" in path:
        raise HTTPException(404, f"there is nothing at this address: it {_NUL}")
    if b"%00" in query or b"\0" in query:
        raise HTTPException(400, f"this address {_NUL}")


def _check_form(kind: bytes) -> None:
    """A form is UTF-8: among the other encodings that Python knows are some that are none."""
    if not kind.startswith(_FORMS):
        return
    for part in kind.split(b";")[1:]:
        name, _, value = part.partition(b"=")
        if name.strip() == b"charset" and value.strip(b" \"'") not in _UTF8:
            raise HTTPException(415, "a form must be sent as UTF-8")
