"""Sign-in with OpenID Connect: the code flow with PKCE, for any provider that describes itself."""

import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass
from http import HTTPStatus
from urllib.parse import quote_plus, urlencode

from itsdangerous import BadSignature, URLSafeTimedSerializer

from app.classes.federation.http_client import HttpAnswer, Outgoing, text_in
from app.classes.federation.providers import PATIENCE, Provider, target_of
from app.classes.federation.tokens import KeySets, verify_token
from app.core.errors import RefusedError, UnavailableError, refused_error
from app.core.translation import noted, translate

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


_OK, _UNAUTHORIZED, _FAULT = 200, 401, 500
_AGAIN_SAYS = noted("sign in again")


@dataclass(frozen=True, slots=True)
class Identity:
    """What an issuer calls a person."""

    issuer: str
    subject: str


@dataclass(frozen=True, slots=True)
class Flight:
    """A sign-in that has begun: what its browser keeps until it comes back."""

    provider: str
    state: str
    nonce: str
    verifier: str
    next: str

    @classmethod
    def begin(cls, provider: str, next_page: str) -> "Flight":
        """A new one, which leads to *next_page*."""
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        return cls(provider, state, nonce, verifier, next_page)

    def signed(self, secret: str) -> str:
        """Itself as a cookie."""
        return _signer(secret).dumps(astuple(self))

    @classmethod
    def read(cls, cookie: str, secret: str) -> "Flight":
        """The flight in a cookie.

        Raises:
            RefusedError: there is none, or it began too long ago.
        """
        try:
            return cls(*_signer(secret).loads(cookie, max_age=PATIENCE))
        except (BadSignature, TypeError):
            raise refused_error(
                "this sign-in did not begin in this browser, or more than ten minutes ago; {again_says}",
                again_says=translate(_AGAIN_SAYS),
            ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderReturn:
    """The query with which a provider sends a browser back."""

    state: str = ""
    code: str = ""
    error: str = ""
    issuer: str = ""


class SignIns:
    """Begins and ends sign-ins."""

    def __init__(
        self,
        outgoing: Outgoing,
        keys: KeySets,
        private: frozenset[str] = frozenset(),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._outgoing = outgoing
        self._keys = keys
        self._descriptions = Descriptions(outgoing, private, clock)
        self._worked: dict[str, str] = {}  # how we authenticated, by issuer

    async def begin(self, provider: Provider, flight: Flight, back: str, *, afresh: bool) -> str:
        """The address of the provider to which the browser goes.

        *afresh*: it asks for a password even in a browser that is signed in there.

        Raises:
            RefusedError, UnavailableError: the provider cannot be used.
        """
        about = await self._descriptions.of(provider)
        digest = hashlib.sha256(flight.verifier.encode()).digest()
        query = {
            "response_type": "code",
            "client_id": provider.client,
            "redirect_uri": back,
            "scope": "openid",
            "state": flight.state,
            "nonce": flight.nonce,
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
            **({"prompt": "login"} if afresh else {}),
        }
        joint = "&" if "?" in about.authorization else "?"
        return f"{about.authorization}{joint}{urlencode(query)}"

    async def end(self, provider: Provider, flight: Flight, returned: ProviderReturn, back: str) -> Identity:
        """Who has signed in.

        Raises:
            RefusedError: the answer is not the one to *flight*, or is not valid.
            UnavailableError: the provider cannot be used.
        """
        if not hmac.compare_digest(returned.state.encode(), flight.state.encode()):
            raise refused_error(
                "this is the answer to a sign-in in another tab; {again_says}", again_says=translate(_AGAIN_SAYS)
            )
        about = await self._descriptions.of(provider)
        named = returned.issuer or about.names_issuer
        if named and returned.issuer != about.issuer:
            raise refused_error(
                "the answer is from another issuer than {issuer}: {other!r}",
                issuer=about.issuer,
                other=returned.issuer[:100],
            )
        if returned.error:
            raise RefusedError(_declined(provider, returned.error))
        if not returned.code:
            raise refused_error(
                "{name} sent no code; {again_says}", name=provider.name, again_says=translate(_AGAIN_SAYS)
            )
        token = await self._token(provider, about, flight, returned.code, back)
        claims = await verify_token(
            token, self._keys, about.keys, issuer=about.issuer, audience=provider.client, nonce=flight.nonce
        )
        return Identity(about.issuer, str(claims["sub"]))

    async def _token(self, provider: Provider, about: Description, flight: Flight, code: str, back: str) -> str:
        """The ID token for *code*."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": back,
            "code_verifier": flight.verifier,
        }
        methods = _methods(provider, about)
        if self._worked.get(provider.issuer) in methods:
            methods = (self._worked[provider.issuer],)
        for method in methods:
            more, headers = _proof(method, provider)
            answer = await self._outgoing.post_form(about.token, form | more, headers)
            if answer.status != _UNAUTHORIZED:
                self._worked[provider.issuer] = method
                break
        return text_in(_accepted(provider, answer), "id_token", provider.name)


def credentials(client: str, secret: str) -> str:
    """A client's name and secret for Basic authentication.

    Both are quoted as in a form before they are joined (RFC 6749, 2.3.1).

    >>> base64.b64decode(credentials("wall clock", "a:b+c"))
    b'wall+clock:a%3Ab%2Bc'
    """
    return base64.b64encode(f"{quote_plus(client)}:{quote_plus(secret)}".encode()).decode()


def _proof(method: str, provider: Provider) -> tuple[dict[str, str], dict[str, str]]:
    """The fields of a form and the headers by which a client authenticates."""
    if method == "client_secret_basic":
        return {}, {"Authorization": f"Basic {credentials(provider.client, provider.secret)}"}
    secret = {"client_secret": provider.secret} if method == "client_secret_post" else {}
    return {"client_id": provider.client, **secret}, {}


def _methods(provider: Provider, about: Description) -> tuple[str, ...]:
    """How to authenticate: the provider's methods that we know, of which a client may have one."""
    if not provider.secret:
        return ("none",)
    known = ("client_secret_basic", "client_secret_post")
    return tuple(name for name in known if name in about.methods) or known


def _accepted(provider: Provider, answer: HttpAnswer) -> Mapping[str, object]:
    """The fields of an answer to a code."""
    if answer.status == _OK:
        return answer.fields()
    if answer.status >= _FAULT or answer.status == _UNAUTHORIZED:
        says = f"{provider.name} answered {answer.status} to this server"
        raise UnavailableError(says, answer.said())
    raise refused_error(
        "{name} did not accept the code, which is valid once and for a short time ({status}); {again_says}",
        name=provider.name,
        status=answer.status,
        again_says=translate(_AGAIN_SAYS),
    )


def _declined(provider: Provider, error: str) -> str:
    if error == "access_denied":
        return translate("the sign-in at {name} was canceled", name=provider.name)
    return translate(
        "{name} did not sign you in ({error}); {again_says}",
        name=provider.name,
        error=error[:100],
        again_says=translate(_AGAIN_SAYS),
    )


def _signer(secret: str) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(secret, salt="wallclock.sign-in")
