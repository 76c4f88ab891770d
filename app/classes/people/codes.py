"""Codes that people write down and type: Crockford's base 32, which has no I, L, O and U."""

import hashlib
import hmac
import secrets

_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LOOKALIKES = str.maketrans({"O": "0", "I": "1", "L": "1"})
LENGTH = 8  # 40 bits
_LONGEST = 64  # characters that are read
_JOIN_LENGTH = 10


def random_code() -> str:
    """A new random code, as `K7M2-9QXT`."""
    return group_code("".join(secrets.choice(_LETTERS) for _ in range(LENGTH)))


def read_code(text: str) -> str:
    """The characters of a typed code; case, spaces, hyphens and look-alikes do not matter.

    >>> read_code("k7m2 9qxt")
    'K7M29QXT'
    >>> read_code("K7MZ-O1lx")
    'K7MZ011X'
    """
    letters = text[:_LONGEST].upper().translate(_LOOKALIKES)
    return "".join(letter for letter in letters if letter in _LETTERS)


def group_code(code: str) -> str:
    """*code* in groups of four, which are easier to copy.

    >>> group_code("K7M29QXT")
    'K7M2-9QXT'
    """
    return "-".join(code[start : start + 4] for start in range(0, len(code), 4))


def code_digest(text: str) -> str:
    """What is stored of a code or a session."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def join_code(secret: str, class_id: int, number: int) -> str:
    """The code of a class's join link: it follows from the site's *secret*, so none is stored.

    Another *number* gives another code; 50 bits.
    """
    key = hmac.digest(secret.encode(), f"join:{class_id}:{number}".encode(), "sha256")
    bits = int.from_bytes(key[:8])
    return "".join(_LETTERS[bits >> 5 * place & 31] for place in range(_JOIN_LENGTH)).lower()
