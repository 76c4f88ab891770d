"""Guessing codes: how many wrong ones an address, and a class, may try.

Each address has some wrong codes of its own. One who had more draws on a bucket that all such
share. So the one with the right code is let in, however many wrong ones come from elsewhere.
"""

import math

from fastapi import Request
from starlette.exceptions import HTTPException

from app.core.translation import plural, translate
from app.server.network.allowance import Allowances, neighborhood, network
from app.site import Site
from app.site.web.frame.visitor import forwarded_address

EVERY_CLASS = "any class"  # the bucket of codes that were typed without a class


def check_guesses(request: Request, site: Site, bucket: str = "") -> None:
    """Refuse to look at a code where too many wrong ones came before.

    Raises:
        HTTPException: 429, with the seconds to wait.
    """
    address, allowances = forwarded_address(request), site.allowances
    waits = [allowances.wrong_codes.blocked(address)]
    if bucket and not _has_own(allowances, address):
        waits.append(allowances.wrong_codes_of_class.blocked(bucket))
    if wait := math.ceil(max(waits)):
        when = plural("in a second", "in {number:,} seconds", wait)
        says = translate("too many wrong codes were tried in a short time; try again {when}", when=when)
        raise HTTPException(429, says, {"Retry-After": str(wait)})


def count_wrong_code(request: Request, site: Site, bucket: str = "") -> None:
    """Remember that a code was wrong."""
    address, allowances = forwarded_address(request), site.allowances
    allowances.wrong_codes.wait(address)
    if _has_own(allowances, address):
        allowances.own_wrong_codes.wait(address)
        allowances.nearby_wrong_codes.wait(neighborhood(address))
    elif bucket:
        allowances.wrong_codes_of_class.wait(bucket)


def _has_own(allowances: Allowances, address: str) -> bool:
    """Whether a wrong code of *address* counts for it alone."""
    nearby = neighborhood(address)
    crowded = allowances.nearby_wrong_codes.blocked(nearby) if nearby != network(address) else 0
    return not crowded and not allowances.own_wrong_codes.blocked(address)
