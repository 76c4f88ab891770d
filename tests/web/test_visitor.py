"""Who sent a form, and what is taken from whose allowance, without a server."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from app.server.aside.payer import NEW, EarnedCookies, Payer
from app.server.db.learner_cookie import sign
from app.server.network.allowance import Allowance
from app.site import Site
from app.site.web.frame.visitor import (
    ReplacedHostError,
    Visitor,
    from_here,
    is_from_elsewhere,
    is_from_here,
    payer_of,
    remember,
    signed_in,
    spend,
    spend_storage,
    visitor,
    visitor_learner,
)
from tests.each import each


def asked(site: Site, scheme: str = "http", url: str = "", **headers: str) -> Request:
    """A request for the host `here`, unless the headers say another."""
    made = replace(site, settings=site.settings.model_copy(update={"url": url}))
    given = {"host": "here", **{name.replace("_", "-"): value for name, value in headers.items()}}
    raw = [(name.encode(), value.encode()) for name, value in given.items()]
    app = SimpleNamespace(state=SimpleNamespace(site=made))
    return Request(
        {"type": "http", "method": "POST", "headers": raw, "app": app, "scheme": scheme, "path": "/", "state": {}}
    )


@each(
    ("scheme", "url", "headers", "ours"),
    [
        ("http", "", {}, True),
        ("http", "", {"origin": "http://here"}, True),
        ("http", "", {"origin": "https://here"}, True),
        ("https", "", {"origin": "http://here"}, False),
        ("https", "", {"origin": "https://here"}, True),
        ("http", "", {"origin": "http://there"}, False),
        ("http", "", {"origin": "http://here:81"}, False),
        ("http", "", {"origin": "null"}, False),
        ("http", "", {"origin": ""}, False),
        ("http", "", {"origin": "http://["}, False),
        ("http", "", {"origin": "http://here", "sec_fetch_site": "cross-site"}, True),
        ("http", "", {"sec_fetch_site": "cross-site"}, False),
        ("http", "", {"sec_fetch_site": "same-site"}, False),
        ("http", "", {"sec_fetch_site": "same-origin"}, True),
        ("http", "", {"sec_fetch_site": "none"}, True),
        ("http", "https://public", {"origin": "https://public"}, True),
        ("http", "https://public", {"origin": "http://public"}, False),
        ("http", "http://public", {"origin": "http://public"}, True),
        ("http", "https://public", {"origin": "http://here"}, True),
        ("http", "https://public", {"origin": "ftp://public"}, False),
    ],
)
def test_a_form_is_from_here_if_its_origin_is_ours(
    site: Site, scheme: str, url: str, headers: dict[str, str], ours: bool
) -> None:
    request = asked(site, scheme, url, **headers)
    assert is_from_here(request) is ours
    if ours:
        asyncio.run(from_here(request))
    else:
        with pytest.raises(HTTPException) as refused:
            asyncio.run(from_here(request))
        assert refused.value.status_code == 403


@each(
    ("headers", "says", "lines"),
    [
        ({"origin": "http://there"}, "is at http://there, and the server was asked for 'here'", 3),
        ({"origin": "http://there", "sec_fetch_site": "same-origin"}, "hides where this form comes from", 3),
        ({"origin": "http://there", "x_forwarded_for": "1", "x_forwarded_proto": "https"}, "it leaves out: Host;", 1),
        ({"origin": "http://there", "x_forwarded_for": "1"}, "Host, X-Forwarded-Proto", 2),
    ],
)
def test_a_proxy_that_replaces_the_host_is_told_what_to_pass_on(
    site: Site, headers: dict[str, str], says: str, lines: int
) -> None:
    with pytest.raises(ReplacedHostError) as refused:
        asyncio.run(from_here(asked(site, **headers)))
    assert says in refused.value.detail
    assert len(refused.value.lines.splitlines()) == lines
    assert refused.value.lines.startswith("proxy_set_header Host $http_host;")


@each(
    "headers",
    [{"origin": "null"}, {"origin": "http://there", "sec_fetch_site": "cross-site"}, {"sec_fetch_site": "cross-site"}],
)
def test_a_form_of_another_site_is_refused_without_a_hint(site: Site, headers: dict[str, str]) -> None:
    with pytest.raises(HTTPException, match="sent from another site; open the page here") as refused:
        asyncio.run(from_here(asked(site, **headers)))
    assert not isinstance(refused.value, ReplacedHostError)
    assert is_from_elsewhere(asked(site, **headers)) == ("sec_fetch_site" in headers)


def test_a_stranger_has_no_learner_and_a_cookie_of_ours_names_one(site: Site) -> None:
    cookie = f"learner={sign('ada', site.secret)}"
    found = [
        asyncio.run(visitor(request, site))
        for request in (asked(site), asked(site, cookie=cookie), asked(site, cookie="learner=ada"))
    ]
    assert [one.learner for one in found] == ["", "ada", ""]
    assert [one.person for one in found] == [None] * 3
    assert visitor_learner(found[1]) == "ada"
    new = visitor_learner(found[0])
    assert new
    assert new != visitor_learner(found[0])
    assert isinstance(found[0], Visitor)
    assert signed_in(asked(site, cookie=cookie), site) is None
    assert signed_in(asked(site, cookie="session=x"), site) is None


def test_a_cookie_pays_for_itself_once_it_has_been_known_for_minutes(site: Site) -> None:
    now = 1000.0
    made = replace(site, earned_cookies=EarnedCookies(lambda: now))
    stranger = Payer("192.0.2.9")
    request = asked(site, cookie=f"learner={sign('ada', site.secret)}")
    assert asyncio.run(payer_of(request, made, stranger)) == stranger
    now += NEW
    assert asyncio.run(payer_of(request, made, stranger)) == replace(stranger, learner="ada")
    assert asyncio.run(payer_of(asked(site), made, stranger)) == stranger


def test_a_cookie_is_kept_for_long_and_is_for_this_site_alone(site: Site) -> None:
    for scheme, secure in (("http", False), ("https", True)):
        response = Response()
        remember(asked(site, scheme), response, "ada", site.secret)
        cookie = response.headers["set-cookie"]
        assert cookie.startswith("learner=")
        assert ("HttpOnly" in cookie, "SameSite=lax" in cookie, "Max-Age=34560000" in cookie) == (True, True, True)
        assert ("Secure" in cookie) is secure


def test_an_allowance_that_is_used_up_says_when_to_try_again(site: Site) -> None:
    allowance = Allowance(2, 60, lambda: 1000.0)
    spend(allowance, "answers")
    spend(allowance, "answers", 1.0)
    with pytest.raises(HTTPException, match="too many answers came from your network address") as refused:
        spend(allowance, "answers", 0.5)
    headers: Any = refused.value.headers
    assert refused.value.status_code == 429
    assert f"in {headers['Retry-After']} seconds" in refused.value.detail


def test_what_is_stored_takes_its_row_as_well(site: Site) -> None:
    def allowed(size: int) -> bool:
        storage = Allowance(10_000, 86_400, lambda: 1000.0)
        made = replace(site, allowances=replace(site.allowances, storage=storage))
        spend_storage(made, 4_000)
        try:
            spend_storage(made, size)
        except HTTPException as refused:
            assert "too much was stored" in refused.detail
            return False
        return True

    assert allowed(4_000)
    assert not allowed(4_001)
