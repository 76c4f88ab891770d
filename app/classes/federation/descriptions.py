"""What providers of identities say about themselves (OpenID Connect Discovery)."""

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

from app.classes.federation.addresses import target_of
from app.classes.federation.http_client import Outgoing, text_in
from app.classes.federation.providers import Provider
from app.core.errors import UnavailableError

_DESCRIPTION = "/.well-known/openid-configuration"
_FRESH, _AGAIN, _STALE = 3600.0, 30.0, 86_400.0  # seconds, as for keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What a provider says about itself; *names_issuer*: its answers say who they are from."""

    issuer: str
    authorization: str
    token: str
    keys: str
    names_issuer: bool
    methods: tuple[str, ...]  # how a client may authenticate


class Descriptions:
    """Fetches each once an hour; while a provider is down, its own stays valid for a day."""

    def __init__(self, outgoing: Outgoing, private: frozenset[str], clock: Callable[[], float]) -> None:
        self._outgoing = outgoing
        self._private = private
        self._clock = clock
        self._known: dict[str, tuple[Description, float, float]] = {}  # fetched, tried

    async def of(self, provider: Provider) -> Description:
        """What *provider* says about itself.

        Raises:
            RefusedError: an address in it must not be asked.
            UnavailableError: it cannot be fetched, or is about another issuer.
        """
        now = self._clock()
        known = self._known.get(provider.issuer)
        if known and (now - known[1] <= _FRESH or now - known[2] <= _AGAIN):
            return known[0]
        try:
            about = await self._described(provider)
        except UnavailableError:
            if known is None or now - known[1] > _STALE:
                raise
            self._known[provider.issuer] = known[0], known[1], now
            return known[0]
        self._known[provider.issuer] = about, now, now
        return about

    async def _described(self, provider: Provider) -> Description:
        answer = await self._outgoing.get(provider.issuer.rstrip("/") + _DESCRIPTION)
        if answer.status != HTTPStatus.OK:
            says = f"{provider.name} cannot be asked: it answered {answer.status}"
            raise UnavailableError(says, answer.said())
        told = answer.fields()
        if told.get("issuer") != provider.issuer:
            raise UnavailableError(
                f"{provider.name} is not configured correctly",
                f"WALLCLOCK_OIDC has the issuer {provider.issuer!r}, and the provider calls "
                f"itself {str(told.get('issuer'))[:200]!r}; both must be the same",
            )
        methods = told.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        about = Description(
            issuer=provider.issuer,
            authorization=text_in(told, "authorization_endpoint", provider.name),
            token=text_in(told, "token_endpoint", provider.name),
            keys=text_in(told, "jwks_uri", provider.name),
            names_issuer=told.get("authorization_response_iss_parameter_supported") is True,
            methods=tuple(map(str, methods)) if isinstance(methods, list) else (),
        )
        target_of(about.authorization, self._private)
        return about
