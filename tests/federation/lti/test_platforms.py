"""Platforms that are registered here, and the begin of a launch: limits of hints, what is refused, what ends when."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from sqlalchemy import Engine
from sqlmodel import Session

from app.classes.federation.lti.platforms import (
    Platform,
    activate,
    allow_deployment,
    begin_launch,
    deployments,
    identities_of,
    is_same_browser,
    new_registration,
    platform_for,
    platform_named,
    platform_with,
    platforms,
    read_login_state,
    register_platform,
    registration_with,
    remove_platform,
)
from app.classes.people.classes import number_of
from app.classes.people.persons import code_digest, new_person
from app.core.errors import InputError, NotFoundError, RefusedError
from app.server.db.migrations import migrate
from app.server.db.people import IdentityRow, PersonRow, RegistrationRow
from app.server.db.session import connect, open_session
from app.server.db.tables import now
from tests.each import each

SECRET, BACK, LMS = (
    "a secret of sixteen characters and more",
    "https://wallclock.example/lti/launch",
    "https://lms.example",
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    database = f"sqlite:///{tmp_path_factory.mktemp('platforms') / 'w.db'}"
    migrate(database)
    made = connect(database)
    yield made
    made.dispose()


@pytest.fixture
def session(engine: Engine) -> Iterator[Session]:
    with open_session(engine) as made:
        yield made
        made.rollback()


def platform(name: str = "Campus", **changed: Any) -> Platform:
    given = {
        "issuer": LMS,
        "client_id": "c",
        "auth_url": f"{LMS}/auth",
        "token_url": f"{LMS}/t",
        "jwks_url": f"{LMS}/k",
    }
    return Platform(name=name, **{**given, **changed})


def test_a_platform_has_a_name_and_an_issuer_with_a_client_of_its_own(session: Session) -> None:
    first = register_platform(session, platform(" Campus  North "))
    assert (first.name, first.active, first.identities) == ("Campus North", True, f"lti:{first.id}")
    for taken, says in (
        (platform("Campus North", client_id="d"), "'Campus North' already exists"),
        (platform("Campus  North", client_id="d"), "'Campus North' already exists"),
        (platform("South"), "with the client 'c' already exists"),
    ):
        with pytest.raises(InputError, match=says):
            register_platform(session, taken)
    second = register_platform(session, platform("South", client_id="d"))
    third = register_platform(session, platform("East", issuer=f"{LMS}/east"))
    assert [one.name for one in platforms(session)] == ["Campus North", "South", "East"]
    assert platform_for(session, f"{LMS}/east") == platform_for(session, f"{LMS}/east", "c") == third
    assert platform_for(session, LMS, "d") == second == platform_named(session, "South")
    for issuer, client, says in (
        (LMS, "", "several clients"), (LMS, "e", "not with the client 'e'"), (f"{LMS}/", "c", "did you mean"),
    ):  # fmt: skip
        with pytest.raises(RefusedError, match=says):
            platform_for(session, issuer, client)
    with pytest.raises(NotFoundError, match="did you mean 'South'"):
        platform_named(session, "Sout")
    with pytest.raises(RefusedError, match="not registered here anymore"):
        platform_with(session, 10**6)


def test_one_that_registered_by_itself_waits_until_it_is_activated(session: Session) -> None:
    made = register_platform(session, platform(active=False))
    waits = "wallclock platform allow 'Campus'"
    with pytest.raises(RefusedError, match=waits):
        platform_with(session, made.id)
    with pytest.raises(RefusedError, match=waits):
        platform_for(session, LMS)
    assert platform_named(session, "Campus") == made
    activate(session, made)
    assert platform_with(session, made.id).active
    for name in ("7", "12", "7"):
        allow_deployment(session, made, name)
    assert deployments(session, made) == ["12", "7"]


def test_what_a_removed_platform_called_its_people_goes_and_nobody_elses(session: Session) -> None:
    one, other = (register_platform(session, platform(name, client_id=name)) for name in ("One", "Two"))
    person = number_of(new_person(session, "Ada"))
    for issuer in (one.identities, other.identities, "https://idp"):
        session.add(IdentityRow(issuer=issuer, subject="s", person=person))
    session.flush()
    remove_platform(session, one)
    session.expire_all()
    assert [one.name for one in platforms(session)] == ["Two"]
    left = [
        session.get(IdentityRow, (issuer, "s")) is not None
        for issuer in (one.identities, other.identities, "https://idp")
    ]
    assert left == [False, True, True]
    assert session.get(PersonRow, person) is not None
    assert identities_of(5) == "lti:5"


def test_a_registration_link_ends_after_a_week(session: Session) -> None:
    code = new_registration(session, " Canvas ")
    session.flush()
    row = session.get_one(RegistrationRow, code_digest(code))
    assert timedelta(days=6, hours=23) < row.until - now() <= timedelta(days=7)
    assert registration_with(session, code) == "Canvas"
    row.until = now() - timedelta(seconds=1)
    session.flush()
    for wrong in (code, "x"):
        with pytest.raises(RefusedError, match="used already, or has expired"):
            registration_with(session, wrong)


@each(
    ("hint", "message", "right", "again"),
    [
        (1, 0, True, True), (0, 5, False, False), (500, 500, True, True), (500, 501, True, False),
        (1_000, 0, True, True), (1_001, 0, True, False), (4_000, 4_000, True, False), (4_000, 4_001, False, False),
        (8_000, 0, True, False), (8_001, 0, False, False),
    ],
)  # fmt: skip
def test_hints_have_limits_and_long_ones_do_not_travel_along(hint: int, message: int, right: bool, again: bool) -> None:
    asked = {"login_hint": "h" * hint, "lti_message_hint": "m" * message}
    try:
        opening = begin_launch(SECRET, platform(), asked, BACK)
    except RefusedError as error:
        assert (right, "at most 8,000" in str(error)) == (False, True)
        return
    assert right
    query = parse_qs(urlsplit(opening.address).query)
    assert (query["login_hint"], query.get("lti_message_hint", [""])) == (["h" * hint], ["m" * message])
    state = read_login_state(SECRET, query["state"][0])
    assert (state.hint, state.message) == (("h" * hint, "m" * message) if again else ("", ""))


@each(
    ("auth", "target", "stored"),
    [(f"{LMS}/auth", "", False), (f"{LMS}/auth?tenant=1", "_parent", True), (f"{LMS}/auth", "x" * 101, True)],
)
def test_a_launch_begins_with_what_comes_back_to_its_browser_alone(auth: str, target: str, stored: bool) -> None:
    asked = {"login_hint": "h"} | ({"lti_storage_target": target} if target else {})
    opening = begin_launch(SECRET, platform(auth_url=auth, id=7), asked, BACK)
    assert opening.address.startswith(f"{auth}{'&' if '?' in auth else '?'}scope=openid&")
    query = {name: value for name, (value,) in parse_qs(urlsplit(opening.address).query).items()}
    assert "lti_message_hint" not in query
    assert (query["client_id"], query["redirect_uri"], query["response_mode"]) == ("c", BACK, "form_post")
    state = read_login_state(SECRET, query["state"])
    assert (state.platform, state.nonce, state.stored, state.name) == (7, query["nonce"], stored, opening.name)
    assert (opening.target, len(opening.name)) == (target[:100], 16)
    assert [is_same_browser(state, one) for one in (opening.browser, opening.name, "")] == [True, False, False]
    other = begin_launch(SECRET, platform(), asked, BACK)
    assert not is_same_browser(state, other.browser)


@each(("age", "right"), [(0, True), (600, True), (601, False), (6_000, False)])
def test_a_launch_is_begun_for_ten_minutes(age: int, right: bool) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("time.time", lambda: 1_800_000_000)
        opening = begin_launch(SECRET, platform(), {"login_hint": "h"}, BACK)
        sent = parse_qs(urlsplit(opening.address).query)["state"][0]
        patched.setattr("time.time", lambda: 1_800_000_000 + age)
        try:
            read_login_state(SECRET, sent)
        except RefusedError as error:
            assert (right, "more than ten minutes ago" in str(error)) == (False, True)
        else:
            assert right
