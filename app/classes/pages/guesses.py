"""Guessing codes: how many wrong ones an address, and a class, may try.

A right code opens, whatever others at the same address have typed: only the answers to wrong ones come late. Each
address has many wrong codes of its own. From one that had more, codes are looked at as long as a bucket has some that
all such share. So one at another address is let in, however many wrong ones come from elsewhere.
"""

import math

from starlette.exceptions import HTTPException

from app.core.translation import noted, plural, translate
from app.server.aside import current_payer
from app.site import Site

EVERY_CLASS = "any class"  # the bucket of codes that were typed without a class
_TOO_MANY = noted("too many wrong codes were tried in a short time; try again {when}")
_WRONG = noted("this code is wrong, as many others were in a short time: look at it again, and try again {when}")


def check_guesses(site: Site, bucket: str = EVERY_CLASS) -> None:
    """Refuse to look at a code from where far too many wrong ones came.

    Raises:
        HTTPException: 429, with the seconds to wait.
    """
    allowances, payer = site.allowances, current_payer()
    if own := allowances.own_wrong_codes.blocked(payer):
        _refuse(min(own, allowances.wrong_codes_of_class.blocked(bucket)), _TOO_MANY)


def count_wrong_code(site: Site, bucket: str = EVERY_CLASS) -> None:
    """Remember that a code was wrong.

    Raises:
        HTTPException: 429, so were many in a short time.
    """
    allowances, payer = site.allowances, current_payer()
    if allowances.own_wrong_codes.wait(payer):
        allowances.wrong_codes_of_class.wait(bucket)
    _refuse(allowances.wrong_codes.wait(payer), _WRONG)


def _refuse(wait: float, why: str) -> None:
    if seconds := math.ceil(wait):
        when = plural("in a second", "in {number:,} seconds", seconds)
        raise HTTPException(429, translate(why, when=when), {"Retry-After": str(seconds)})
