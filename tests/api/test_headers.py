"""Whose token a request has, for whom its answer is stored, and its key."""

import re
from collections.abc import Iterator
from secrets import token_hex
from typing import Any

import pytest
from fastapi import HTTPException
from starlette.requests import Request

from app.server.db.learner_cookie import Grant, create_token
from app.server.db.session import open_session
from app.site import Site
from app.site.api.headers import (
    answer_learner,
    grader_named,
    grader_of,
    grant_of,
    idempotency_key,
    labeled_learner,
    replay_of,
    sent_before,
    sent_first,
    token_name,
)
from app.site.grading.offline import CheckResult, Submission
from tests.each import each

RING = "collectives/ring-all-reduce-time"


def request(*headers: tuple[str, str]) -> Request:
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
    return Request({"type": "http", "method": "POST", "headers": raw})


@each(
    ("token", "label", "learner"),
    [
        ("course", "", "token:course/"),
        ("course", "1/2", "token:course/1/2"),
        ("a/b#c%d", "1", "token:a%2Fb%23c%25d/1"),
        ("t" * 57, "", f"token:{'t' * 57}/"),
    ],
)
def test_no_two_tokens_and_labels_have_the_same_learner(token: str, label: str, learner: str) -> None:
    assert labeled_learner(token, label) == learner


def test_a_learner_that_would_be_too_long_ends_with_a_digest() -> None:
    assert grader_named("t" * 58) == f"token:{'t' * 58}"
    names = [
        grader_named("t" * 59),
        grader_named("t" * 60),
        labeled_learner("t" * 58, "1"),
        labeled_learner("t" * 58, "2"),
    ]
    names += [labeled_learner("course", "a\0b"), labeled_learner("course", "\ud800" * 60)]
    assert len(set(names)) == len(names)
    assert [name for name in names if len(name) > 64 or not re.fullmatch(r"token:[^/]+#[0-9a-f]{40}", name)] == []
    assert names[0].startswith("token:" + "t" * 17 + "#")


@pytest.fixture(scope="module")
def tokens(site: Site) -> Iterator[tuple[str, str]]:
    """The name of a token, and the token."""
    name = f"headers {token_hex(4)}"
    with open_session(site.engine) as session:
        yield name, create_token(session, name)


def test_a_token_is_asked_for_as_a_bearer_in_any_case(site: Site, tokens: tuple[str, str]) -> None:
    name, secret = tokens
    for value in (f"Bearer {secret}", f"bearer  {secret} "):
        asked = request(("Authorization", value))
        assert (token_name(asked, site), grant_of(asked, site).name) == (name, name)
        assert grader_of(grant_of(asked, site)) == grader_named(name)
    for value in (f"Basic {secret}", secret, "Bearer", "Bearer ", f"Bearer {secret}x", f"Bearer {'x' * 201}"):
        asked = request(("Authorization", value))
        assert token_name(asked, site) == ""
        with pytest.raises(HTTPException) as refused:
            grant_of(asked, site)
        assert (refused.value.status_code, refused.value.headers) == (401, {"WWW-Authenticate": "Bearer"})
    assert token_name(request(), site) == ""


def test_an_answer_without_a_learner_is_that_of_the_token(site: Site) -> None:
    def learner(scope: str, name: str | None) -> str:
        return answer_learner(site, Grant("course", scope), Submission(exercise=RING, answer="1", learner=name))

    assert [learner(scope, None) for scope in ("check", "class")] == ["token:course"] * 2
    assert learner("check", "7") == "token:course/7"


@each(("keys", "key"), [([], ""), (["a"], "a"), (["!~"], "!~"), (["k" * 255], "k" * 255)])
def test_a_key_is_that_of_its_header(keys: list[str], key: str) -> None:
    assert idempotency_key(request(*(("Idempotency-Key", one) for one in keys))) == key


@each("keys", [[""], ["a", "a"], ["k" * 256], ["a b"], ["a\x7f"], ["é"], [" "]])
def test_a_key_that_is_not_valid_is_refused(keys: list[str]) -> None:
    with pytest.raises(HTTPException, match="once, with 1 to 255 visible ASCII") as refused:
        idempotency_key(request(*(("Idempotency-Key", one) for one in keys)))
    assert refused.value.status_code == 400


def test_a_result_is_sent_again_for_the_same_answer_alone(site: Site) -> None:
    learner = f"token:{token_hex(4)}"
    asked = Submission(exercise=RING, answer="1 s")
    result = CheckResult(exercise=RING, seed=0, verdict="incorrect", score=0, feedback=["no"])
    assert sent_before(site, learner, "k", asked) is None
    with pytest.raises(Exception, match="used a moment ago"):
        sent_first(site, learner, "k", asked)
    made = replay_of(learner, "k", asked, result)
    assert (made.learner, made.key) == (learner, "k")
    assert made.verdict == result.model_dump_json(exclude_none=True)
    others: list[dict[str, Any]] = [{"seed": 1}, {"ref": "a"}, {"learner": "7"}, {"expect": "correct"}, {"says": "no"}]
    digests = [replay_of(learner, "k", asked.model_copy(update=one), result).digest for one in ({}, *others)]
    assert digests[0] == made.digest
    assert len(set(digests)) == len(digests)
