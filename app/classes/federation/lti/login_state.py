"""The begin of a launch: where the browser goes, and how we know it again.

The state that travels is signed, and bound to the browser by a number that only it has: in a
cookie, or in the storage of the platform where cookies are blocked.
"""

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlencode

from itsdangerous import BadData, URLSafeTimedSerializer

from app.classes.federation.lti.platforms import Platform
from app.classes.people.codes import code_digest
from app.core.errors import RefusedError
from app.core.translation import translate

OPENING_LIFE = timedelta(minutes=10)
_SALT = "wallclock.lti.state"
_BYTES = 24
_NAME_LENGTH = 16
_LONGEST_HINT = 8_000  # characters; Canvas sends a token
_REMEMBERED = 1_000  # characters of hints that travel along, to begin again in a window


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A launch that begins: the *address* to go to, and what the browser remembers as *name*."""

    address: str
    name: str
    browser: str
    target: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """The launch that a state was sent with; with its *hint* it can be begun again."""

    platform: int
    nonce: str
    browser: str
    stored: bool
    name: str
    hint: str
    message: str


def begun(secret: str, platform: Platform, asked: Mapping[str, str], back: str) -> Opening:
    """The begin of a launch of *platform*, which answers to the address *back*.

    Raises:
        RefusedError: the platform did not send what it must.
    """
    hint, message = asked.get("login_hint", ""), asked.get("lti_message_hint", "")
    if not hint or len(hint) + len(message) > _LONGEST_HINT:
        raise RefusedError(translate("{name} must send a login_hint, of at most 8,000 characters", name=platform.name))
    target = asked.get("lti_storage_target", "")[:100]
    nonce, browser = secrets.token_urlsafe(_BYTES), secrets.token_urlsafe(_BYTES)
    hints = [hint, message] if len(hint) + len(message) <= _REMEMBERED else ["", ""]
    values = [platform.id, nonce, code_digest(browser), bool(target), *hints]
    state = _serializer(secret).dumps(values)
    query = {
        "scope": "openid",
        "response_type": "id_token",
        "response_mode": "form_post",
        "prompt": "none",
        "client_id": platform.client_id,
        "redirect_uri": back,
        "state": state,
        "nonce": nonce,
        "login_hint": hint,
        **({"lti_message_hint": message} if message else {}),
    }
    joined = "&" if "?" in platform.auth_url else "?"
    address = f"{platform.auth_url}{joined}{urlencode(query)}"
    return Opening(address=address, name=_name(state), browser=browser, target=target)


def read_login_state(secret: str, state: str) -> Begun:
    """The launch that was begun with *state*.

    Raises:
        RefusedError: it was not begun here, or too long ago.
    """
    try:
        found = _serializer(secret).loads(state, max_age=round(OPENING_LIFE.total_seconds()))
        platform, nonce, browser, stored, hint, message = found
    except (BadData, TypeError, ValueError):
        raise RefusedError(
            translate(
                "this launch was begun more than ten minutes ago, or elsewhere; go back to the course and open it again"
            )
        ) from None
    return Begun(
        platform=int(platform),
        nonce=nonce,
        browser=browser,
        stored=stored,
        name=_name(state),
        hint=hint,
        message=message,
    )


def is_same_browser(state: Begun, browser: str) -> bool:
    """Whether *browser* is the number that was given to the browser that began a launch."""
    return hmac.compare_digest(code_digest(browser), state.browser)


def _name(state: str) -> str:
    return hashlib.sha256(state.encode()).hexdigest()[:_NAME_LENGTH]


def _serializer(secret: str) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(secret, salt=_SALT)
