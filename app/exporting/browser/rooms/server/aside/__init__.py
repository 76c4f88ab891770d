"""In place of threads, in a browser, which has none, and works for one learner."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.server.aside.fair_queue import Client


@dataclass(frozen=True, slots=True)
class Payer:
    """The learner of this browser."""

    lane: Client


async def aside(work: Callable[..., Any], *args: object, **kwargs: object) -> Any:
    """The result of *work*."""
    return work(*args, **kwargs)


def current_payer() -> Payer:
    """The learner of this browser."""
    return Payer(Client("browser"))
