"""The keys of other services, and the tokens that they sign: verified once, for OIDC and LTI."""

import asyncio
import base64
import json
import math
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from joserfc import jwk, jwt
from joserfc.errors import JoseError

from app.classes.federation.http_client import Outgoing, host_in
from app.core.errors import UnavailableError, refused_error
from app.core.translation import noted

# Never `none`, and never a shared secret: a public key could be used as one.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384")
SKEW = 60.0  # seconds that two clocks may differ
_FRESH = 3600.0  # seconds until a set of keys is fetched again
_AGAIN = 30.0  # seconds until it is fetched again for an unknown key, or after a failure
_STALE = 86_400.0  # seconds for which it is used while its service is down
_MOST_KEYS = 50
_MOST_SETS = 500
_LONGEST = 64 * 1024  # characters of a token
_LONGEST_SUBJECT = 255
_LATEST = 2**53  # seconds of a moment: up to here, integers and floats are the same
_NO_TOKEN = noted("what was sent is not a signed token")
_RSA_BITS = range(2048, 8193)
_LARGEST_EXPONENT = 65_537  # a larger one makes every check slow
_PUBLIC = ("kty", "kid", "use", "alg", "n", "e", "crv", "x", "y")
_TYPES = {"R": "RSA", "P": "RSA", "E": "EC"}  # of a key, by the first letter of the algorithm

# Control characters but tab and line ends, and halves of pairs that are alone.
_NOT_STORED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")

Key = jwk.RSAKey | jwk.ECKey
Claims = Mapping[str, object]


@dataclass(slots=True)
class _KeySet:
    """The keys of an address; *tried* and *fetched* are moments of the clock."""

    keys: Sequence[Key] = ()
    fetched: float = -math.inf
    tried: float = -math.inf
    trouble: UnavailableError | None = None


class KeySets:
    """The public keys of other services, by the address of each set.

    An unknown key is looked for again, but not for every forged token; while a service is down,
    its keys stay valid for a day.
    """

    def __init__(self, outgoing: Outgoing, clock: Callable[[], float] = time.monotonic) -> None:
        self._outgoing = outgoing
        self._clock = clock
        self._kept: dict[str, _KeySet] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    async def find(self, url: str, kid: str | None, algorithm: str) -> Key:
        """The key called *kid* of the set at *url*; without a name, its only key that fits.

        Raises:
            RefusedError: the key does not exist.
            UnavailableError: the set cannot be read.
        """
        kept = self._kept.get(url) or _KeySet()
        if self._is_due(kept, kid, algorithm):
            async with self._locks.setdefault(url, asyncio.Lock()):
                kept = self._kept.get(url) or _KeySet()  # another request may have fetched it
                if self._is_due(kept, kid, algorithm):
                    kept = await self._fetched(url, kept)
        if kept.trouble and self._clock() - kept.fetched > _STALE:
            raise UnavailableError(str(kept.trouble), kept.trouble.cause)
        fitting = _fitting(kept.keys, kid, algorithm)
        if len(fitting) != 1:
            raise refused_error(
                "the token is signed with the key {kid!r}, which {url} does not have; if its "
                "keys have just changed, try again in {again:g} seconds",
                kid=str(kid)[:80],
                url=url[:200],
                again=_AGAIN,
            )
        return fitting[0]

    def _is_due(self, kept: _KeySet, kid: str | None, algorithm: str) -> bool:
        now = self._clock()
        missing = not _fitting(kept.keys, kid, algorithm)
        return (missing or now - kept.fetched > _FRESH) and now - kept.tried > _AGAIN

    async def _fetched(self, url: str, kept: _KeySet) -> _KeySet:
        if len(self._kept) >= _MOST_SETS and url not in self._kept:
            self._kept.clear()
            self._locks.clear()
        now = self._clock()
        try:
            keys = await _read_tokens(self._outgoing, url)
        except UnavailableError as error:
            made = _KeySet(kept.keys, kept.fetched, now, error)
        else:
            made = _KeySet(keys, now, now)
        self._kept[url] = made
        return made


async def verify_token(
    token: str,
    keys: KeySets,
    url: str,
    *,
    issuer: str,
    audience: str,
    nonce: str | None = None,
    now: float | None = None,
) -> Claims:
    """The claims of *token*, which a key of the set at *url* has signed.

    `sub` is a printable text of 1 to 255 characters, `exp` and `iat` are numbers, and no text in
    them has what a database cannot store.

    Raises:
        RefusedError: the signature, issuer, audience, time, nonce or a text is not right.
        UnavailableError: the keys cannot be read.
    """
    algorithm, kid = _header(token)
    key = await keys.find(url, kid, algorithm)
    try:
        claims = jwt.decode(token, key, algorithms=[algorithm]).claims
    except (JoseError, ValueError, RecursionError) as error:
        raise refused_error("the signature of the token is not valid ({error})", error=error) from None
    _check_texts(claims)
    if claims.get("iss") != issuer:
        raise refused_error(
            "the token is from {claims!r}, not {issuer!r}", claims=str(claims.get("iss"))[:200], issuer=issuer
        )
    _check_audience(claims, audience)
    _check_times(claims, time.time() if now is None else now)
    if nonce is not None and claims.get("nonce") != nonce:
        raise refused_error(
            "the token answers another request: its nonce is not the one sent; go back to "
            "where you came from, and open it again there"
        )
    _check_subject(claims)
    return claims


