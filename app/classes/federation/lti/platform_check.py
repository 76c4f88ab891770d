"""Whether a platform can be used: its keys are read, and a token is asked for."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from http import HTTPStatus

from app.classes.federation.http_client import Outgoing
from app.classes.federation.lti.platforms import Platform
from app.classes.federation.lti.services import Services
from app.classes.federation.lti.vocabulary import SCOPES
from app.core.errors import AppError, UnavailableError


@dataclass(frozen=True, slots=True)
class Tried:
    """One thing that was tried with a platform, and what came out."""

    what: str
    right: bool
    says: str


async def trials(outgoing: Outgoing, services: Services, platform: Platform) -> AsyncIterator[Tried]:
    """Try what a launch and a score need, one after the other."""
    try:
        yield Tried("keys", right=True, says=await _keys(outgoing, platform))
    except AppError as error:
        yield Tried("keys", right=False, says=_said(error))
    for scope in SCOPES:
        name = f"token for {scope.rpartition('/')[2]}"
        try:
            await services.token(platform, scope)
            yield Tried(name, right=True, says=f"given by {platform.token_url}")
        except AppError as error:
            yield Tried(name, right=False, says=_said(error))


async def _keys(outgoing: Outgoing, platform: Platform) -> str:
    answer = await outgoing.get(platform.jwks_url)
    keys = answer.fields().get("keys") if answer.status == HTTPStatus.OK else None
    if not isinstance(keys, list) or not keys:
        raise UnavailableError(f"{platform.jwks_url} answered {answer.status} without keys", answer.said())
    return f"{len(keys)} read from {platform.jwks_url}"


def _said(error: AppError) -> str:
    cause = f" ({error.cause})" if isinstance(error, UnavailableError) and error.cause else ""
    return f"{error}{cause}"
