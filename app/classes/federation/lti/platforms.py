"""The learning platforms that are registered here, and the begin of a launch from one."""

import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from urllib.parse import urlencode

from itsdangerous import BadData, URLSafeTimedSerializer
from sqlalchemy import delete
from sqlmodel import Session, col, select

from app.classes.people.persons import clean_name, code_digest
from app.core.errors import InputError, NotFoundError, RefusedError, nearest, refused_error
from app.server.db.people import DeploymentRow, IdentityRow, PlatformRow, RegistrationRow
from app.server.db.tables import now

REGISTRATION_LIFE = timedelta(days=7)
_BYTES = 24  # of the code in a registration link


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """A learning platform: what it is called, and where it is asked.

    One that is not *active* has registered by itself, and waits for an operator.
    """

    id: int = 0
    name: str
    issuer: str
    client_id: str
    auth_url: str
    token_url: str
    token_audience: str = ""
    jwks_url: str
    active: bool = True

    @property
    def identities(self) -> str:
        """The issuer under which its identities are stored."""
        return identities_of(self.id)


def identities_of(platform: int) -> str:
    """The issuer under which the identities of a platform are stored."""
    return f"lti:{platform}"


def register_platform(session: Session, given: Platform) -> Platform:
    """Register *given*; not committed.

    Raises:
        InputError: its name or its issuer and client are registered already, or not valid.
    """
    name = clean_name(given.name)
    if name in {platform.name for platform in platforms(session)}:
        raise InputError(f"a platform called {name!r} already exists; choose another name")
    same = (PlatformRow.issuer == given.issuer, PlatformRow.client_id == given.client_id)
    if session.exec(select(PlatformRow).where(*same)).first():
        raise InputError(f"{given.issuer} with the client {given.client_id!r} already exists")
    values = {**asdict(given), "name": name}
    del values["id"]
    row = PlatformRow(**values)
    session.add(row)
    session.flush()
    return _platform(row)


def platforms(session: Session) -> Sequence[Platform]:
    """Every platform, the oldest first."""
    return [_platform(row) for row in session.exec(select(PlatformRow).order_by(col(PlatformRow.id)))]


def platform_with(session: Session, number: int) -> Platform:
    """The active platform with that number.

    Raises:
        RefusedError: there is none, or it is not active.
    """
    row = session.get(PlatformRow, number)
    if row is None:
        raise RefusedError("this learning platform is not registered here anymore")
    return _active(_platform(row))


def platform_for(session: Session, issuer: str, client_id: str = "") -> Platform:
    """The active platform that *issuer* is; *client_id* decides where it has several clients.

    Raises:
        RefusedError: there is none, or several.
    """
    known = [one for one in platforms(session) if one.issuer == issuer]
    found = [one for one in known if client_id in ("", one.client_id)]
    if len(found) == 1:
        return _active(found[0])
    if found:
        raise RefusedError(f"{issuer} has several clients here: it must send its client_id")
    if known:
        raise RefusedError(
            f"{issuer} is registered here, but not with the client {client_id[:100]!r}; an "
            "operator adds it with wallclock platform add"
        )
    close = nearest(issuer, {one.issuer for one in platforms(session)})
    raise RefusedError(
        f"the learning platform {issuer[:200]!r} is not registered here{close}; an operator adds "
        "it with wallclock platform add"
    )


def platform_named(session: Session, name: str) -> Platform:
    """The platform called *name*, active or not.

    Raises:
        NotFoundError: there is none; the message offers the closest name.
    """
    known = {platform.name: platform for platform in platforms(session)}
    if name not in known:
        raise NotFoundError(f"no platform is called {name!r}{nearest(name, known)}")
    return known[name]


def remove_platform(session: Session, platform: Platform) -> None:
    """Remove a platform with its links and identities; classes and persons stay. Not committed."""
    connection = session.connection()
    connection.execute(delete(IdentityRow).where(col(IdentityRow.issuer) == platform.identities))
    connection.execute(delete(PlatformRow).where(col(PlatformRow.id) == platform.id))


def activate(session: Session, platform: Platform) -> None:
    """Let a platform launch that registered by itself. Not committed."""
    row = session.get(PlatformRow, platform.id)
    if row is not None:
        row.active = True
        session.add(row)


