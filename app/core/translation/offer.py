"""The nearest name, offered at the end of a sentence about one that is not known."""

from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache

from app.core.quotation import LONGEST
from app.core.translation.sentence import say

_REMEMBERED = 256  # names; proofs of a course ask for the same ones again and again


def offer(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """The end of a sentence that offers the *known* name closest to *name*; *otherwise* if none is.

    >>> offer("ring_allreduce", ["ring_all_reduce", "tree"])
    "; did you mean 'ring_all_reduce'?"
    """
    closest = _closest(name, tuple(known)) if len(name) <= LONGEST else ""
    return say("; did you mean {name!r}?", name=closest) if closest else otherwise


@lru_cache(_REMEMBERED)
def _closest(name: str, known: tuple[str, ...]) -> str:
    return next(iter(get_close_matches(name, known, n=1)), "")
