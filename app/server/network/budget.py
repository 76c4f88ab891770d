"""The processor time that each visitor may use: checked when a request arrives, charged at its end.

An address pays for its visitors. A person who is signed in has a budget of their own, so a class
behind one address is not one visitor; a grader with a valid token pays nothing.
"""

import math
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.types import Scope

from app.core.translation import plural, translate
from app.server.aside import RequestAccount, Seats, on_account
from app.server.network.allowance import Allowance, network

ADVANCE = 0.02  # seconds that each request pays when it arrives: many at once are not for free
T = TypeVar("T")


class Budget:
    """Opens the accounts of requests, and closes them."""

    def __init__(self, allowance: Allowance, payer: Callable[[Scope], str | None]) -> None:
        """*payer*: who pays for a request in place of its address; empty: nobody; None: no one.

        It is only asked about an address that has nothing left.
        """
        self._allowance = allowance
        self._payer = payer
        self._seats = Seats()

    def account(self, scope: Scope) -> RequestAccount:
        """The account of a request.

        Raises:
            HTTPException: 429, who pays for it has nothing left.
        """
        client = scope.get("client")
        address = network(client[0]) if client else ""
        wait = self._allowance.wait(address, ADVANCE)
        if not wait:
            return RequestAccount(address, address, self._seats, advance=address)
        payer = self._payer(scope)
        if payer is None or (payer and (wait := self._allowance.wait(payer, ADVANCE))):
            raise _refusal(wait)
        return RequestAccount(address, payer, self._seats, advance=payer)

    async def charged(self, account: RequestAccount, work: Coroutine[Any, Any, T]) -> T:
        """The result of *work*, which is charged to *account*."""
        try:
            return await on_account(account, work)
        finally:
            if account.payer == account.advance:
                self._charge(account.payer, account.spent - ADVANCE)
            else:
                self._charge(account.advance, -ADVANCE)
                self._charge(account.payer, account.spent)

    def _charge(self, payer: str, seconds: float) -> None:
        if payer:
            self._allowance.charge(payer, seconds)


def _refusal(wait: float) -> HTTPException:
    seconds = math.ceil(wait)
    says = translate(
        "your requests have used more processor time than the server gives to one visitor; try again {when}",
        when=plural("in a second", "in {number:,} seconds", seconds),
    )
    return HTTPException(429, says, {"Retry-After": str(seconds)})