async def _read_tokens(outgoing: Outgoing, url: str) -> Sequence[Key]:
    answer = await outgoing.get(url)
    found = answer.fields().get("keys") if answer.status == 200 else None  # noqa: PLR2004
    if not isinstance(found, list):
        says = f"the keys of {host_in(url)} cannot be read: it answered {answer.status}"
        raise UnavailableError(says, answer.said())
    return [key for one in found[:_MOST_KEYS] if (key := _key(one)) is not None]


def _key(given: object) -> Key | None:
    """A key of a set; None where it is not one that we use, which must not lose the others."""
    if not isinstance(given, dict) or given.get("use", "sig") != "sig":
        return None
    public: dict[str, str | list[str]] = {name: value for name in _PUBLIC if isinstance(value := given.get(name), str)}
    try:
        if public.get("kty") == "EC":
            return jwk.ECKey.import_key(public)
        key = jwk.RSAKey.import_key(public)
    except (JoseError, ValueError, TypeError, KeyError):
        return None
    quick = key.public_key.public_numbers().e <= _LARGEST_EXPONENT
    return key if quick and key.public_key.key_size in _RSA_BITS else None


def _fitting(keys: Iterable[Key], kid: str | None, algorithm: str) -> Sequence[Key]:
    kind = _TYPES[algorithm[0]]
    return [key for key in keys if key.key_type == kind and kid in (None, key.kid)]


def _header(token: str) -> tuple[str, str | None]:
    """The algorithm of a token, and the name of its key."""
    if len(token) > _LONGEST or token.count(".") != 2:  # noqa: PLR2004  # three parts
        raise refused_error(_NO_TOKEN)
    head = token.split(".", 1)[0]
    try:
        header = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
        algorithm, kid = header["alg"], header.get("kid")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise refused_error(_NO_TOKEN) from None
    if algorithm not in ALGORITHMS:
        raise refused_error(
            "the token is signed with {algorithm!r}; accepted are {algorithms}",
            algorithm=str(algorithm)[:20],
            algorithms=", ".join(ALGORITHMS),
        )
    return algorithm, None if kid is None else str(kid)


def _check_subject(claims: Claims) -> None:
    subject = claims.get("sub")
    length = len(subject) if isinstance(subject, str) and subject.isprintable() else 0
    if not 0 < length <= _LONGEST_SUBJECT:
        raise refused_error(
            "the token does not name a person: its sub must have 1 to {longest_subject} "
            "printable characters; anonymous launches are not supported",
            longest_subject=_LONGEST_SUBJECT,
        )


def _check_texts(claims: Claims) -> None:
    """Refuse texts that no database stores, wherever they are: they might become another text."""
    left: list[object] = [claims]
    while left:
        one = left.pop()
        if isinstance(one, str) and _NOT_STORED.search(one):
            raise refused_error("the token has a text with a character that is not valid")
        if isinstance(one, Mapping):
            left += [*one, *one.values()]
        elif isinstance(one, list):
            left += one


def _check_audience(claims: Claims, audience: str) -> None:
    given = claims.get("aud")
    several = given if isinstance(given, list) else [given]
    party = claims.get("azp")
    alone = len(several) == 1 and party is None
    if audience not in several or not (alone or party == audience):
        raise refused_error("the token is for another client than {audience!r}", audience=audience)


def _check_times(claims: Claims, now: float) -> None:
    issued, ends = _moment(claims, "iat"), _moment(claims, "exp")
    begins = _moment(claims, "nbf") if "nbf" in claims else issued
    if ends < now - SKEW:
        raise refused_error(
            "the token expired {now:,.0f} seconds ago; open the page again, and if that does "
            "not help, compare the clocks of both servers",
            now=now - ends,
        )
    if (early := max(issued, begins) - now) > SKEW:
        raise refused_error(
            "the token becomes valid in {early:,.0f} seconds: compare the clocks of both servers", early=early
        )


def _moment(claims: Claims, name: str) -> float:
    found = claims.get(name)
    # An integer may have any length: it is compared before anything is computed with it.
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found < _LATEST:
        raise refused_error("the token has no valid {name}", name=name)
    return found
