"""Guessing codes: how many wrong ones an address, and a class, may try."""

import math

from fastapi import Request
from starlette.exceptions import HTTPException

from app.site import Site
from app.translation import plural, translate
from app.web.frame.visitor import address_of

EVERY_CLASS = "any class"  # the bucket of codes that were typed without a class


def check_guesses(request: Request, site: Site, bucket: str = "") -> None:
    """Refuse to look at a code where too many wrong ones came before.

    Raises:
        HTTPException: 429, with the seconds to wait.
    """
    waits = [site.allowances.wrong_codes.blocked(address_of(request))]
    if bucket:
        waits.append(site.allowances.wrong_codes_of_class.blocked(bucket))
    if wait := math.ceil(max(waits)):
        when = plural("in a second", "in {number:,} seconds", wait)
        says = translate(
            "too many wrong codes were tried in a short time; try again {when}", when=when
        )
        raise HTTPException(429, says, {"Retry-After": str(wait)})


def count_wrong_code(request: Request, site: Site, bucket: str = "") -> None:
    """Remember that a code was wrong."""
    site.allowances.wrong_codes.wait(address_of(request))
    if bucket:
        site.allowances.wrong_codes_of_class.wait(bucket)
