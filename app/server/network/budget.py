"""The processor time that each payer may use: checked when a request arrives, charged at its end."""

import math
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.types import Scope

from app.core.translation import plural, translate
from app.server.aside import RequestAccount, Seats, on_account
from app.server.aside.payer import Payer, network
from app.server.network.allowance import Allowance

ADVANCE = 0.02  # seconds that each request pays when it arrives: many at once are not for free
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BudgetItem:
    """What addresses may use for one *purpose*, apart from all else: for the paths that it *owns*."""

    purpose: str
    allowance: Allowance
    owns: Callable[[str], object]


class Budget:
    """Opens the accounts of requests, and closes them."""

    def __init__(
        self, allowance: Allowance, find_payer: Callable[[Scope], Awaitable[Payer]], items: Sequence[BudgetItem] = ()
    ) -> None:
        """*find_payer* is not asked for what *items* are for: who comes that way is not known yet."""
        self._pages = BudgetItem("", allowance, lambda path: True)
        self._find_payer = find_payer
        self._items = items
        self._seats = Seats()

    async def charged(self, scope: Scope, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of *work*, on the account of a request.

        Raises:
            HTTPException: 429, who pays for it has nothing left.
        """
        item = next((one for one in self._items if one.owns(scope["path"])), self._pages)
        payer = await self._find_payer(scope) if item is self._pages else address_of(scope)
        if wait := item.allowance.wait(payer, ADVANCE):
            raise _refusal(wait)
        account = RequestAccount(payer, self._seats, item.purpose)
        try:
            return await on_account(account, work())
        finally:
            free = account.payer is not payer  # a token that was shown later
            item.allowance.charge(payer, (0.0 if free else account.spent) - ADVANCE)


def address_of(scope: Scope) -> Payer:
    """The stranger who has sent a request."""
    client = scope.get("client")
    return Payer(network(client[0]) if client else "")


def _refusal(wait: float) -> HTTPException:
    seconds = math.ceil(wait)
    says = translate(
        "your requests have used more processor time than the server gives to one visitor; try again {when}",
        when=plural("in a second", "in {number:,} seconds", seconds),
    )
    return HTTPException(429, says, {"Retry-After": str(seconds)})
