"""A visitor of a site under a path prefix: all that is loaded, linked and sent stays under it."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Response, expect

from tests.browser.conftest import Server
from tests.browser.test_solving import NUMERIC, stay, verdict

pytestmark = pytest.mark.slow(15)

PREFIX = "/teach/wallclock"
CRAWLED = ("/", "/chapters/collectives", NUMERIC)


def test_a_visitor_under_a_prefix_never_leaves_it(browser: Browser, tmp_path: Path) -> None:
    server = Server(tmp_path)
    server.start("--root-path", PREFIX)
    context = browser.new_context(base_url=server.url)
    page = context.new_page()
    below, astray, links = f"{server.url}{PREFIX}/", set[str](), set[str]()

    def note(response: Response) -> None:
        if response.status >= 400 or not response.url.startswith((below, "data:")):
            astray.add(f"{response.status} {response.url}")

    page.on("response", note)
    page.on("pageerror", lambda error: astray.add(str(error)))
    page.on("console", lambda said: astray.add(said.text) if said.type == "error" else None)
    try:
        for path in CRAWLED:
            page.goto(f"{PREFIX}{path}", wait_until="networkidle")
            found = page.eval_on_selector_all("a[href]", "all => all.map(one => one.href)")
            links |= {link.partition("#")[0] for link in found if link.startswith(server.url)}
        assert len(links) > 60
        assert {link for link in links if not link.startswith(below)} == set()
        some = sorted(links)[::5]
        assert {link for link in some if context.request.get(link).status != 200} == set()
        stay(page).get_by_role("textbox", name="Your answer").fill("70 ms")
        page.get_by_role("button", name="Check").click()
        verdict(page, "correct", "Right")
        assert {cookie["path"] for cookie in context.cookies()} == {f"{PREFIX}/"}
        page.goto(f"{PREFIX}/progress")
        expect(page.locator(f'a[href^="{PREFIX}{NUMERIC}"]').first).to_be_visible()
        assert astray == set()
    finally:
        context.close()
        server.stop()