def allow_deployment(session: Session, platform: Platform, deployment: str) -> None:
    """Let a deployment of the platform launch. Not committed."""
    session.merge(DeploymentRow(platform=platform.id, deployment=deployment))


def deployments(session: Session, platform: Platform) -> Sequence[str]:
    """The deployments of a platform that may launch."""
    rows = select(DeploymentRow.deployment).where(DeploymentRow.platform == platform.id)
    return sorted(session.exec(rows))


def check_deployment(session: Session, platform: Platform, deployment: str) -> None:
    """Refuse a deployment that no operator has allowed.

    Raises:
        RefusedError: it is not allowed; the message has the command that allows it.
    """
    if session.get(DeploymentRow, (platform.id, deployment)) is None:
        raise RefusedError(
            f"the deployment {deployment[:200]!r} of {platform.name} is not allowed here; an "
            f"operator allows it with: wallclock platform allow {platform.name!r} "
            f"{deployment[:200]!r}"
        )


def new_registration(session: Session, name: str) -> str:
    """The code of a link by which a platform may register once. Not committed."""
    code = secrets.token_urlsafe(_BYTES)
    until = now() + REGISTRATION_LIFE
    session.add(RegistrationRow(digest=code_digest(code), name=clean_name(name), until=until))
    return code


def registration_with(session: Session, code: str) -> str:
    """The name that a platform gets which registers with *code*.

    Raises:
        RefusedError: the code was used, has expired, or never existed.
    """
    row = session.get(RegistrationRow, code_digest(code))
    if row is None or row.until < now():
        raise RefusedError(
            "this registration link was used already, or has expired; an operator makes a new one "
            "with wallclock platform link"
        )
    return row.name


def use_registration(session: Session, code: str) -> bool:
    """Use up a code; False if another request was faster. Not committed."""
    used = delete(RegistrationRow).where(col(RegistrationRow.digest) == code_digest(code))
    return bool(session.connection().execute(used).rowcount)


def _active(platform: Platform) -> Platform:
    if not platform.active:
        raise RefusedError(
            f"{platform.name} has registered, but is not active yet; an operator activates it "
            f"with: wallclock platform allow {platform.name!r}"
        )
    return platform


def _platform(row: PlatformRow) -> Platform:
    return Platform(**row.model_dump(exclude={"made"}))


OPENING_LIFE = timedelta(minutes=10)
_SALT = "wallclock.lti.state"
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
class LaunchState:
    """The launch that a state was sent with; with its *hint* it can be begun again."""

    platform: int
    nonce: str
    browser: str
    stored: bool
    name: str
    hint: str
    message: str


def begin_launch(secret: str, platform: Platform, asked: Mapping[str, str], back: str) -> Opening:
    """The begin of a launch of *platform*, which answers to the address *back*.

    Raises:
        RefusedError: the platform did not send what it must.
    """
    hint, message = asked.get("login_hint", ""), asked.get("lti_message_hint", "")
    if not hint or len(hint) + len(message) > _LONGEST_HINT:
        raise refused_error("{name} must send a login_hint, of at most 8,000 characters", name=platform.name)
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
    return Opening(address=address, name=_state_cookie_name(state), browser=browser, target=target)


def read_login_state(secret: str, state: str) -> LaunchState:
    """The launch that was begun with *state*.

    Raises:
        RefusedError: it was not begun here, or too long ago.
    """
    try:
        found = _serializer(secret).loads(state, max_age=round(OPENING_LIFE.total_seconds()))
        platform, nonce, browser, stored, hint, message = found
    except (BadData, TypeError, ValueError):
        raise refused_error(
            "this launch was begun more than ten minutes ago, or elsewhere; go back to the course and open it again"
        ) from None
    return LaunchState(
        platform=int(platform),
        nonce=nonce,
        browser=browser,
        stored=stored,
        name=_state_cookie_name(state),
        hint=hint,
        message=message,
    )


def is_same_browser(state: LaunchState, browser: str) -> bool:
    """Whether *browser* is the number that was given to the browser that began a launch."""
    return hmac.compare_digest(code_digest(browser), state.browser)


def _state_cookie_name(state: str) -> str:
    return hashlib.sha256(state.encode()).hexdigest()[:_NAME_LENGTH]


def _serializer(secret: str) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(secret, salt=_SALT)
