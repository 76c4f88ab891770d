"""This site as platforms see it: how it registers, and the links that a teacher chose, with services that are told."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from joserfc import jwk, jwt

from app.classes.federation.http_client import HttpAnswer, Outgoing
from app.classes.federation.lti.launch_message import Launch
from app.classes.federation.lti.platforms import Platform
from app.classes.federation.lti.tool import (
    answer_with,
    canvas_configuration,
    hosts_issuer,
    register_at_platform,
    tool_address,
)
from app.classes.people.assignments import Assignment, AssignmentEntry
from app.classes.people.policy import Policy
from app.core.errors import AppError, RefusedError, UnavailableError
from tests.each import each

LMS, SERVICE = "https://lms.example", "https://wallclock.example"
TOOL = "https://purl.imsglobal.org/spec/lti-tool-configuration"
KNOWN = "https://purl.imsglobal.org/spec/lti-platform-configuration"
KEY = jwk.RSAKey.generate_key(2048, parameters={"kid": "k"})
CLAIM = "https://purl.imsglobal.org/spec/lti/claim/"
CHOICE = "https://purl.imsglobal.org/spec/lti-dl/claim/"


@dataclass
class Registering(Outgoing):
    """A platform that describes itself with *about*, and answers a registration with *status* and *given*."""

    about: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, Any] = field(default_factory=lambda: {"client_id": "given", TOOL: {"deployment_id": "7"}})
    status: int = 201
    sent: list[tuple[str, str, Mapping[str, str], Any]] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    async def send(
        self, method: str, url: str, *, headers: Mapping[str, str] | None = None, body: bytes = b"", most: int = 0
    ) -> HttpAnswer:
        self.sent.append((method, url, headers or {}, json.loads(body) if body else None))
        if method == "POST":
            return HttpAnswer(url, self.status, {}, json.dumps(self.given).encode())
        told = {
            "issuer": LMS, "registration_endpoint": f"{LMS}/register", "authorization_endpoint": f"{LMS}/auth",
            "token_endpoint": f"{LMS}/token", "jwks_uri": f"{LMS}/keys", **self.about,
        }  # fmt: skip
        return HttpAnswer(url, 200, {}, json.dumps(told).encode())

    async def check(self, url: str) -> None:
        self.checked.append(url)


def registered(outgoing: Registering, token: str = "", configuration: str = f"{LMS}/config") -> tuple[Platform, str]:
    return asyncio.run(register_at_platform(outgoing, "Campus", configuration, token, SERVICE))


@each("status", [200, 201])
def test_a_platform_that_registers_says_where_it_is_asked(status: int) -> None:
    outgoing = Registering(status=status, about={"authorization_server": f"{LMS}/realm"})
    platform, deployment = registered(outgoing, "t")
    assert platform == Platform(
        name="Campus", issuer=LMS, client_id="given", auth_url=f"{LMS}/auth", token_url=f"{LMS}/token",
        token_audience=f"{LMS}/realm", jwks_url=f"{LMS}/keys", active=False,
    )  # fmt: skip
    assert (deployment, outgoing.checked) == ("7", [f"{LMS}/{name}" for name in ("auth", "token", "keys")])
    (_, _, asked, _), (_, url, headers, body) = outgoing.sent
    assert (asked, url) == ({"Authorization": "Bearer t"}, f"{LMS}/register")
    assert headers == {"Content-Type": "application/json", "Authorization": "Bearer t"}
    assert body["redirect_uris"] == [f"{SERVICE}/lti/launch"]
    assert (body[TOOL]["domain"], body["grant_types"]) == ("wallclock.example", ["implicit", "client_credentials"])


def test_what_a_platform_leaves_out_is_empty_and_without_a_token_none_is_sent() -> None:
    for tool in ({}, {TOOL: "x"}, {TOOL: {"deployment_id": 7}}, {TOOL: {"deployment_id": "d" * 256}}):
        outgoing = Registering(given={"client_id": "given", **tool})
        platform, deployment = registered(outgoing)
        assert (platform.token_audience, deployment) == ("", "")
        assert outgoing.sent[0][2] == {}
        assert "Authorization" not in outgoing.sent[1][2]


@each(("family", "chooses", "level"), [("canvas", True, True), ("moodle", False, False), (None, False, False)])
def test_canvas_alone_is_told_of_its_own_places(family: str | None, chooses: bool, level: bool) -> None:
    outgoing = Registering(about={KNOWN: {"product_family_code": family}} if family else {KNOWN: "canvas"})
    registered(outgoing)
    told = outgoing.sent[1][3][TOOL]
    first, second = told["messages"]
    assert (first["type"], second) == ("LtiDeepLinkingRequest", {"type": "LtiResourceLinkRequest"})
    assert ("placements" in first, "custom_parameters" in told) == (chooses, level)


@each(
    ("about", "given", "status", "configuration", "says"),
    [
        ({"issuer": "https://other.example"}, None, 201, f"{LMS}/config", "another issuer, 'https://other.example'"),
        ({"issuer": f"{LMS}/moodle"}, None, 201, f"{LMS}/config", ""),
        ({"issuer": "https://canvas.test.instructure.com"}, None, 201, "https://uni.instructure.com/c", ""),
        ({}, None, 202, f"{LMS}/config", "refuses the registration: 202"),
        ({}, {"client_id": "x" * 256}, 201, f"{LMS}/config", "has no client_id, of at most 255 characters"),
        ({}, {"client_id": "x" * 255}, 201, f"{LMS}/config", ""),
        ({}, {"client_id": "a\nb"}, 201, f"{LMS}/config", "has no client_id"),
        ({"token_endpoint": None}, None, 201, f"{LMS}/config", "has no token_endpoint"),
    ],
)
def test_a_registration_that_is_not_right_is_refused(
    about: dict[str, Any], given: dict[str, Any] | None, status: int, configuration: str, says: str
) -> None:
    outgoing = Registering(about=about, status=status)
    outgoing.given = outgoing.given if given is None else given
    try:
        registered(outgoing, configuration=configuration)
    except RefusedError as error:
        assert says
        assert says in str(error)
    else:
        assert not says
    assert not hosts_issuer("https://canvas.dev.instructure.com", "https://uni.instructure.com/c")


def chosen(points: float, policy: Policy) -> Assignment:
    return Assignment(id=5, class_id=1, title="Week 1", policy=policy, entries=(AssignmentEntry("a/one", points),))


@each(("points", "most"), [(4.0, 4.0), (0.0, 1.0)])
def test_the_links_that_a_teacher_chose_are_signed_for_their_platform(points: float, most: float) -> None:
    platform = Platform(id=7, name="C", issuer=LMS, client_id="c", auth_url=LMS, token_url=LMS, jwks_url=LMS)
    launch = Launch(platform=7, deployment="d", subject="t", role="teacher", answer_data="back")
    due = datetime(2036, 10, 2, 22, tzinfo=UTC)
    both = [chosen(points, Policy(opens=due, due=due, closes=due)), chosen(points, Policy())]
    token = answer_with(KEY, platform, launch, both, SERVICE)
    claims = jwt.decode(token, KEY, algorithms=["RS256"]).claims
    assert (claims["iss"], claims["aud"], claims[CLAIM + "deployment_id"]) == ("c", [LMS], "d")
    assert (claims[CLAIM + "message_type"], claims[CHOICE + "data"]) == ("LtiDeepLinkingResponse", "back")
    first, second = claims[CHOICE + "content_items"]
    at = "2036-10-02T22:00:00.000Z"
    assert first["submission"] == {"startDateTime": at, "endDateTime": at}
    assert first["lineItem"] == {
        "scoreMaximum": most, "label": "Week 1", "resourceId": "assignment-5", "tag": "wallclock",
    }  # fmt: skip
    assert (first["custom"], first["url"], "submission" in second) == (
        {"assignment": "5"},
        f"{SERVICE}/lti/launch",
        False,
    )
    bare = answer_with(KEY, platform, Launch(platform=7, deployment="d", subject="t", role="teacher"), [], SERVICE)
    assert CHOICE + "data" not in jwt.decode(bare, KEY, algorithms=["RS256"]).claims


@each(
    ("address", "right"),
    [
        (SERVICE, True), ("http://localhost:8000", True), ("http://127.0.0.1", True), ("http://[::1]:8000", True),
        ("http://wallclock.example", False), ("http://localhost.evil.example", False), ("http://127.0.0.2", False),
        ("", False),
    ],
)  # fmt: skip
def test_platforms_reach_this_site_over_https_or_on_this_machine(address: str, right: bool) -> None:
    try:
        assert tool_address(address) == address
    except AppError as error:
        assert (right, isinstance(error, UnavailableError)) == (False, True)
    else:
        assert right


def test_the_file_for_canvas_names_the_places_of_this_site() -> None:
    told = canvas_configuration(SERVICE)
    assert told["extensions"][0]["domain"] == "wallclock.example"
    assert (
        {one["target_link_uri"] for one in told["extensions"][0]["settings"]["placements"]}
        == {told["target_link_uri"]}
        == {f"{SERVICE}/lti/launch"}
    )
    assert len(told["scopes"]) == 3
