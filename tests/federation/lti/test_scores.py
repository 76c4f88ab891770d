"""Calls of services of a platform that answers as it is told: tokens, line items, scores, and trials."""

import asyncio
import base64
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from sqlalchemy import Engine

from app.classes.federation.http_client import HttpAnswer, Outgoing
from app.classes.federation.lti.launch_message import LINE_ITEM_SCOPE, SCOPES, SCORE_SCOPE
from app.classes.federation.lti.platforms import Platform
from app.classes.federation.lti.scores import (
    ItemTerms,
    ResourceLink,
    RetryLaterError,
    Score,
    Services,
    change_line_item,
    check_moment,
    line_item,
    scores_of,
    send_score,
    trials,
)
from app.core.errors import RefusedError, UnavailableError
from app.server.db.migrations import migrate
from app.server.db.session import connect
from tests.each import each

LMS = "https://lms.example"
CAMPUS = Platform(
    id=7, name="Campus", issuer=LMS, client_id="c", auth_url=f"{LMS}/auth", token_url=f"{LMS}/token",
    jwks_url=f"{LMS}/keys",
)  # fmt: skip
AT = datetime(2026, 11, 2, 9, 0, 0, 7_000, tzinfo=UTC)
LINK = ResourceLink(
    id=1, resource_link="r1", assignment=5, title="Week 1", terms=ItemTerms(4.0), lineitem="", lineitems=f"{LMS}/items"
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    database = f"sqlite:///{tmp_path_factory.mktemp('scores') / 'w.db'}"
    migrate(database)
    made = connect(database)
    yield made
    made.dispose()


@dataclass
class Call:
    """A request that was sent."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: Any


@dataclass
class Answering(Outgoing):
    """Gives a token with *expires*, and answers other requests with *answers* in turn."""

    answers: list[tuple[int, Any]] = field(default_factory=list)
    expires: object = 3600
    headers: Mapping[str, str] = field(default_factory=dict)
    tokens: list[dict[str, str]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    async def send(
        self, method: str, url: str, *, headers: Mapping[str, str] | None = None, body: bytes = b"", most: int = 0
    ) -> HttpAnswer:
        if url == CAMPUS.token_url:
            self.tokens.append({name: one for name, (one,) in parse_qs(body.decode()).items()})
            given = {"access_token": f"t{len(self.tokens)}", "expires_in": self.expires}
            return HttpAnswer(url, 200, {}, json.dumps(given).encode())
        self.calls.append(Call(method, url, headers or {}, json.loads(body) if body else None))
        status, said = self.answers.pop(0)
        return HttpAnswer(url, status, self.headers, json.dumps(said).encode())


def services(outgoing: Outgoing, engine: Engine, clock: Callable[[], float] = lambda: 0.0) -> Services:
    return Services(outgoing, engine, clock)


@each(
    ("expires", "used"),
    [
        (3600, 3540), (600, 540), (100_000, 3540), (10**400, 3540), ("3600", 3540), (None, 3540), (60, 0), (1, 0),
        (-5, 0),
    ],
)  # fmt: skip
def test_a_token_is_used_again_until_a_minute_before_its_end_and_an_hour_at_most(
    engine: Engine, expires: object, used: float
) -> None:
    moment, outgoing = [0.0], Answering(expires=expires)
    calls = services(outgoing, engine, lambda: moment[0])

    def token(at: float, scope: str = SCORE_SCOPE) -> str:
        moment[0] = at
        return asyncio.run(calls.token(CAMPUS, scope))

    assert [token(0), token(used), token(used + 0.5)] == ["t1", "t1", "t2"]
    assert token(used + 0.5, LINE_ITEM_SCOPE) == "t3", "each scope has a token of its own"
    assert [one["scope"] for one in outgoing.tokens] == [SCORE_SCOPE, SCORE_SCOPE, LINE_ITEM_SCOPE]
    assert {one["grant_type"] for one in outgoing.tokens} == {"client_credentials"}


@each(("status", "tokens", "calls"), [(200, 1, 1), (401, 2, 2), (403, 2, 2), (404, 1, 1)])
def test_a_token_that_is_not_known_anymore_is_replaced_once(
    engine: Engine, status: int, tokens: int, calls: int
) -> None:
    outgoing = Answering(answers=[(status, {})] * 2)
    found = asyncio.run(services(outgoing, engine).call(CAMPUS, SCORE_SCOPE, "GET", f"{LMS}/x", {"Accept": "a"}))
    assert (found.status, len(outgoing.tokens), len(outgoing.calls)) == (status, tokens, calls)
    assert outgoing.calls[-1].headers == {"Accept": "a", "Authorization": f"Bearer t{tokens}"}


@each(
    ("status", "after", "seconds"),
    [
        (503, "", None), (500, "7", 7.0), (429, " 5 ", 5.0), (408, "99999", 99_999.0), (425, "100000", None),
        (429, "Wed, 21 Oct 2026 07:28:00 GMT", None), (429, "٣", None), (499, "5", -1), (404, "5", -1), (200, "5", -1),
    ],
)  # fmt: skip
def test_a_platform_that_fails_now_may_say_when_to_come_again(status: int, after: str, seconds: float | None) -> None:
    answer = HttpAnswer(f"{LMS}/x", status, {"retry-after": after}, b"down")
    if seconds == -1:
        assert check_moment(answer) is answer
        return
    with pytest.raises(RetryLaterError, match=rf"lms\.example answered {status}") as later:
        check_moment(answer)
    assert (later.value.seconds, later.value.cause) == (seconds, "down")


@each(
    ("items", "found"),
    [
        ([{"id": "a", "tag": "wallclock", "resourceLinkId": "r1"}], "a"),
        ([{"id": "a", "tag": "wallclock", "resourceLinkId": "r2"}, {"id": "b", "tag": "other", "resourceLinkId": "r1"},
          7, {"id": "c", "tag": "wallclock", "resourceLinkId": "r1"}], "c"),
        ([], "made"),
        ([{"id": "a", "tag": "other", "resourceLinkId": "r1"}], "made"),
    ],
)  # fmt: skip
def test_a_line_item_is_ours_and_of_this_link_or_is_made(engine: Engine, items: list[Any], found: str) -> None:
    outgoing = Answering(answers=[(200, items), (201, {"id": "made"})])
    assert asyncio.run(line_item(services(outgoing, engine), CAMPUS, LINK)) == found
    asked = urlsplit(outgoing.calls[0].url)
    assert (asked.path, parse_qs(asked.query)) == ("/items", {"resource_link_id": ["r1"], "tag": ["wallclock"]})
    made = [one.body for one in outgoing.calls[1:]]
    assert made == ([] if found != "made" else [{
        "scoreMaximum": 4.0, "label": "Week 1", "tag": "wallclock", "resourceLinkId": "r1",
        "resourceId": "assignment-5",
    }])  # fmt: skip


def test_the_place_of_line_items_keeps_its_query_and_without_one_it_is_said_what_to_do(engine: Engine) -> None:
    outgoing = Answering(answers=[(200, [{"id": "a", "tag": "wallclock", "resourceLinkId": "r1"}])])
    calls = services(outgoing, engine)
    asyncio.run(line_item(calls, CAMPUS, replace(LINK, lineitems=f"{LMS}/items?type=1")))
    assert outgoing.calls[0].url.startswith(f"{LMS}/items?type=1&resource_link_id=r1&")
    for link, answers in (
        (replace(LINK, lineitems=""), []),
        (LINK, [(404, {})]),
        (LINK, [(200, []), (403, {}), (403, {})]),
    ):
        outgoing.answers = list(answers)
        with pytest.raises(RefusedError):
            asyncio.run(line_item(calls, CAMPUS, link))
    assert scores_of(f"{LMS}/items/7/?x=1") == f"{LMS}/items/7/scores?x=1"


@each(
    ("points", "share", "body"),
    [
        (4.0, 0.75, {"scoreGiven": 3.0, "scoreMaximum": 4.0}),
        (4.0, 0.0, {"scoreGiven": 0.0, "scoreMaximum": 4.0}),
        (4.0, None, {}),
        (0.0, 0.0, {"scoreGiven": 0.0, "scoreMaximum": 1.0}),
        (1.0, 1 / 3, {"scoreGiven": 0.333333, "scoreMaximum": 1.0}),
    ],
)
def test_a_score_says_its_points_unless_there_are_none(
    engine: Engine, points: float, share: float | None, body: dict[str, float]
) -> None:
    outgoing, link = Answering(answers=[(200, {})]), replace(LINK, terms=ItemTerms(points))
    score = Score(subject="s", share=share, at=AT)
    asyncio.run(send_score(services(outgoing, engine), CAMPUS, link, f"{LMS}/items/7?type=1", score))
    (call,) = outgoing.calls
    assert (call.method, call.url) == ("POST", f"{LMS}/items/7/scores?type=1")
    expected = {"userId": "s", "timestamp": "2026-11-02T09:00:00.007Z", **body}
    assert {name: one for name, one in call.body.items() if not name.endswith("Progress")} == expected
    assert call.headers["Content-Type"] == "application/vnd.ims.lis.v1.score+json"


@each(
    ("status", "taken"), [(200, True), (201, True), (202, True), (204, True), (302, False), (404, False), (422, False)]
)
def test_a_score_or_a_line_item_is_taken_with_the_answers_that_say_so(engine: Engine, status: int, taken: bool) -> None:
    score = Score(subject="s", share=1.0, at=AT, answered=AT)
    item = {"id": "i", "tag": "wallclock", "label": "Mine", "scoreMaximum": 9.0, "endDateTime": "old"}
    outgoing = Answering(answers=[(status, {}), (200, item), (status, {})])
    calls = services(outgoing, engine)
    for work in (
        send_score(calls, CAMPUS, LINK, f"{LMS}/items/7", score),
        change_line_item(calls, CAMPUS, f"{LMS}/items/7", ItemTerms(4.0, opens=AT)),
    ):
        try:
            asyncio.run(work)
        except RefusedError as error:
            assert (taken, str(status) in str(error)) == (False, True)
        else:
            assert taken
    assert outgoing.calls[0].body["submission"] == {"submittedAt": "2026-11-02T09:00:00.007Z"}
    sent = outgoing.calls[-1]
    assert (sent.method, sent.body) == ("PUT", {
        "id": "i", "tag": "wallclock", "label": "Mine", "scoreMaximum": 4.0,
        "startDateTime": "2026-11-02T09:00:00.007Z",
    })  # fmt: skip


def test_a_line_item_that_says_it_already_or_is_not_ours_is_not_changed(engine: Engine) -> None:
    ours = {"id": "i", "tag": "wallclock", "scoreMaximum": 4.0}
    for status, item, found in ((200, ours, True), (200, ours | {"tag": "x"}, False), (200, {"id": "i"}, False)):
        outgoing = Answering(answers=[(status, item)])
        done = change_line_item(services(outgoing, engine), CAMPUS, f"{LMS}/i", ItemTerms(4.0))
        assert asyncio.run(done) is found
        assert [one.method for one in outgoing.calls] == ["GET"]
    with pytest.raises(RefusedError, match="cannot be read: 404"):
        asyncio.run(change_line_item(services(Answering(answers=[(404, {})]), engine), CAMPUS, LMS, ItemTerms(4.0)))


def test_terms_have_the_dates_that_there_are_and_the_same_digest_for_the_same() -> None:
    due = AT + timedelta(days=1)
    assert ItemTerms(0.0).fields() == {"scoreMaximum": 1.0}
    assert ItemTerms(4.0, AT, due).fields() == {
        "scoreMaximum": 4.0, "startDateTime": "2026-11-02T09:00:00.007Z", "endDateTime": "2026-11-03T09:00:00.007Z",
    }  # fmt: skip
    digests = [ItemTerms(*one).digest for one in ((4.0,), (4.0, AT), (4.0, None, AT), (5.0,))]
    assert len(set(digests)) == 4
    assert ItemTerms(4.0, AT).digest == digests[1]


@each(("status", "keys", "right"), [(200, [{}, {}], True), (200, [], False), (200, {}, False), (404, [{}], False)])
def test_a_trial_says_what_a_launch_and_a_score_need(engine: Engine, status: int, keys: Any, right: bool) -> None:
    outgoing = Answering(answers=[(status, {"keys": keys})])

    async def tried() -> list[tuple[str, bool, str]]:
        return [(one.what, one.right, one.says) async for one in trials(outgoing, services(outgoing, engine), CAMPUS)]

    first, *tokens = asyncio.run(tried())
    assert (first[:2], "2 read from" in first[2]) == (("keys", right), right)
    assert [one[:2] for one in tokens] == [(f"token for {scope.rpartition('/')[2]}", True) for scope in SCOPES]


@each(
    ("platform", "audience"),
    [(CAMPUS, f"{LMS}/token"), (replace(CAMPUS, token_audience=f"{LMS}/realm"), f"{LMS}/realm")],
)
def test_we_prove_ourselves_to_whom_the_platform_says(engine: Engine, platform: Platform, audience: str) -> None:
    outgoing = Answering()
    asyncio.run(services(outgoing, engine).token(platform, SCORE_SCOPE))
    body = outgoing.tokens[0]["client_assertion"].split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    assert (claims["iss"], claims["sub"], claims["aud"]) == ("c", "c", audience)
    assert claims["exp"] - claims["iat"] == 300


def test_a_platform_that_gives_no_token_is_named(engine: Engine) -> None:
    class Refusing(Answering):
        async def send(self, method: str, url: str, **more: Any) -> HttpAnswer:
            return HttpAnswer(url, self.answers[0][0], {}, b"no")

    with pytest.raises(RefusedError, match="Campus gives no token for score: it answered 400"):
        asyncio.run(services(Refusing(answers=[(400, {})]), engine).token(CAMPUS, SCORE_SCOPE))
    with pytest.raises(UnavailableError):
        asyncio.run(services(Refusing(answers=[(503, {})]), engine).token(CAMPUS, SCORE_SCOPE))
