"""An exported course in a browser: it checks answers, runs programs, and needs no connection."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from playwright.sync_api import Page as Tab
from playwright.sync_api import expect, sync_playwright

from app.config import Settings
from app.content.catalog import Catalog
from app.exporting.course import course_files
from app.exporting.pages import Page
from app.exporting.python import browser_python
from app.exporting.reading import SERVER
from tests.browser.browser import launch
from tests.exporting.chromium import answered, served
from tests.exporting.test_pages import Nothing

pytestmark = pytest.mark.slow(20)

NUMBER, CODE = "collectives/ring-all-reduce-time", "collectives/write-ring-time"
PATHS = (f"/exercises/{NUMBER}", f"/exercises/{CODE}", "/explore/ring", "/progress")
PATIENCE = 60_000  # milliseconds
KEPT = """async () => {
  for (const key of await caches.keys())
    for (const { url } of await (await caches.open(key)).keys())
      if (/pages[.]\\w+[.]bin$/.test(url)) return true;
}"""
ENDLESS = (
    "def ring_allreduce_ms(gradient_gb, ranks, bandwidth_gbps, latency_us):\n    while True: pass\n"
)


@pytest.fixture
def course(catalog: Catalog, client: TestClient, tmp_path: Path) -> Path:
    """A few pages of a course, in a folder of a folder."""
    chosen = {name: catalog.exercise(name) for name in (NUMBER, CODE)}
    small = Catalog(catalog.topics[:1], chosen)
    pages = [Page(path, client.get(path).text) for path in PATHS]
    pages.append(Page(SERVER, pages[0].html))
    python = browser_python(Settings().cache)
    plain = type(python)(
        loader=python.loader,
        glue=python.glue,
        wasm=python.wasm,
        library=python.library,
        lock=python.lock,
        compiler=Nothing(),  # type: ignore[arg-type]
    )
    for name, content in course_files(small, plain, pages).items():
        path = tmp_path / "deep" / "course" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path


def check(tab: Tab, answer: str) -> None:
    tab.fill("input[name=answer]", answer)
    tab.click("button[value=check]")


def test_a_course_without_a_server(course: Path) -> None:
    with sync_playwright() as play, served(course) as origin:
        browser = launch(play)
        tab = browser.new_context().new_page()
        complaints: list[str] = []
        tab.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        base = f"{origin}deep/course/"
        tab.goto(f"{base}exercises/{NUMBER}/")
        check(tab, "70 ms")
        expect(tab.locator(".feedback.correct")).to_contain_text("Right", timeout=PATIENCE)
        tab.wait_for_function("() => localStorage.length")

        expect.set_options(timeout=PATIENCE)
        for _ in range(120):
            if tab.evaluate(KEPT):
                break
            tab.wait_for_timeout(250)
        tab.context.set_offline(True)
        tab.goto(f"{base}exercises/{NUMBER}/?seed=another")
        expect(tab.locator(".more")).to_contain_text("This is variant")
        check(tab, "1 s")
        expect(tab.locator(".feedback.incorrect")).to_be_visible()
        expect(tab.locator("#path .gauge")).to_contain_text("1 of")
        tab.context.set_offline(False)

        address = f"/exercises/{CODE}"
        wishes = [
            ("POST", address, [("answer", ENDLESS), ("action", "check")]),
            (
                "POST",
                address,
                [("answer", ENDLESS.replace("while True: pass", "return 1")), ("action", "run")],
            ),
            ("GET", "/progress/export", []),
        ]
        stopped, ran, exported = answered(tab, base, wishes)
        assert "It did not finish within the time limit" in stopped[1]
        assert "should return" in ran[1]
        assert '"attempts": [{' in exported[1]
        assert complaints == []
        browser.close()
